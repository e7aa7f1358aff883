// The torture of a database with a synchronous standby: its parts are stopped, killed, cut off and promoted
// in random order under load. Nothing that was acknowledged may be missing afterwards.

import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { PostgresServer } from "../../test/postgres-server.ts";
import { TcpProxy } from "../../test/tcp-proxy.ts";
import { createRandom, type Random } from "../harness/random.ts";
import { findFreePort, ServerProcess } from "../harness/server-process.ts";
import { errorsOf, noteCrash } from "../killer.ts";
import { createRoundRobin } from "../nodes/round-robin.ts";
import { Violations, type Violation } from "../violations.ts";
import { Pair } from "./pair.ts";
import { Witness, type StandbyCounts, type WitnessContext } from "./witness.ts";

export interface StandbyRunOptions {
  /** The server's main.ts. */
  readonly main: string;
  readonly seed: string;
  readonly rounds: number;
  /** Ends the run at the first violation. */
  readonly untilFirstViolation: boolean;
  /** Receives faults and findings as text. */
  readonly onNews: (text: string) => void;
}

export interface StandbyResult {
  readonly rounds: number;
  readonly promotions: number;
  readonly seconds: number;
  readonly counts: StandbyCounts;
  readonly violations: readonly Violation[];
  /** Errors logged by the servers. */
  readonly errors: readonly string[];
}

const NODES = 2;
/** Concurrent sessions. */
const SESSIONS = 6;
/** Milliseconds after which a node gives up a commit: less than the standby is away. */
const GIVE_UP_MS = 1_000;
/** Longest pause between two faults, in milliseconds. */
const PAUSE_MS = 1_200;
const FAULTS = { least: 2, most: 5 };
/** Share of rounds whose standby is promoted. */
const PROMOTED = 0.75;
/** Share of rounds in which it is promoted without what was committed after its stop. */
const LEFT_BEHIND = 0.5;
/** Milliseconds within which sessions must be idle after the last round. */
const REST_MS = 60_000;
const STARTS_MS = 60_000;

/** Faults that may leave commits on the primary alone. */
const CUTS = {
  "cancel the waits": (pair: Pair) => pair.endWaits("pg_cancel_backend"),
  "end the waits": (pair: Pair) => pair.endWaits("pg_terminate_backend"),
  "cut the connections": (pair: Pair) => pair.cutConnections(),
  "kill and restart the primary": (pair: Pair) => pair.restartPrimary(),
};
const ALL = {
  ...CUTS,
  "stop the standby": (pair: Pair) => pair.stopStandby(),
  "hold back the standby": (pair: Pair) => pair.holdBack(),
  "start the standby": (pair: Pair) => pair.startStandby(),
};
type Fault = keyof typeof ALL;

export async function runStandby(options: StandbyRunOptions): Promise<StandbyResult> {
  const directory = mkdtempSync(join(tmpdir(), "colloquy-torture-"));
  const undo: (() => Promise<unknown>)[] = [];
  try {
    const primary = await PostgresServer.start();
    const database = await primary.createDatabase();
    const links: TcpProxy[] = [];
    for (let node = 0; node < NODES; node += 1) {
      const link = await TcpProxy.start(primary.port);
      links.push(link);
      undo.push(() => link.stop());
    }
    const pair = await Pair.of(primary, links);
    undo.push(() => pair.stop());
    const servers: ServerProcess[] = [];
    const ports: number[] = [];
    for (const [node, link] of links.entries()) {
      const place = join(directory, `node-${node}`);
      mkdirSync(place);
      const port = await findFreePort();
      const url = `${primary.url(database).replace(`:${primary.port}/`, `:${link.port}/`)}?query_timeout=${GIVE_UP_MS}`;
      const environment = { COLLOQUY_DATABASE_URL: url };
      const server = new ServerProcess({ main: options.main, directory: place, port, environment });
      servers.push(server);
      ports.push(port);
      undo.push(() => server.end("SIGKILL"));
    }
    for (const server of servers) await server.ready(STARTS_MS);
    return await runOn(pair, servers, ports, options);
  } finally {
    for (const step of undo.toReversed()) await step();
    rmSync(directory, { recursive: true, force: true });
  }
}

