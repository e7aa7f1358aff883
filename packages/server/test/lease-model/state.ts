// The state of the model: the database, two nodes, and messages to them. Requests are not part of it: the
// database may execute at any time what a node may ever have sent. Epochs are current or old, and times are
// remaining or elapsed units, so that the number of states is finite.

import type { Database, Owner, WriteKind } from "./database.ts";

export const NODES = ["A", "B"] as const;
export type NodeName = (typeof NODES)[number];

/** A turn that a node runs and has not stopped. */
export interface Run {
  /** Whether the session's epoch was raised since. */
  readonly isOld: boolean;
  /** Units for which its node still trusts the lease. */
  readonly held: number;
  /** Steps known to be stored. */
  readonly steps: number;
}

/** An answer that a node has not received yet. */
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
  /** The answer that the lease was renewed: units since the renewal was sent. */
  readonly renewal: number | null;
  /** The answer that the run's next step was stored. */
  readonly isWritten: boolean;
}

/** A write of an ended run that may still reach the database. */
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

/** Returns the next write of a run. */
export function nextWrite({ steps }: Run): WriteKind {
  return steps === 0 ? "step" : "complete";
}
