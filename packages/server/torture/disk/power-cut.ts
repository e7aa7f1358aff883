// Simulates power failures at moments chosen by the seed: files revert to their synced content (or that and
// some unsynced sectors), a server starts on them, and every message acknowledged by then must be there.

import { mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { Snapshot } from "@colloquy/protocol";
import { createHttpClient } from "../harness/http-request.ts";
import type { Random } from "../harness/random.ts";
import { findFreePort, ServerProcess } from "../harness/server-process.ts";
import { DiskImage } from "./disk-image.ts";
import { placesOf, type TracedMessage, type TracedRun } from "./traced-run.ts";

export interface PowerCutResult {
  readonly cuts: number;
  /** Number of acknowledged messages checked, over all cuts. */
  readonly expected: number;
  /** Missing messages, described. */
  readonly losses: readonly string[];
}

/** Simulates `cuts` power failures during the run. `directory` is an empty working directory. */
export async function cutPower(
  main: string,
  run: TracedRun,
  directory: string,
  cuts: number,
  random: Random,
): Promise<PowerCutResult> {
  const places = placesOf(run);
  const firstAnswer = Math.min(...places.map(({ sent }) => sent));
  const losses: string[] = [];
  let expected = 0;
  for (let cut = 1; cut <= cuts; cut += 1) {
    const at = random.integer(firstAnswer + 1, run.events.length);
    // Every second cut also keeps a random half of the unsynced sectors.
    const image = new DiskImage();
    for (const event of run.events.slice(0, at)) image.apply(event);
    const place = mkdtempSync(join(directory, "cut-"));
    image.restore(run.dataDirectory, join(place, "data"), cut % 2 === 0 ? random : null);
    const acknowledged = places.filter(({ sent }) => sent < at);
    expected += acknowledged.length;
    const missing = await findMissing(main, place, acknowledged);
    losses.push(...missing.map((loss) => `cut ${cut}: ${loss}`));
    rmSync(place, { recursive: true });
  }
  return { cuts, expected, losses };
}

async function findMissing(
  main: string,
  directory: string,
  wanted: readonly TracedMessage[],
): Promise<string[]> {
  const port = await findFreePort();
  const server = new ServerProcess({ main, directory, port });
  const client = createHttpClient(port);
  try {
    await server.ready();
    const found = new Map<string, ReadonlySet<string>>();
    for (const sessionId of new Set(wanted.map((message) => message.sessionId))) {
      const answer = await client.request("/api/state", { headers: { "x-session-id": sessionId } });
      const { messages } = JSON.parse(answer.body) as Snapshot;
      found.set(sessionId, new Set(messages.map(({ content }) => content)));
    }
    return wanted
      .filter(({ sessionId, text }) => found.get(sessionId)?.has(text) !== true)
      .map(({ text }) => `${text} was acknowledged and is gone`);
  } catch (error) {
    return [`the server does not start on the remaining files: ${String(error)}`];
  } finally {
    client.close();
    await server.end("SIGKILL");
  }
}