async function runOn(
  pair: Pair,
  servers: readonly ServerProcess[],
  ports: readonly number[],
  { seed, rounds, untilFirstViolation, onNews }: StandbyRunOptions,
): Promise<StandbyResult> {
  const begun = performance.now();
  const random = createRandom(seed);
  const violations = new Violations(({ kind, sessionId, detail }) =>
    onNews(`${kind} in ${sessionId}: ${detail}`),
  );
  const client = createRoundRobin(ports);
  const counts = { messages: 0, steps: 0, decisions: 0, inDoubt: 0, unchanged: 0, refusals: 0 };
  const context: WitnessContext = { client, violations, counts, generation: () => pair.generation };
  const witnesses: Witness[] = [];
  let done = 0;
  while (done < rounds && !(untilFirstViolation && violations.all.length > 0)) {
    const own = random.fork(`round ${done}`);
    const present = Array.from(
      { length: SESSIONS },
      (_, index) => new Witness(context, own.fork(`session ${index}`)),
    );
    witnesses.push(...present);
    const stopping = new AbortController();
    const working = present.map((one, index) => work(one, own.fork(`work ${index}`), stopping.signal));
    const before = { ...counts };
    const faults = await doFaults(pair, own.fork("faults"));
    // On a slow machine, nothing may have been acknowledged yet.
    const until = performance.now() + REST_MS;
    const isIdle = () =>
      (["messages", "steps", "decisions"] as const).some((name) => counts[name] === before[name]);
    while (isIdle() && performance.now() < until) await sleep(100);
    stopping.abort();
    await Promise.all(working);
    await Promise.all(present.map((one) => one.check()));
    for (const server of servers) noteCrash(server, violations);
    done += 1;
    onNews(`round ${done}: ${faults.join(", ")}`);
  }
  // Later failovers must not have lost anything either.
  for (let first = 0; first < witnesses.length; first += SESSIONS) {
    const deadline = performance.now() + REST_MS;
    await Promise.all(witnesses.slice(first, first + SESSIONS).map((one) => one.checkAtRest(deadline)));
  }
  client.close();
  return {
    rounds: done,
    promotions: pair.generation,
    seconds: (performance.now() - begun) / 1000,
    counts,
    violations: violations.all,
    errors: servers.flatMap(errorsOf),
  };
}

function planRound(random: Random): { readonly faults: readonly Fault[]; readonly isPromoted: boolean } {
  const some = (names: readonly Fault[]): readonly Fault[] =>
    Array.from({ length: random.integer(FAULTS.least, FAULTS.most) }, () => random.pick(names));
  if (random.chance(LEFT_BEHIND))
    return { faults: ["stop the standby", ...some(Object.keys(CUTS) as Fault[])], isPromoted: true };
  return { faults: some(Object.keys(ALL) as Fault[]), isPromoted: random.chance(PROMOTED) };
}

/** Leaves a primary with a standby. Returns what was done. */
async function doFaults(pair: Pair, random: Random): Promise<readonly string[]> {
  const { faults, isPromoted } = planRound(random);
  for (const fault of faults) {
    await sleep(random.next() * PAUSE_MS);
    await ALL[fault](pair);
  }
  await sleep(random.next() * PAUSE_MS);
  if (!isPromoted) {
    await pair.startStandby();
    return faults;
  }
  await pair.failOver();
  await sleep(random.next() * PAUSE_MS);
  await pair.complete(random);
  return [...faults, "promote the standby"];
}

async function work(witness: Witness, random: Random, stopping: AbortSignal): Promise<void> {
  for (let serial = 1; !stopping.aborted; serial += 1) {
    const text = random.chance(0.3)
      ? `call order_tea {"cups":${serial}}`
      : `This is message ${serial} of ${witness.id}.`;
    await witness.chat(text, stopping);
    await witness.look(stopping);
    await sleep(random.integer(0, 100));
  }
}

/** Formats the result as a table, with the first violations. */
export function describeStandbyResult(result: StandbyResult, seed: string): string {
  const { counts, violations } = result;
  const rows: readonly (readonly [string, string | number])[] = [
    ["rounds", result.rounds],
    ["promotions", result.promotions],
    ["acknowledged messages", counts.messages],
    ["acknowledged steps", counts.steps],
    ["acknowledged decisions", counts.decisions],
    ["sent once, in doubt", counts.inDoubt],
    ["sent once, said not to be stored", counts.unchanged],
    ["answers 503", counts.refusals],
    ["violations", violations.length],
    ["seed", seed],
    ["seconds", Math.round(result.seconds)],
  ];
  const width = Math.max(...rows.map(([name]) => name.length));
  const table = rows.map(([name, value]) => `| ${name.padEnd(width)} | ${String(value).padStart(8)} |`);
  const logged = violations.length === 0 ? [] : result.errors.map((line) => `the server logged: ${line}`);
  return [
    ...table,
    ...violations.slice(0, 20).map(({ kind, sessionId, detail }) => `${kind} in ${sessionId}: ${detail}`),
    ...logged,
  ].join("\n");
}
