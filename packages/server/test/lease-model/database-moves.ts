// Steps of the database in the model. It executes any request that a node can have sent, at any time and in
// any order. It also sweeps expired leases, and accepts interrupts from any client.

import { renew, sweep, type Decided, type Owner, type WriteKind } from "./database.ts";
import type { LeaseModelOptions, Step } from "./lease-model.ts";
import { NODES, nextWrite, put, type NodeName, type NodeState, type State } from "./state.ts";

export function databaseMoves(state: State, options: LeaseModelOptions): Step[] {
  return [
    ...NODES.flatMap((name) => [
      ...claimMoves(state, name, options),
      ...renewalMoves(state, name, options),
      ...writeMoves(state, name, options),
    ]),
    ...state.orphans.flatMap((_, index) => orphanMoves(state, index, options)),
    ...sweepMoves(state, options),
    ...interruptMoves(state, options),
  ];
}

/**
 * Claims of an awake node, or claims that a paused node sent before its pause. The claim of a dead node takes
 * the turn without an owner that runs it.
 */
function claimMoves(state: State, name: NodeName, { decisions, clock }: LeaseModelOptions): Step[] {
  const { database, nodes } = state;
  if (!database.runnable || nodes[name].claim !== null) return [];
  const decided = decisions.claim(database, name);
  const after = apply(state, decided);
  const node = after.nodes[name];
  const steps = ages(clock.oldest).map((age): Step => {
    const claim = decided.isTaken ? { age, isOld: false, steps: database.steps } : null;
    const to = put(after, name, { ...node, claim });
    return { name: `${name}'s claim, sent ${age} ago, is stored`, to };
  });
  const lost = apply(state, decisions.claim(database, "gone"));
  return [...steps, { name: "the claim of a dead node is stored", to: lost, isFault: true }];
}

/** Includes renewals of ended runs, which may be in flight. Their responses are lost. */
function renewalMoves(state: State, name: NodeName, { decisions, clock }: LeaseModelOptions): Step[] {
  const { run } = state.nodes[name];
  const decided = renew(state.database, name, decisions.leaseUnits);
  if (!decided.isTaken) return [];
  const after = apply(state, decided);
  const node = after.nodes[name];
  if (run === null || run.isOld || node.renewal !== null) {
    return [{ name: `an old renewal of ${name} is stored`, to: after, isFault: true }];
  }
  return ages(clock.oldest).map((age) => ({
    name: `${name}'s renewal, sent ${age} ago, is stored`,
    to: put(after, name, { ...node, renewal: age }),
  }));
}

function writeMoves(state: State, name: NodeName, { decisions }: LeaseModelOptions): Step[] {
  const { run } = state.nodes[name];
  if (run === null) return [];
  const kind = nextWrite(run);
  const decided = decisions.write(state.database, kind, run.isOld);
  if (!decided.isTaken) return [];
  const after = apply(state, decided);
  const to = put(after, name, { ...after.nodes[name], isWritten: true });
  return [{ name: `${name}'s ${kind} is stored`, to, broken: wronglyWritten(state, name, run.isOld, kind) }];
}

function orphanMoves(state: State, index: number, { decisions }: LeaseModelOptions): Step[] {
  const orphan = state.orphans[index];
  if (orphan === undefined) return [];
  const { kind, node, isOld } = orphan;
  const rest = { ...state, orphans: state.orphans.filter((_, other) => other !== index) };
  const gone: Step = { name: `an old ${kind} of ${node} is lost`, to: rest, isFault: true };
  const decided = decisions.write(state.database, kind, isOld);
  if (!decided.isTaken) return [gone];
  const broken = wronglyWritten(state, node, isOld, kind);
  return [gone, { name: `an old ${kind} of ${node} is stored`, to: apply(rest, decided), broken }];
}

function sweepMoves(state: State, { sweepAhead = 0 }: LeaseModelOptions): Step[] {
  const decided = sweep(state.database, sweepAhead);
  return decided.isTaken ? [{ name: "the lease is swept", to: apply(state, decided) }] : [];
}

/**
 * Any node may interrupt. An interrupt counts as a fault here, because turns must be able to end without it.
 */
function interruptMoves(state: State, { decisions }: LeaseModelOptions): Step[] {
  if (state.database.turn === "ended") return [];
  return [
    { name: "somebody interrupts", to: apply(state, decisions.interrupt(state.database)), isFault: true },
  ];
}

function wronglyWritten({ database }: State, writer: Owner, isOld: boolean, kind: WriteKind): string | null {
  if (isOld) return `a ${kind} of an old epoch was committed`;
  if (database.claimant !== writer) return `a ${kind} was committed by another than the epoch's owner`;
  if (database.turn === "ended") return `a ${kind} was committed after the end of its turn`;
  if (database.lease === null || database.lease.left === 0)
    return `a ${kind} was committed under a lease that had run out`;
  return null;
}

/** Applies the decision. If it raised the session's epoch, everything from before is old. */
function apply(state: State, { database, isRaised }: Decided): State {
  if (!isRaised) return { ...state, database };
  const node = ({ run, claim, ...other }: NodeState): NodeState => ({
    ...other,
    run: run && { ...run, isOld: true },
    claim: claim && { ...claim, isOld: true },
  });
  return {
    database,
    nodes: { A: node(state.nodes.A), B: node(state.nodes.B) },
    orphans: state.orphans.map((orphan) => ({ ...orphan, isOld: true })),
  };
}

function ages(oldest: number): readonly number[] {
  return Array.from({ length: oldest + 1 }, (_, age) => age);
}
