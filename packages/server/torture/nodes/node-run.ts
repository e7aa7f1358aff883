// One run of the torture on several nodes: clients that use another node for each request, faults, and the
// final checks.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createRandom } from "../harness/random.ts";
import { errorsOf } from "../killer.ts";
import { countMessages } from "../message-counts.ts";
import { settlePeople, startPeople } from "../people.ts";
import { Office } from "../office.ts";
import type { TortureResult } from "../report.ts";
import type { LoadContext } from "../session-client.ts";
import { Violations } from "../violations.ts";
import { LINKS, startCluster, type Cluster, type Node } from "./cluster.ts";
import { describeFault, planFaults } from "./fault-plan.ts";
import { doFaults, hindersWork, type FaultWatch } from "./faults.ts";
import { createRoundRobin } from "./round-robin.ts";
import { STUCK_MS, StallWatch } from "./stall-watch.ts";
import { supervise } from "./supervisor.ts";
import { watchWork } from "./work-watch.ts";
import { checkAudit, installAudit } from "./write-audit.ts";

export interface NodeRunOptions {
  /** The server's main.ts. */
  readonly main: string;
  readonly seed: string;
  readonly nodes: number;
  readonly faults: number;
  readonly people: number;
  /** Whether NATS carries notifications, else the database. */
  readonly isOnNats: boolean;
  /** Ends the run at the first violation. */
  readonly untilFirstViolation: boolean;
  /** Receives faults and findings as text. */
  readonly onNews: (text: string) => void;
}

export async function runNodes(options: NodeRunOptions): Promise<TortureResult> {
  const directory = mkdtempSync(join(tmpdir(), "colloquy-torture-"));
  const run = watchViolations(options);
  let cluster: Cluster | null = null;
  try {
    const office = await Office.open(directory, run.violations);
    cluster = await startCluster(options.main, directory, { ...options, office: office.app });
    return await runOn(cluster, office, run, options);
  } finally {
    await cluster?.stop();
    rmSync(directory, { recursive: true, force: true });
  }
}

interface WatchedRun {
  /** Aborted to end the run. */
  readonly stopping: AbortController;
  readonly violations: Violations;
}

function watchViolations({ untilFirstViolation, onNews }: NodeRunOptions): WatchedRun {
  const stopping = new AbortController();
  const violations = new Violations(({ kind, sessionId }) => {
    onNews(`${secondsNow()}: ${kind} in ${sessionId}`);
    if (untilFirstViolation) stopping.abort();
  });
  return { stopping, violations };
}

async function runOn(
  cluster: Cluster,
  office: Office,
  { stopping, violations }: WatchedRun,
  options: NodeRunOptions,
): Promise<TortureResult> {
  const { nodes, postgres, database } = cluster;
  await installAudit(postgres, database);
  const begun = performance.now();
  const random = createRandom(options.seed);
  const giveUp = new AbortController();
  for (const { name, port } of nodes) options.onNews(`${name} is at port ${port}`);
  const stalls = new StallWatch();
  const watch = watchFaults(cluster, stalls, options.onNews);
  const client = createRoundRobin(nodes.map(({ port }) => port));
  const context: LoadContext = {
    client,
    streamPort: () => client.nextPort(),
    isReachable: (port) => nodes.every((node) => node.port !== port || !node.isImpaired),
    violations,
    counts: { resumed: 0, refetched: 0, compared: 0 },
    messages: countMessages(),
    done: { interrupts: 0, edits: 0, forks: 0, claims: 0, decisions: 0, expiries: 0, files: 0 },
    office,
    giveUp: giveUp.signal,
    isCarriedOutLate: true,
    wholeness: (port) => watch.wholeness(nodes.find((node) => node.port === port) ?? null),
    disturbedAt: watch.disturbedAt,
    stuckMs: STUCK_MS,
    hasLongAnswers: true,
  };
  const ended = new AbortController();
  const supervised = supervise(nodes, violations, ended.signal);
  const { untilFirstViolation } = options;
  const watched = watchWork(
    { nodes, postgres, database, stalls, violations, untilFirstViolation },
    ended.signal,
  );
  const people = startPeople(context, options.people, random, stopping.signal);
  const links = LINKS.filter((link) => nodes[0]?.links[link] !== null);
  const plan = planFaults(options.faults, nodes.length, links, random.fork("plan"));
  const done = await doFaults(cluster, plan, random.fork("faults"), watch, stopping.signal);
  stopping.abort();
  const sessions = await settlePeople(people, context, giveUp);
  ended.abort();
  await Promise.all([supervised, watched]);
  await checkAudit(postgres, database, violations);
  client.close();
  return {
    seed: options.seed,
    faults: { name: "faults", count: done },
    seconds: (performance.now() - begun) / 1000,
    sessions,
    messages: context.messages,
    done: context.done,
    streams: context.counts,
    stalls,
    violations: violations.all,
    errors: nodes.flatMap(({ server }) => errorsOf(server)),
  };
}

/** Returns since when no fault could hold up sessions. */
function watchFaults(
  { nodes }: Cluster,
  stalls: StallWatch,
  onNews: (text: string) => void,
): FaultWatch & {
  readonly disturbedAt: () => number;
  readonly wholeness: (node: Node | null) => number | null;
} {
  let isDown = false;
  let timesDown = 0;
  let lastChange = performance.now();
  return {
    began: (fault, hitsAll) => {
      const now = performance.now();
      onNews(`${secondsNow()}: ${describeFault(fault)}`);
      const owner = "node" in fault && hindersWork(fault) ? nodes[fault.node]?.process : undefined;
      if (owner !== undefined) stalls.disturb(owner, fault.kind === "kill" ? "death" : "fault", now);
      isDown = hitsAll;
      if (hitsAll) timesDown += 1;
      lastChange = now;
    },
    // The recovery of one node frees no other.
    ended: (hitsAll) => {
      if (hitsAll) lastChange = performance.now();
      isDown = false;
    },
    disturbedAt: () => (isDown ? performance.now() : lastChange),
    // A starting node is over its faults but does not answer yet.
    wholeness: (node) =>
      isDown || node === null || node.isImpaired || node.isStarting ? null : node.impairments + timesDown,
  };
}

function secondsNow(): string {
  return `${(performance.now() / 1000).toFixed(1)} s`;
}
