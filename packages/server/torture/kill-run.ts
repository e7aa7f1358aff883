// One run of the torture: a server killed again and again under load, and the final checks.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createHttpClient } from "./harness/http-request.ts";
import { createRandom } from "./harness/random.ts";
import { findFreePort } from "./harness/server-process.ts";
import { errorsOf, killAndRestart, noteCrash } from "./killer.ts";
import { countMessages } from "./message-counts.ts";
import { settlePeople, startPeople } from "./people.ts";
import { Office } from "./office.ts";
import type { TortureResult } from "./report.ts";
import type { LoadContext } from "./session-client.ts";
import { Violations } from "./violations.ts";

export interface KillRunOptions {
  /** The server's main.ts. */
  readonly main: string;
  readonly seed: string;
  /** Total time with a ready server, excluding starts. */
  readonly minutes: number;
  readonly kills: number;
  readonly people: number;
  /** JSON file with `plugins` and `backend`; `null` for SQLite. */
  readonly config: string | null;
  /** Ends the run at the first violation. */
  readonly untilFirstViolation: boolean;
}

/** Milliseconds without any change after which a processing session counts as stuck. */
const STUCK_MS = 30_000;

export async function runKills(options: KillRunOptions): Promise<TortureResult> {
  const directory = mkdtempSync(join(tmpdir(), "colloquy-torture-"));
  try {
    return await runIn(directory, options);
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

async function runIn(directory: string, options: KillRunOptions): Promise<TortureResult> {
  const begun = performance.now();
  const random = createRandom(options.seed);
  const [stopping, giveUp] = [new AbortController(), new AbortController()];
  const violations = new Violations(() => {
    if (options.untilFirstViolation) stopping.abort();
  });
  const office = await Office.open(directory, violations);
  const port = await findFreePort();
  const client = createHttpClient(port);
  let disturbedAt = performance.now();
  const context: LoadContext = {
    client,
    streamPort: () => port,
    isReachable: () => true,
    violations,
    counts: { resumed: 0, refetched: 0, compared: 0 },
    messages: countMessages(),
    done: { interrupts: 0, edits: 0, forks: 0, claims: 0, decisions: 0, expiries: 0, files: 0 },
    office,
    giveUp: giveUp.signal,
    // A killed process never answers its pending requests.
    isCarriedOutLate: false,
    // Requests are not attributed to incarnations of the server.
    wholeness: () => null,
    disturbedAt: () => disturbedAt,
    stuckMs: STUCK_MS,
    // No long answer would ever complete.
    hasLongAnswers: false,
  };
  const people = startPeople(context, options.people, random, stopping.signal);
  const plan = { kills: options.kills, serving: options.minutes * 60_000 };
  const place = { main: options.main, directory, port };
  const { server, kills, errors } = await killAndRestart(
    place,
    {
      config: options.config,
      office: office.app,
      onDisturbed: () => (disturbedAt = performance.now()),
    },
    plan,
    random.fork("kills"),
    violations,
    stopping.signal,
  );
  stopping.abort();
  const sessions = await settlePeople(people, context, giveUp);
  noteCrash(server, violations);
  await server.end("SIGTERM");
  client.close();
  return {
    seed: options.seed,
    faults: { name: "kills", count: kills },
    seconds: (performance.now() - begun) / 1000,
    sessions,
    messages: context.messages,
    done: context.done,
    streams: context.counts,
    violations: violations.all,
    errors: [...errors, ...errorsOf(server)],
  };
}
