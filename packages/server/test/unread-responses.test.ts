// A real process answers clients that read nothing. Its memory is measured from outside.

import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { connect, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { randomUUID } from "node:crypto";
import { afterEach, beforeEach, expect, it } from "vitest";
import { plainChat } from "@colloquy/testing/internal/store/fixtures/plain-chat";
import { openSqliteStore } from "@colloquy/engine/internal/store/sqlite/open";
import { createProcesses, NODES, type Processes } from "./black-box/processes.ts";
import { ManualClock } from "./manual-clock.ts";

const CLIENTS = 100;
const MIB = 1024 * 1024;
/**
 * A session near its size limit: without a byte limit, one page of it would hold 15 MiB, 100 of them 1.5 GB.
 */
const MESSAGES = 480;

let directory: string;
let processes: Processes;
let clients: Socket[];
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "colloquy-unread-"));
  processes = createProcesses(false);
  clients = [];
});
afterEach(async () => {
  for (const client of clients) client.destroy();
  await processes.stop("SIGKILL");
  await processes.remove();
  await rm(directory, { recursive: true, force: true });
});

async function storeFullSession(): Promise<string> {
  const id = randomUUID();
  const onFatal = (error: Error): never => {
    throw error;
  };
  const clock = new ManualClock(Date.now());
  const store = await openSqliteStore({ directory: join(directory, "data"), isAlone: true, clock, onFatal });
  const target = {
    session: id,
    birth: { incarnation: "incarnation", model: "demo/assistant" },
    load: false,
    access: null,
  };
  const input = plainChat("x".repeat(32_768), ["demo/assistant"]);
  for (let index = 0; index < MESSAGES; index += 1) {
    await store.execute({
      kind: "chat",
      target,
      input: { ...input, messageId: randomUUID(), maxQueued: MESSAGES },
    });
  }
  await store.execute({ kind: "interrupt", target, input: { streamed: null } });
  await store.close();
  return id;
}

/** Sends a request, waits for the head of the answer, and reads no further. */
async function askUnread(path: string, session: string): Promise<void> {
  const { hostname, port } = new URL(processes.url);
  const client = connect(Number(port), hostname);
  clients.push(client);
  client.write(`GET ${path} HTTP/1.1\r\nhost: ${hostname}\r\nx-session-id: ${session}\r\n\r\n`);
  await once(client, "readable");
}

function residentBytes(pid: number): number {
  const [, kilobytes] = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8")) ?? [];
  return Number(kilobytes) * 1024;
}

it.skipIf(!existsSync("/proc/self/status") || NODES !== null)(
  "100 unread answers of each kind take less than 100 MB of memory",
  async () => {
    const session = await storeFullSession();
    await processes.start({}, directory);
    const pid = processes.pids[0]!;
    const ask = (path: string) => fetch(`${processes.url}${path}`, { headers: { "x-session-id": session } });
    const messages = `/api/sessions/${session}/messages`;
    // Read to the end: memory for serving them at all, garbage included, is not measured.
    const warmUp = Array.from({ length: 50 }, () => [messages, "/api/state"]).flat();
    await Promise.all(warmUp.map(async (path) => (await ask(path)).arrayBuffer()));
    for (const path of [messages, "/api/state"]) {
      const before = residentBytes(pid);
      for (let index = 0; index < CLIENTS; index += 1) await askUnread(path, session);
      // Garbage is collected while the process works; memory held for those clients stays.
      for (let round = 0; round < 100 && residentBytes(pid) - before >= 100 * MIB; round += 1) {
        expect((await ask("/healthz")).status).toBe(200);
        await (await ask(messages)).arrayBuffer();
      }
      expect(residentBytes(pid) - before).toBeLessThan(100 * MIB);
    }
  },
  120_000,
);
