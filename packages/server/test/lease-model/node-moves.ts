// Moves of a node: receiving answers, acting and failing.

import type { LeaseModelOptions, Step } from "./lease-model.ts";
import { IDLE, NODES, nextWrite, put, type NodeName, type Orphan, type Run, type State } from "./state.ts";

export function nodeMoves(state: State, name: NodeName, options: LeaseModelOptions): Step[] {
  const node = state.nodes[name];
  // Turns must be able to end without a paused node, so its moves count as faults.
  if (node.isPaused) {
    return [{ name: `${name} goes on`, to: put(state, name, { ...node, isPaused: false }), isFault: true }];
  }
  return [
    ...answerMoves(state, name, options),
    ...stopMoves(state, name, options),
    ...failures(state, name, options),
  ];
}

function answerMoves(state: State, name: NodeName, options: LeaseModelOptions): Step[] {
  const node = state.nodes[name];
  const { claim, renewal, isWritten, run } = node;
  const steps: Step[] = [];
  if (claim !== null) {
    const { isOld, age, steps: done } = claim;
    // The claim's commit supersedes this node's run of an older epoch.
    const before = stopped(put(state, name, { ...node, claim: null }), name, options);
    const started = { isOld, held: options.clock.heldAfterClaim(age), steps: done };
    const to = put(before, name, { ...before.nodes[name], run: started });
    steps.push({ name: `${name} hears that it has the turn`, to });
  }
  if (run !== null && renewal !== null) {
    const held = options.clock.heldAfterRenewal(renewal);
    const to = put(state, name, { ...node, renewal: null, run: { ...run, held } });
    steps.push({ name: `${name} hears that its lease is renewed`, to });
  }
  if (run !== null && isWritten) {
    const heard = { ...node, isWritten: false };
    const to =
      run.steps === 0
        ? put(state, name, { ...heard, run: { ...run, steps: 1 } })
        : stopped(put(state, name, heard), name, options);
    steps.push({ name: `${name} hears that its ${nextWrite(run)} is stored`, to });
  }
  return steps;
}

/** Ends a run: after checking the clock, or after the answer to a write or renewal. */
function stopMoves(state: State, name: NodeName, options: LeaseModelOptions): Step[] {
  const { run } = state.nodes[name];
  if (run === null) return [];
  const steps: Step[] = [];
  const to = stopped(state, name, options);
  if (options.clock.stops(run.held)) steps.push({ name: `${name} looks at its clock and stops`, to });
  const { lease } = state.database;
  const isLost = run.isOld || lease === null || lease.owner !== name || lease.left === 0;
  if (isLost) steps.push({ name: `${name} hears that the turn is no longer its own`, to });
  return steps;
}

/** Ends the run; its writes may still reach the database. */
function stopped(state: State, name: NodeName, options: LeaseModelOptions): State {
  const node = state.nodes[name];
  const without = put(state, name, { ...node, run: null, renewal: null, isWritten: false });
  return node.run === null ? without : withOrphan(without, node.run, name, options);
}

function withOrphan(
  state: State,
  run: Run,
  node: Orphan["node"],
  { orphans: most }: LeaseModelOptions,
): State {
  if (state.orphans.length >= most) return state;
  return { ...state, orphans: [...state.orphans, { kind: nextWrite(run), node, isOld: run.isOld }] };
}

/** A pause, a crash, a lost answer. */
function failures(state: State, name: NodeName, options: LeaseModelOptions): Step[] {
  const node = state.nodes[name];
  const steps: Step[] = [];
  const fault = (what: string, to: State): unknown =>
    steps.push({ name: `${name}${what}`, to, isFault: true });
  if (!NODES.some((other) => state.nodes[other].isPaused)) {
    fault(" is paused", put(state, name, { ...node, isPaused: true }));
  }
  if (node.claim !== null)
    fault("'s claim fails, although it is stored", put(state, name, { ...node, claim: null }));
  if (node.renewal !== null)
    fault("'s renewal fails, although it is stored", put(state, name, { ...node, renewal: null }));
  if (node.isWritten)
    fault("'s write fails, although it is stored", put(state, name, { ...node, isWritten: false }));
  if (node.run !== null || node.claim !== null) fault(" dies and comes back", dead(state, name, options));
  return steps;
}

/** A restarted process is another owner. */
function dead(state: State, name: NodeName, options: LeaseModelOptions): State {
  const { database } = state;
  const { run } = state.nodes[name];
  const left = put(state, name, IDLE);
  const { orphans, nodes } = run === null ? left : withOrphan(left, run, name, options);
  return {
    nodes,
    orphans: orphans.map((orphan) => (orphan.node === name ? { ...orphan, node: "gone" } : orphan)),
    database: {
      ...database,
      lease: database.lease?.owner === name ? { ...database.lease, owner: "gone" } : database.lease,
      claimant: database.claimant === name ? "gone" : database.claimant,
    },
  };
}
