// Blobs of uploads that fail or are repeated.

import { afterEach, beforeEach, expect, it } from "vitest";
import { ManualClock } from "../../../server/test/manual-clock.ts";
import { newId, startService, type TestService } from "../../../server/test/service.ts";
import { ServiceError } from "../core/errors.ts";
import { UPLOAD_MAX_MS } from "../core/file.ts";
import type { FileStore } from "../core/plugins/file-store.ts";
import { ANONYMOUS } from "../core/session-access.ts";
import { memoryFiles } from "../files/memory.ts";
import { FILE_PORTION, Files, type Upload } from "./files.ts";

const LIMITS = {
  fileBytes: 100,
  appFileBytes: 1_000,
  ownerFileBytes: 50,
  fileTypes: ["text/plain"],
} as const;
const clock = new ManualClock();
const stored = new Set<string>();
/** Blobs that the file store fails to remove. */
const stuck = new Set<string>();
let service: TestService;
let files: Files;
beforeEach(async () => {
  stored.clear();
  stuck.clear();
  service = await startService({ clock });
  const { store, registry } = service;
  const inMemory = memoryFiles();
  const watched: FileStore = {
    ...inMemory,
    put: async (name, content) => {
      await inMemory.put(name, content);
      stored.add(name);
    },
    remove: async (name) => {
      if (stuck.has(name)) throw new Error("The disk is read-only.");
      await inMemory.remove(name);
      stored.delete(name);
    },
  };
  const logger = { debug() {}, info() {}, warn() {}, error() {} };
  files = new Files({ store, registry, clock, logger, files: watched, limits: { ...LIMITS } });
});
afterEach(() => service.close());

async function* bytes(content: string): AsyncGenerator<Uint8Array> {
  yield Buffer.from(content);
}
const upload = (content: string, more: Partial<Upload> = {}) =>
  files.upload(
    {
      sessionId: newId(),
      access: ANONYMOUS,
      app: "default",
      name: "tea.txt",
      declared: "text/plain",
      length: null,
      content: bytes(content),
      ...more,
    },
    null,
  );

it("removes the blob of a rejected upload at once", async () => {
  await expect(upload("x".repeat(60))).rejects.toMatchObject({ status: 507 });
  const refuse = () => Promise.reject(new ServiceError(403, "app_forbidden", "The key was revoked."));
  await expect(upload("tea", { authorizeAgain: refuse })).rejects.toMatchObject({ status: 403 });
  expect([...stored]).toEqual([]);
});

it("stores no blob for a repeated upload, even if the quota is full", async () => {
  const [id, sessionId] = [newId(), newId()];
  const first = await upload("x".repeat(40), { id, sessionId });
  expect(await upload("x".repeat(40), { id, sessionId })).toEqual(first);
  expect(stored.size).toBe(1);
});

it("retries failed removals after five minutes without delaying others", async () => {
  const { store } = service;
  const add = async (name: string): Promise<void> => {
    await store.files.expect(name, 0);
    stored.add(name);
  };
  for (let count = 0; count < FILE_PORTION; count += 1) {
    stuck.add(`default/${count}`);
    await add(`default/${count}`);
  }
  await add("default/other");
  await files.removeUnused();
  expect(stored).toEqual(stuck);
  stuck.clear();
  await files.removeUnused();
  expect(stored.size).toBe(FILE_PORTION);
  await clock.advance(5 * 60_000);
  await files.removeUnused();
  expect([...stored]).toEqual([]);
});

it("removes the bytes of a tool's file whose result was never stored", async () => {
  const data = Buffer.from("tea,cups");
  const { files: kept } = await files.keep({ sessionId: newId(), app: "default" }, [
    { data, mediaType: "text/plain" },
  ]);
  expect([...stored]).toEqual(kept.map(({ blob }) => blob));
  await files.removeUnused();
  expect(stored.size).toBe(1);
  await clock.advance(2 * UPLOAD_MAX_MS);
  await files.removeUnused();
  expect([...stored]).toEqual([]);
});
