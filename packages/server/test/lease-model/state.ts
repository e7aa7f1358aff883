// The state of the model: the database, two nodes, and what is under way between them. A request that is under way is no part of it: the
// database may carry out at any time what a node may ever have sent. Epochs are the current one or an old one, times are units that are
// left or have passed, so that there are only so many states however long it all goes on.

import type { Database, Owner, WriteKind } from "./database.ts";

export const NODES = ["A", "B"] as const;
export type NodeName = (typeof NODES)[number];

/** A turn that a node runs and has not stopped. */
export interface Run {
  /** Whether the session's epoch has been raised since. */
  readonly isOld: boolean;
  /** Units that its node still trusts the lease. */
  readonly held: number;
  /** Steps that its node knows to be stored. */
  readonly steps: number;
}

/** An answer that a node has not heard yet. */
export interface ClaimAnswer {
  /** Units since the claim was sent. */
  readonly age: number;
  readonly isOld: boolean;
  readonly steps: number;
}

export interface NodeState {
  readonly isPaused: boolean;
  readonly run: Run | null;
  readonly claim: ClaimAnswer | null;
  /** The answer that the lease of its run is renewed: units since the renewal was sent. */
  readonly renewal: number | null;
  /** The answer that the next step of its run is stored. */
  readonly isWritten: boolean;
}

/** A write of a run that is no more, which may still reach the database. */
export interface Orphan {
  readonly kind: WriteKind;
  readonly node: Owner;
  readonly isOld: boolean;
}

export interface State {
  readonly database: Database;
  readonly nodes: Readonly<Record<NodeName, NodeState>>;
  readonly orphans: readonly Orphan[];
}

export const IDLE: NodeState = { isPaused: false, run: null, claim: null, renewal: null, isWritten: false };

export const INITIAL: State = {
  database: { turn: "queued", runnable: true, attempts: 0, steps: 0, lease: null, claimant: null },
  nodes: { A: IDLE, B: IDLE },
  orphans: [],
};

export function put(state: State, name: NodeName, node: NodeState): State {
  return { ...state, nodes: { ...state.nodes, [name]: node } };
}

/** The next write of a run. */
export function nextWrite({ steps }: Run): WriteKind {
  return steps === 0 ? "step" : "complete";
}

const TURNS = ["queued", "running", "ended"] as const;
const OWNERS = ["A", "B", "gone"] as const;
const KINDS = ["step", "complete"] as const;
/** Numbers may be negative, texts not. */
const SHIFT = 32;
const NODES_AT = 7;
const NODE_NUMBERS = 9;
const ORPHAN_NUMBERS = 3;

/** The state as a short text, each number one character: the same for the same state. */
export function encode({ database, nodes, orphans }: State): string {
  const { lease, claimant } = database;
  const writes = orphans.map(({ kind, node, isOld }) =>
    text([KINDS.indexOf(kind), OWNERS.indexOf(node), Number(isOld)]),
  );
  const before = text([
    TURNS.indexOf(database.turn),
    Number(database.runnable),
    database.attempts,
    database.steps,
    lease === null ? 0 : OWNERS.indexOf(lease.owner) + 1,
    lease?.left ?? 0,
    claimant === null ? 0 : OWNERS.indexOf(claimant) + 1,
    ...encodeNode(nodes.A),
    ...encodeNode(nodes.B),
  ]);
  // They overtake each other, so that their order says nothing.
  return before + writes.toSorted().join("");
}

function text(numbers: readonly number[]): string {
  return String.fromCharCode(...numbers.map((number) => number + SHIFT));
}

function encodeNode({ isPaused, run, claim, renewal, isWritten }: NodeState): number[] {
  return [
    Number(isPaused),
    run === null ? -1 : Number(run.isOld),
    run?.held ?? 0,
    run?.steps ?? 0,
    claim === null ? -1 : Number(claim.isOld),
    claim?.age ?? 0,
    claim?.steps ?? 0,
    renewal ?? -1,
    Number(isWritten),
  ];
}

export function decode(encoded: string): State {
  const at = (index: number): number => encoded.charCodeAt(index) - SHIFT;
  const owner = (number: number): Owner => OWNERS[number] ?? "gone";
  const orphans: Orphan[] = [];
  for (let start = NODES_AT + 2 * NODE_NUMBERS; start < encoded.length; start += ORPHAN_NUMBERS) {
    const kind = KINDS[at(start)] ?? "step";
    orphans.push({ kind, node: owner(at(start + 1)), isOld: at(start + 2) === 1 });
  }
  return {
    database: {
      turn: TURNS[at(0)] ?? "ended",
      runnable: at(1) === 1,
      attempts: at(2),
      steps: at(3),
      lease: at(4) === 0 ? null : { owner: owner(at(4) - 1), left: at(5) },
      claimant: at(6) === 0 ? null : owner(at(6) - 1),
    },
    nodes: { A: decodeNode(at, NODES_AT), B: decodeNode(at, NODES_AT + NODE_NUMBERS) },
    orphans,
  };
}

function decodeNode(number: (index: number) => number, start: number): NodeState {
  const at = (index: number): number => number(start + index);
  return {
    isPaused: at(0) === 1,
    run: at(1) === -1 ? null : { isOld: at(1) === 1, held: at(2), steps: at(3) },
    claim: at(4) === -1 ? null : { isOld: at(4) === 1, age: at(5), steps: at(6) },
    renewal: at(7) === -1 ? null : at(7),
    isWritten: at(8) === 1,
  };
}
