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
