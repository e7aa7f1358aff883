// What is done to a cluster: one thing after the other, each undone before the next. The seed chooses what, to whom and for how long.

import { setTimeout as sleep } from "node:timers/promises";
import type { Link } from "../../test/tcp-proxy.ts";
import type { Random } from "../harness/random.ts";
import type { Cluster, LinkName, Node } from "./cluster.ts";

export const NODE_FAULTS = ["kill", "pause"] as const;
export const LINK_FAULTS = ["cut", "reset", "delay", "hold up", "hold down"] as const;
/** Connections to the database break when a commit was carried out and its answer is under way. */
const COMMIT_FAULT = "cut at commits";
export const SERVER_FAULTS = ["restart database", "restart bus"] as const;

interface NodeFault {
  readonly kind: (typeof NODE_FAULTS)[number];
  readonly node: number;
  readonly ms: number;
}

interface LinkFault {
  readonly kind: (typeof LINK_FAULTS)[number] | typeof COMMIT_FAULT;
  readonly node: number;
  readonly link: LinkName;
  readonly ms: number;
}

interface ServerFault {
  readonly kind: (typeof SERVER_FAULTS)[number];
  readonly ms: number;
}

export type Fault = NodeFault | LinkFault | ServerFault;

/** A pause lasts 1 to 60 s, most of them little longer than a lease; all else is over before clients would give up. */
const LONGEST = { pause: 60_000, link: 20_000, server: 4_000, kill: 3_000 };
const SHORTEST_MS = 1_000;
/** Longest time between two faults. */
const BETWEEN_MS = 2_500;
/** How late bytes are on a slow link. */
const DELAY_MS = { least: 50, most: 1_500 };
/** Share of the commits that pass while others are cut, and how long the server has for one; in milliseconds. */
const SPARED_COMMITS = 0.6;
const COMMIT_MS = 50;

/** So many faults, of every kind about as often as it matters. `links` are those that the nodes have. */
export function planFaults(
  count: number,
  nodes: number,
  links: readonly LinkName[],
  random: Random,
): Fault[] {
  const hasBus = links.includes("bus");
  return Array.from({ length: count }, (): Fault => {
    const node = random.integer(0, nodes - 1);
    const choice = random.next();
    if (choice < 0.25) return { kind: "kill", node, ms: length(LONGEST.kill, random, 100) };
    if (choice < 0.5) return { kind: "pause", node, ms: length(LONGEST.pause, random) };
    if (choice < 0.6) return { kind: "restart database", ms: length(LONGEST.server, random, 100) };
    if (choice < 0.65 && hasBus) return { kind: "restart bus", ms: length(LONGEST.server, random, 100) };
    const kind = random.pick([...LINK_FAULTS, COMMIT_FAULT] as const);
    const link = kind === COMMIT_FAULT ? "database" : random.pick(links);
    return { kind, node, link, ms: length(LONGEST.link, random) };
  });
}

/** Short ones are more frequent than long ones: as likely between 1 and 2 s as between 16 and 32 s. */
function length(longest: number, random: Random, shortest = SHORTEST_MS): number {
  return Math.round(shortest * (longest / shortest) ** random.next());
}

/** Whether it keeps its node from working on turns. */
export function hindersWork(fault: NodeFault | LinkFault): boolean {
  return !("link" in fault) || fault.link === "database";
}

/** Whether all that the node asks of the database fails at once: where it only waits, its turns may too, although they have stopped. */
function isCutOff(fault: NodeFault | LinkFault): boolean {
  return "link" in fault && fault.link === "database" && fault.kind === "cut";
}

export function describeFault(fault: Fault): string {
  const where = "node" in fault ? ` node-${fault.node + 1}` : "";
  const link = "link" in fault ? ` ${fault.link}` : "";
  return `${fault.kind}${where}${link} for ${(fault.ms / 1000).toFixed(1)} s`;
}

export interface FaultWatch {
  /** Something begins: `hitsAll` when no node can work meanwhile. */
  began(fault: Fault, hitsAll: boolean): void;
  ended(hitsAll: boolean): void;
}

/** Does all of it, until `stopping` is aborted. Answers how many were done. */
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
  if (node === undefined) throw new Error(`There is no node ${fault.node}`);
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

/** The next fault comes when it may still be starting. */
async function killNode(node: Node, pass: () => Promise<void>): Promise<void> {
  await node.server.end("SIGKILL");
  await pass();
  node.restart();
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
    await pass(Math.min(ms, SHORTEST_MS));
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
    // Commits are not counted: what follows must not depend on how many there were.
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

/** Some pass, or nothing would ever be done. */
function cutAtCommit(bytes: Buffer, { client, server }: Link, random: Random): void {
  server.write(bytes);
  if (!bytes.includes("COMMIT") || random.chance(SPARED_COMMITS)) return;
  // What the server answers stays where it is.
  server.pause();
  setTimeout(() => {
    client.resetAndDestroy();
    server.destroy();
  }, COMMIT_MS);
}
