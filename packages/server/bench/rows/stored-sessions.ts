// Start on a data directory with a million sessions, against an empty one; and a million requests with random
// ids, each of which creates an abandoned session.

import { mkdirSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { findFreePort, ServerProcess } from "../../torture/harness/server-process.ts";
import { median } from "../statistics.ts";
import { formatCount, formatMs, formatRounds, type Row } from "../table.ts";
import { checkStatuses, CONNECTIONS, inTurn, startColloquyRole, stopAll, type RowContext } from "./row.ts";
import { insertSessions } from "./stored-sessions-sql.ts";

const MAIN = join(import.meta.dirname, "..", "..", "src", "main.ts");
const MEGABYTE = 1024 * 1024;
/**
 * Longer than the expiry of an empty session, plus the cleanup interval and the delay of recording uses
 * (contract section 1).
 */
const PAST_EXPIRY_MS = 3 * 60 * 60 * 1000;

export async function measureStart(context: RowContext): Promise<readonly Row[]> {
  const stored = context.quick ? 100_000 : 1_000_000;
  const [full, empty] = [context.newDirectory(), context.newDirectory()];
  for (const directory of [full, empty]) await timeStart(directory);
  const database = openDatabase(join(full, "data"), false);
  insertSessions(database, stored);
  database.close();
  // One uncounted start of each, for file system caches and one-time work on new data.
  for (const directory of [full, empty]) await timeStart(directory);
  const rounds = await inTurn(
    Math.max(5, context.rounds),
    () => timeStart(full),
    () => timeStart(empty),
  );
  const ratios = rounds.map((round) => round.colloquy / round.control);
  return [
    {
      name: `start with ${formatCount(stored, "")} stored sessions, against none`,
      colloquy: formatMs(median(rounds.map((round) => round.colloquy))),
      control: formatMs(median(rounds.map((round) => round.control))),
      ratio: formatRounds(ratios),
      target: "at most 1.5",
      met: median(ratios) <= 1.5,
    },
  ];
}

/** Returns the milliseconds from the start of the process until it is ready. */
async function timeStart(directory: string): Promise<number> {
  mkdirSync(join(directory, "data"), { recursive: true });
  const port = await findFreePort();
  const begun = performance.now();
  const server = new ServerProcess({ main: MAIN, directory, port });
  await server.ready();
  const taken = performance.now() - begun;
  await server.end("SIGTERM");
  return taken;
}

export async function measureRandomIds(context: RowContext): Promise<readonly Row[]> {
  const requests = context.quick ? 100_000 : 1_000_000;
  const directory = context.newDirectory();
  const colloquy = startColloquyRole(context, { directory });
  const database = () => openDatabase(directory, true);
  try {
    const port = await colloquy.ask("port");
    const run = async (atMost: number) => {
      const result = await context.client.ask("closedLoop", {
        port,
        connections: CONNECTIONS,
        plan: { kind: "random state" },
        warmUpMs: 0,
        measuredMs: 600_000,
        atMost,
      });
      checkStatuses(result);
      return result.perSecond;
    };
    await run(20_000);
    const before = await colloquy.ask("memory");
    const perSecond = await run(requests);
    const after = await colloquy.ask("memory");
    const stored = countSessions(database());
    await colloquy.ask("advance", PAST_EXPIRY_MS);
    const begun = performance.now();
    await colloquy.ask("cleanUp");
    const cleaned = (performance.now() - begun) / 1000;
    const left = countSessions(database());
    const grown = (after - before) / MEGABYTE;
    return [
      {
        name: `${formatCount(requests, "")} requests with random ids`,
        colloquy: `${grown.toFixed(0)} MB more memory; ${formatCount(stored, "")} rows, after cleanup ${left} (${cleaned.toFixed(0)} s)`,
        control: "–",
        ratio: `at ${formatCount(perSecond, "/s")}`,
        target: "under 100 MB more, rows gone",
        met: grown < 100 && left === 0,
      },
    ];
  } finally {
    await stopAll([colloquy]);
  }
}

function openDatabase(directory: string, readOnly: boolean): DatabaseSync {
  const file = readdirSync(directory).find((name) => name.endsWith(".db"));
  if (file === undefined) throw new Error(`No database in ${directory}`);
  return new DatabaseSync(join(directory, file), { readOnly });
}

function countSessions(database: DatabaseSync): number {
  const row = database.prepare("SELECT count(*) AS count FROM sessions").get();
  database.close();
  return Number(row?.["count"]);
}
