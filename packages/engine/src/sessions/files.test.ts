// Blobs of uploads that fail or are repeated.

import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { ManualClock } from "../../../server/test/manual-clock.ts";
import { newId, startService, type TestService } from "../../../server/test/service.ts";
import { ServiceError } from "../core/errors.ts";
import { UPLOAD_MAX_MS } from "../core/file.ts";
import { ANSWER_FILE_BYTES, OutputBudget } from "../core/message.ts";
import type { FileStore } from "../core/plugins/file-store.ts";
import { ANONYMOUS } from "../core/session-access.ts";
import { memoryFiles } from "../files/memory.ts";
import { FILE_PORTION, Files, type FilesOptions, type Upload } from "./files.ts";

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
/** Called before bytes are stored. */
let beforePut = (): Promise<void> => Promise.resolve();
let service: TestService;
let options: FilesOptions;
let files: Files;
beforeEach(async () => {
  stored.clear();
  stuck.clear();
  beforePut = () => Promise.resolve();
  service = await startService({ clock });
  const { store, registry } = service;
  const inMemory = memoryFiles();
  const watched: FileStore = {
    ...inMemory,
    put: async (name, content) => {
      await beforePut();
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
  options = { store, registry, clock, logger, files: watched, limits: { ...LIMITS } };
  files = new Files(options);
});
afterEach(() => service.close());

async function* bytes(content: string): AsyncGenerator<Uint8Array> {
  yield Buffer.from(content);
}
const upload = (content: string, more: Partial<Upload> = {}, by = files) =>
  by.upload(
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

const keep = (
  sessionId: string,
  data: readonly Buffer[],
  { budget = new OutputBudget({ toolResults: [] }), signal = new AbortController().signal } = {},
) =>
  files.keep(
    { sessionId, app: "default" },
    data.map((one) => ({ data: one, mediaType: "text/plain" })),
    budget,
    signal,
  );

describe("concurrent files", () => {
  /** Stores files concurrently. Holds every write until each `begin` has started its write or was refused. */
  async function atOnce<Result>(begin: readonly (() => Promise<Result>)[]) {
    const gate = Promise.withResolvers<void>();
    let left = begin.length;
    const pass = (): void => {
      left -= 1;
      if (left === 0) gate.resolve();
    };
    beforePut = async () => {
      pass();
      await gate.promise;
    };
    return await Promise.allSettled(
      begin.map(async (one) => {
        const stored = one();
        stored.catch(pass);
        return await stored;
      }),
    );
  }

  it.each([30, null])(
    "never exceed a quota, and the first ones are stored; Content-Length: %s",
    async (length) => {
      const sessionId = newId();
      const one = () => upload("x".repeat(30), { sessionId, length });
      // Without a length, the quota is checked after the bytes have arrived.
      const results = await atOnce([one, one, one]);
      expect(results.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
      const refused = results.filter(({ status }) => status === "rejected");
      expect(refused).toMatchObject([{ reason: { code: "files_full" } }, { reason: { code: "files_full" } }]);
      expect(stored.size).toBe(1);
      await upload("x".repeat(20), { sessionId });
      await expect(upload("x", { sessionId, length: 1 })).rejects.toMatchObject({ status: 507 });
    },
  );

  it("of tools never exceed a quota either", async () => {
    const sessionId = newId();
    const results = await atOnce([
      async () => await keep(sessionId, [Buffer.alloc(30, "x")]),
      async () => {
        const { refused, ...kept } = await keep(sessionId, [Buffer.alloc(30, "y")]);
        if (refused.length > 0) throw new Error(refused[0]);
        return { refused, ...kept };
      },
    ]);
    expect(results).toMatchObject([
      { status: "fulfilled", value: { files: [{ bytes: 30 }] } },
      {
        status: "rejected",
        reason: { message: expect.stringContaining("Your files have reached their limit") },
      },
    ]);
  });

  it("with the same id are stored once", async () => {
    const [id, sessionId] = [newId(), newId()];
    const one = () => upload("x".repeat(20), { id, sessionId, length: 20 });
    const results = await atOnce([one, one]);
    expect(results.map(({ status }) => status)).toEqual(["fulfilled", "fulfilled"]);
    expect(stored.size).toBe(1);
    await upload("x".repeat(30), { sessionId, length: 30 });
  });

  it("of a user never exceed the quota in new sessions", async () => {
    const user = { owner: "ann", apps: ["default"], takesNew: true };
    const one = () => upload("x".repeat(30), { access: { apps: null, user }, length: 30 });
    const results = await atOnce([one, one]);
    expect(results.map(({ status }) => status).toSorted()).toEqual(["fulfilled", "rejected"]);
    await expect(one()).rejects.toMatchObject({ status: 507 });
  });
});

it("stores nothing if it cannot tell how much is used", async () => {
  const { store } = service;
  const used = () => Promise.reject(new Error("The database is away."));
  const failing = new Files({ ...options, store: { ...store, files: { ...store.files, used } } });
  await expect(upload("tea", {}, failing)).rejects.toThrow("away");
  expect(stored.size).toBe(0);
});

it("gives back the room of an upload that fails", async () => {
  const sessionId = newId();
  const refuse = () => Promise.reject(new ServiceError(403, "app_forbidden", "The key was revoked."));
  const failing = upload("x".repeat(40), { sessionId, length: 40, authorizeAgain: refuse });
  await expect(failing).rejects.toMatchObject({ status: 403 });
  await upload("x".repeat(50), { sessionId, length: 50 });
});

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
    const expected = { blob: name, app: "default", sessionId: newId(), owner: null, bytes: 1 };
    await store.files.expect(expected, 0);
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

it("keeps no file of a result that came too late, and gives its room and budget back", async () => {
  const stopping = new AbortController();
  let begun = 0;
  beforePut = async () => {
    begun += 1;
    if (begun === 2) stopping.abort();
  };
  const budget = new OutputBudget({ toolResults: [] });
  const data = ["a", "b", "c"].map((text) => Buffer.from(text.repeat(10)));
  const sessionId = newId();
  const kept = await keep(sessionId, data, { budget, signal: stopping.signal });
  expect([kept, [...stored], begun]).toEqual([{ files: [], refused: [] }, [], 2]);
  expect(budget.takeFile(ANSWER_FILE_BYTES)).toBe(true);
  expect((await keep(sessionId, [Buffer.alloc(50, "d")])).refused).toEqual([]);
});

it("refuses a tool's file that is too large before it takes room", async () => {
  const budget = new OutputBudget({ toolResults: [] });
  const { refused } = await keep(newId(), [Buffer.alloc(101, "a")], { budget });
  expect(refused).toEqual([expect.stringContaining("too large")]);
  expect(budget.takeFile(ANSWER_FILE_BYTES)).toBe(true);
});

it("removes the bytes of a tool's file whose result was never stored", async () => {
  const data = Buffer.from("tea,cups");
  const { files: kept } = await keep(newId(), [data]);
  expect([...stored]).toEqual(kept.map(({ blob }) => blob));
  await files.removeUnused();
  expect(stored.size).toBe(1);
  await clock.advance(2 * UPLOAD_MAX_MS);
  await files.removeUnused();
  expect([...stored]).toEqual([]);
});
