// Simulates a container with little memory by a small heap.

import { execFile } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, it } from "vitest";
import { newSession, send } from "../black-box/client.ts";
import { endProcess, listening, startIn } from "../watched-process.ts";

const run = promisify(execFile);
const NODE_OPTIONS = "--max-old-space-size=160 --max-semi-space-size=1";
const CHATS = 800;
const AT_ONCE = 20;

it("limits cached sessions to an eighth of the heap, and reads the others from the store", async () => {
  const folder = await mkdtemp(join(tmpdir(), "colloquy-memory-"));
  const heapLimit = "require('node:v8').getHeapStatistics().heap_size_limit";
  const { stdout } = await run(process.execPath, ["-p", heapLimit], { env: { NODE_OPTIONS } });
  const service = await listening(startIn(folder, { NODE_OPTIONS }));
  try {
    const json = { message: "lorem ipsum ".repeat(2_700) };
    const headers = { Prefer: "wait=20" };
    const first = newSession();
    for (let sent = 0; sent < CHATS; sent += AT_ONCE) {
      const sessions = Array.from({ length: AT_ONCE }, (_, index) =>
        sent + index === 0 ? first : newSession(),
      );
      const answers = await Promise.all(
        sessions.map((session) => send(service.address, "POST", "/api/chat", { session, headers, json })),
      );
      expect(answers.map(({ status }) => status)).toEqual(sessions.map(() => 200));
    }
    const { text } = await send(service.address, "GET", "/metrics");
    const bytes = Number(/^colloquy_snapshot_bytes (\d+)/m.exec(text)?.[1]);
    expect(bytes).toBeGreaterThan(1_000_000);
    expect(bytes).toBeLessThanOrEqual(Number(stdout) / 8);
    const state = await send(service.address, "GET", "/api/state", { session: first });
    expect(state.text).toContain("lorem ipsum");
  } finally {
    await endProcess(service);
    await rm(folder, { recursive: true });
  }
});
