// Plans faults of a cluster: kind, target and duration. Dealt from shuffled decks, so that short runs also
// contain everything; determined by the seed alone.

import { LEASE_MS } from "@colloquy/engine/internal/core/turn";
import type { Random } from "../harness/random.ts";
import type { LinkName } from "./cluster.ts";

export const NODE_FAULTS = ["kill", "pause"] as const;
export const LINK_FAULTS = ["cut", "reset", "delay", "hold up", "hold down"] as const;
/** Breaks connections to the database after a commit was executed and before its answer arrives. */
export const COMMIT_FAULT = "cut at commits";
export const SERVER_FAULTS = ["restart database", "restart bus"] as const;

export interface NodeFault {
  readonly kind: (typeof NODE_FAULTS)[number];
  readonly node: number;
  readonly ms: number;
}

export interface LinkFault {
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

/** A fault without its node and duration. */
type Card = (node: number, random: Random) => Fault;

/** Shortest and longest duration in milliseconds. */
type Span = readonly [number, number];

/** All except pauses end before clients would give up. */
const KILL: Span = [100, 3_000];
const LINK: Span = [1_000, 20_000];
const RESTART: Span = [1_200, 4_000];
const SHORT_RESTART: Span = [100, 1_200];
/** Every deck contains a pause after which other nodes own the turns. */
const PAUSE_BEYOND_LEASE: Span = [LEASE_MS * 1.2, LEASE_MS * 2.5];
const OTHER_PAUSES: readonly Span[] = [
  [1_000, 2_500],
  [2_500, 5_000],
  [5_000, LEASE_MS],
  [LEASE_MS * 2.5, 60_000],
];
/** Additional kills per deck after the first one: crashes are more frequent than one-way network failures. */
const MORE_KILLS = 4;

/** Returns this many faults. `links` are those that nodes have. */
export function planFaults(
  count: number,
  nodes: number,
  links: readonly LinkName[],
  random: Random,
): Fault[] {
  const plan: Fault[] = [];
  while (plan.length < count) {
    const dealt = stackDeck(links, random).slice(0, count - plan.length);
    for (const card of shuffle(dealt, random)) plan.push(card(random.integer(0, nodes - 1), random));
  }
  return plan;
}

/**
 * Returns a deck with everything on every link, the most important first, since a run may end within its last
 * deck. A run with a bus starts with the bus links, because equally long runs without it cover the others.
 */
function stackDeck(links: readonly LinkName[], random: Random): Card[] {
  const hasBus = links.includes("bus");
  const servers = SERVER_FAULTS.filter((kind) => kind !== "restart bus" || hasBus);
  const first = [kill, pause(PAUSE_BEYOND_LEASE), ...servers.map((kind) => restart(kind, RESTART))];
  const firstLinks = hasBus ? (["bus"] as const) : links;
  const more = [
    ...(hasBus ? links.filter((link) => link !== "bus").flatMap(breakLink) : []),
    ...Array.from({ length: MORE_KILLS }, () => kill),
    ...OTHER_PAUSES.map(pause),
    ...servers.map((kind) => restart(kind, SHORT_RESTART)),
  ];
  return [...first, ...shuffle(firstLinks.flatMap(breakLink), random), ...shuffle(more, random)];
}

const kill: Card = (node, random) => ({ kind: "kill", node, ms: draw(KILL, random) });

function pause(span: Span): Card {
  return (node, random) => ({ kind: "pause", node, ms: draw(span, random) });
}

function restart(kind: ServerFault["kind"], span: Span): Card {
  return (_node, random) => ({ kind, ms: draw(span, random) });
}

function breakLink(link: LinkName): Card[] {
  const kinds: readonly LinkFault["kind"][] =
    link === "database" ? [...LINK_FAULTS, COMMIT_FAULT] : LINK_FAULTS;
  return kinds.map((kind) => (node, random) => ({ kind, node, link, ms: draw(LINK, random) }));
}

/** Log-uniform: as likely between 1 and 2 s as between 8 and 16 s. */
function draw([shortest, longest]: Span, random: Random): number {
  return Math.round(shortest * (longest / shortest) ** random.next());
}

function shuffle<Item>(items: readonly Item[], random: Random): Item[] {
  const left = [...items];
  return items.flatMap(() => left.splice(random.integer(0, left.length - 1), 1));
}

export function describeFault(fault: Fault): string {
  const where = "node" in fault ? ` node-${fault.node + 1}` : "";
  const link = "link" in fault ? ` ${fault.link}` : "";
  return `${fault.kind}${where}${link} for ${(fault.ms / 1000).toFixed(1)} s`;
}
