import { randomUUID } from "node:crypto";
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { ManualClock } from "../../../../server/test/manual-clock.ts";
import type { Store } from "../../core/ports/driven/store.ts";
import {
  chat,
  complete,
  existing,
  remove,
  rename,
  startTurn,
} from "@colloquy/testing/internal/store/fixtures/scenario";
import { openSqliteStore } from "./open.ts";

const CANARY = "CANARY-of-the-purge";

let directory = "";
let store: Store;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "colloquy-purge-"));
  const onFatal = (error: Error): never => {
    throw error;
  };
  store = await openSqliteStore({ directory, clock: new ManualClock(Date.now()), onFatal });
});
afterEach(async () => {
  await store.close();
  await rm(directory, { recursive: true });
});

async function filesWith(text: string): Promise<readonly string[]> {
  const names = await readdir(directory);
  const files = await Promise.all(names.map((name) => readFile(join(directory, name))));
  return names.filter((_name, index) => files[index]!.includes(text));
}

it("leaves nothing of deleted sessions in the files, even where SQLite has moved their rows", async () => {
  const say = async (text: string, index: number): Promise<string> => {
    const id = randomUUID();
    // Rows that grow, between others, are moved between pages.
    await complete(store, await startTurn(store, id, text), text.repeat(index % 40));
    await rename(store, existing(id), text.repeat((index % 9) + 1));
    await chat(store, id, text);
    return id;
  };
  const said = Array.from({ length: 300 }, (_, index) => say(index % 2 === 0 ? CANARY : "kept", index));
  const deleted = (await Promise.all(said)).filter((_id, index) => index % 2 === 0);
  while ((await store.search.index()).hasMore);
  expect(await filesWith("canary")).not.toEqual([]);
  await Promise.all(deleted.map((id) => remove(store, existing(id))));
  while ((await store.search.index()).removed > 0);
  expect(await store.purge()).toBe(true);
  expect(await filesWith("canary")).toEqual([]);
  expect(await filesWith(CANARY)).toEqual([]);
  expect(await filesWith("kept")).toContain("colloquy.db");
});
