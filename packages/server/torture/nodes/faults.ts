// Applies faults to a cluster one by one, ending each before the next.

import { setTimeout as sleep } from "node:timers/promises";
import type { Link } from "../../test/tcp-proxy.ts";
import type { Random } from "../harness/random.ts";
import type { Cluster, Node } from "./cluster.ts";
import { COMMIT_FAULT, type Fault, type LinkFault, type NodeFault } from "./fault-plan.ts";

/** A reset link works again at once. */
const RESET_MS = 1_000;
/** Longest time between two faults. */
const BETWEEN_MS = 2_500;
/** Latency of a slow link. */
const DELAY_MS = { least: 50, most: 1_500 };
/** Share of commits that pass while others are cut, and the time the server gets for one, in milliseconds. */
const SPARED_COMMITS = 0.6;
const COMMIT_MS = 50;

/** Returns true if the fault keeps its node from working on turns. */
export function hindersWork(fault: NodeFault | LinkFault): boolean {
  return !("link" in fault) || fault.link === "database";
}

/**
 * Returns true if the node's requests to the database fail at once. Requests that merely hang do not count,
 * since stopped turns may hang with them.
 */
function isCutOff(fault: NodeFault | LinkFault): boolean {
  return "link" in fault && fault.link === "database" && fault.kind === "cut";
}

export interface FaultWatch {
  /** A fault starts: `hitsAll` if no node can work meanwhile. */
  began(fault: Fault, hitsAll: boolean): void;
  ended(hitsAll: boolean): void;
}

/** Applies all faults until `stopping` is aborted. Returns how many were applied. */
export async function doFaults(
  cluster: Cluster,
  faults: readonly Fault[],
  random: Random,
  watch: FaultWatch,
  stopping: AbortSignal,
): Promise<number> {
  const pass = (ms: number): Promise<void> =>
    sleep(ms, undefined, { signal: stopping }).catch(() => undefined);
  let done = 0;
  for (const fault of faults) {
    await pass(random.next() * BETWEEN_MS);
    if (stopping.aborted) break;
    const hitsAll = fault.kind === "restart database";
    watch.began(fault, hitsAll);
    await doFault(cluster, fault, random, pass);
    watch.ended(hitsAll);
    done += 1;
  }
  return done;
}

async function doFault(
  { nodes, postgres, nats }: Cluster,
  fault: Fault,
  random: Random,
  pass: (ms: number) => Promise<void>,
): Promise<void> {
  if (!("node" in fault)) {
    const server = fault.kind === "restart database" ? postgres : nats;
    await server?.halt();
    await pass(fault.ms);
    await server?.resume();
    return;
  }
  const node = nodes[fault.node];
  if (node === undefined) throw new Error(`No node ${fault.node}`);
  node.isImpaired = true;
  node.isHindered = hindersWork(fault);
  if (isCutOff(fault)) node.cutOffSince = performance.now();
  if ("link" in fault) await breakLink(node, fault, random, pass);
  else if (fault.kind === "kill") await killNode(node, () => pass(fault.ms));
  else {
    node.signal("SIGSTOP");
    await pass(fault.ms);
    node.signal("SIGCONT");
  }
  node.isImpaired = false;
  node.isHindered = false;
  node.cutOffSince = null;
}

/** The next fault may come while it still starts. */
async function killNode(node: Node, pass: () => Promise<void>): Promise<void> {
  const { server } = node;
  await server.end("SIGKILL");
  await pass();
  // A node that had exited may have been restarted by its supervisor.
  if (node.server === server) node.restart();
}

async function breakLink(
  node: Node,
  { kind, link: name, ms }: LinkFault,
  random: Random,
  pass: (ms: number) => Promise<void>,
): Promise<void> {
  const link = node.links[name];
  if (link === null) throw new Error(`${node.name} has no link to the ${name}`);
  if (kind === "reset") {
    link.reset();
    await pass(Math.min(ms, RESET_MS));
  } else if (kind === "cut") {
    link.isBroken = true;
    link.cut();
    await pass(ms);
    link.isBroken = false;
  } else if (kind === "delay") {
    link.delayMs = random.integer(DELAY_MS.least, DELAY_MS.most);
    await pass(ms);
    link.delayMs = 0;
  } else if (kind === COMMIT_FAULT) {
    // Independent of the number of commits, so that later choices stay reproducible.
    const choices = random.fork("commits");
    link.fromClient = (bytes, through) => cutAtCommit(bytes, through, choices);
    await pass(ms);
    link.fromClient = null;
  } else {
    const way = kind === "hold up" ? "up" : "down";
    link.hold(way);
    await pass(ms);
    link.release(way);
  }
}

/** Some pass, or nothing would ever be committed. */
function cutAtCommit(bytes: Buffer, { client, server }: Link, random: Random): void {
  server.write(bytes);
  if (!bytes.includes("COMMIT") || random.chance(SPARED_COMMITS)) return;
  // The server's answer is not delivered.
  server.pause();
  setTimeout(() => {
    client.resetAndDestroy();
    server.destroy();
  }, COMMIT_MS);
}
