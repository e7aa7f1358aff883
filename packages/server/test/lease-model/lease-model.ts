// The protocol of leases and epochs (docs/adr/0003, 0018) as moves of two nodes and a database. Modelled
// nodes are freer than real ones: they renew, claim and write at any time, and their messages take any time
// or get lost.

import type { DatabaseDecisions } from "./database.ts";
import { databaseMoves } from "./database-moves.ts";
import type { Model, Move } from "./explore.ts";
import { nodeMoves } from "./node-moves.ts";
import type { OwnerClock } from "./owner-clock.ts";
import { IDLE, INITIAL, NODES, type NodeState, type State } from "./state.ts";
import { decode, encode } from "./state-text.ts";

export interface LeaseModelOptions {
  readonly decisions: DatabaseDecisions;
  readonly clock: OwnerClock;
  /** Maximum number of in-flight writes of ended runs. */
  readonly orphans: number;
  /** Units by which the sweeping clock may be ahead of the database's; 0 if it is the database's own. */
  readonly sweepAhead?: number;
}

/** A move before its own properties are checked. */
export type Step = Omit<Move<State>, "isFault" | "broken"> & Partial<Pick<Move<State>, "isFault" | "broken">>;

export function leaseModel(options: LeaseModelOptions): Model<State> {
  return {
    initial: INITIAL,
    moves: (state) => stepsFrom(state, options).map(asMove),
    brokenIn: (state) => (options.clock.isReliable ? wronglyTrusted(state, options) : null),
    isEnd: ({ database }) => database.turn === "ended",
    encode: (state) => encode(withoutWhatIsOver(state)),
    decode,
  };
}

function asMove({ name, to, isFault = false, broken = null }: Step): Move<State> {
  return { name, to, isFault, broken };
}

/** Once the turn has ended, only the in-flight writes matter. */
function stepsFrom(state: State, options: LeaseModelOptions): Step[] {
  const moves = databaseMoves(state, options);
  if (state.database.turn === "ended") return moves;
  return [
    ...NODES.flatMap((name) => nodeMoves(state, name, options)),
    ...moves,
    ...timeMoves(state, options),
  ];
}

function withoutWhatIsOver(state: State): State {
  if (state.database.turn !== "ended") return state;
  const rest = ({ run }: NodeState): NodeState =>
    run === null ? IDLE : { ...IDLE, run: { ...run, held: 0 } };
  return { ...state, nodes: { A: rest(state.nodes.A), B: rest(state.nodes.B) } };
}

/**
 * While an owner trusts its lease, and at the moment it stops, nobody else can have the turn: the lease is
 * its own and not expired. An ended turn has no owner: an interrupt may end it under its owner.
 */
function wronglyTrusted({ database, nodes }: State, { clock }: LeaseModelOptions): string | null {
  if (database.turn === "ended") return null;
  for (const name of NODES) {
    const { run } = nodes[name];
    if (run === null || (run.held < 0 && clock.stops(run.held))) continue;
    const { lease } = database;
    if (!run.isOld && lease !== null && lease.owner === name && lease.left > 0) continue;
    return `${name} still trusts a lease that it no longer has`;
  }
  return null;
}

/** One unit of time passes, unless an awake owner must check its clock first. */
function timeMoves(state: State, options: LeaseModelOptions): Step[] {
  const { clock } = options;
  const { A, B } = state.nodes;
  const mustLook = ({ isPaused, run }: NodeState): boolean =>
    !isPaused && run !== null && run.held < 0 && clock.stops(run.held);
  if (mustLook(A) || mustLook(B)) return [];
  const { database } = state;
  const lease = database.lease && { ...database.lease, left: Math.max(0, database.lease.left - 1) };
  const nodes = { A: older(A, clock), B: older(B, clock) };
  return [{ name: "time passes", to: { ...state, database: { ...database, lease }, nodes } }];
}

function older(node: NodeState, clock: OwnerClock): NodeState {
  const older = (age: number): number => Math.min(clock.oldest, age + 1);
  return {
    ...node,
    run: node.run && { ...node.run, held: Math.max(clock.leastHeld, node.run.held - 1) },
    claim: node.claim && { ...node.claim, age: older(node.claim.age) },
    renewal: node.renewal === null ? null : older(node.renewal),
  };
}
