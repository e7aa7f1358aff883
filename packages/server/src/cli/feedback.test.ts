import { randomUUID } from "node:crypto";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createClient, type Client } from "@colloquy/client";
import { openSqliteStore } from "@colloquy/engine/internal/store/sqlite/open";
import { createSystemClock } from "@colloquy/engine/internal/wiring/clock";
import { afterEach, beforeEach, expect, it } from "vitest";
import { loadConfig } from "../config/load-config.ts";
import { openLocalStore } from "../wiring/local-store.ts";
import { buildServer } from "../wiring/server.ts";
import { recordedRun } from "./testing/recorded-run.ts";

const SILENT = { debug() {}, info() {}, warn() {}, error() {} };

let directory: string;
let client: Client;
let stop: () => Promise<void>;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "colloquy-cli-feedback-"));
  const apps = { default: { models: ["demo/assistant"] } };
  await writeFile(join(directory, "colloquy.config.json"), JSON.stringify({ apps }));
  const environment = { HOST: "127.0.0.1", PORT: "0" };
  const loaded = await loadConfig({ environment, workingDirectory: directory });
  if (!loaded.ok) throw new Error(JSON.stringify(loaded.problems));
  const clock = createSystemClock();
  const onFatal = (error: Error): never => {
    throw error;
  };
  const store = await openSqliteStore({ directory, clock, onFatal });
  const server = await buildServer(loaded.config, { logger: SILENT, onFatal, store, clock });
  client = createClient({ baseUrl: (await server.listen()).url });
  stop = () => server.stop({ graceMs: 0 });
});
afterEach(async () => {
  await stop();
  await rm(directory, { recursive: true });
});

const run = (...parameters: readonly string[]) =>
  recordedRun(["feedback", ...parameters], {
    openLocalStore: (need) => openLocalStore({ dataDirectory: directory, secretKey: null }, need),
  });

/** Rates an answer, and returns the id of its session. */
async function rated(feedback: Parameters<Client["giveFeedback"]>[2]): Promise<string> {
  const id = randomUUID();
  await client.sendMessage(id, "hello", { wait: true });
  const [, answer] = (await client.getState(id)).messages;
  await client.giveFeedback(id, answer!.id, feedback);
  return id;
}

it("lists feedback beside a running server, with filters, as a table, JSON and CSV", async () => {
  const bad = await rated({ score: -1, comment: "No \u001b[31mfee\nat all", tags: ["short"] });
  const good = await rated({ score: 1 });
  const { output } = await run();
  const [head, first, second] = output.split("\n");
  expect(head).toMatch(/^TIME +SCORE +APP +SESSION +TURN +COMMENT +TAGS$/);
  expect(first).toContain(good);
  expect(second).toMatch(new RegExp(`Z +-1 +default +${bad} +1 +No ␛\\[31mfee at all +short$`));
  const listed = JSON.parse((await run("--json", "--score=-1", "--since", "1h")).output) as unknown;
  expect(listed).toMatchObject([{ session_id: bad, score: -1, tags: ["short"] }]);
  expect((await run("--limit", "1")).output).not.toContain(bad);
  const csv = (await run("--csv")).output;
  expect(csv).toMatch(/^\uFEFFcreated_at,app,session_id,message_id,turn,score,comment,tags\n/);
  expect(csv).toContain(`,${bad},`);
  expect(csv).toContain(',1,-1,"No ␛[31mfee\nat all",short\n');
});

it("reports an empty result, and rejects invalid options with a message", async () => {
  await rated({ score: 1 });
  expect((await run("--app", "nobody")).output).toBe("No feedback matches.\n");
  const wrong = await run("--limit", "0");
  expect(wrong.code).toBe(2);
  expect(wrong.errors).toContain("It must be a whole number from 1.");
  expect((await run("--json", "--csv")).code).toBe(2);
});
