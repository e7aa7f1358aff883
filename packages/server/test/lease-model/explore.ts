// An explicit-state model checker: visits every reachable state breadth first, so that the path to a
// violation is shortest.

export interface Move<State> {
  readonly name: string;
  readonly to: State;
  /** Whether it is a failure: liveness must hold without it. */
  readonly isFault: boolean;
  /** The property that this move violates; `null` if none. */
  readonly broken: string | null;
}

export interface Model<State> {
  readonly initial: State;
  moves(state: State): readonly Move<State>[];
  /** Returns the property that this state violates; `null` if none. */
  brokenIn(state: State): string | null;
  isEnd(state: State): boolean;
  encode(state: State): string;
  decode(text: string): State;
}

export interface Finding {
  readonly what: string;
  /** The moves from the initial state. */
  readonly path: readonly string[];
}

export interface Exploration {
  readonly states: number;
  readonly moves: number;
  /** The first violation, which ends the exploration; `null` if there is none. */
  readonly broken: Finding | null;
  /** A state from which no end is reachable without a fault; `null` if there is none. */
  readonly stuck: Finding | null;
}

interface Visited {
  readonly keys: string[];
  /** For each state its predecessor and the move from there. */
  readonly parents: number[];
  readonly names: string[];
}

/**
 * Explores the whole model. Throws if it has more than `limit` states: an incomplete search proves nothing.
 */
export function explore<State>(model: Model<State>, limit = 4_000_000): Exploration {
  const first = model.encode(model.initial);
  const visited: Visited = { keys: [first], parents: [-1], names: [""] };
  const known = new Map([[first, 0]]);
  /** Moves without a fault, as pairs of states. */
  const from: number[] = [];
  const to: number[] = [];
  const ends: number[] = [];
  let moves = 0;
  for (let at = 0; at < visited.keys.length; at += 1) {
    const state = model.decode(visited.keys[at] ?? first);
    const result = (broken: Finding): Exploration => ({
      states: visited.keys.length,
      moves,
      broken,
      stuck: null,
    });
    const broken = model.brokenIn(state);
    if (broken !== null) return result({ what: broken, path: pathTo(visited, at) });
    if (model.isEnd(state)) ends.push(at);
    for (const move of model.moves(state)) {
      moves += 1;
      if (move.broken !== null)
        return result({ what: move.broken, path: [...pathTo(visited, at), move.name] });
      const next = place(model.encode(move.to), at, move.name, visited, known);
      if (next >= limit) throw new Error(`The model has more than ${limit} states`);
      if (move.isFault) continue;
      from.push(at);
      to.push(next);
    }
  }
  return {
    states: visited.keys.length,
    moves,
    broken: null,
    stuck: findStuck(visited, from, to, ends),
  };
}

function place(
  key: string,
  parent: number,
  name: string,
  visited: Visited,
  known: Map<string, number>,
): number {
  const found = known.get(key);
  if (found !== undefined) return found;
  const at = visited.keys.length;
  known.set(key, at);
  visited.keys.push(key);
  visited.parents.push(parent);
  visited.names.push(name);
  return at;
}

/** Walks back from the ends; states that it does not reach can never end. */
function findStuck(
  visited: Visited,
  from: readonly number[],
  to: readonly number[],
  ends: readonly number[],
): Finding | null {
  const canEnd = new Uint8Array(visited.keys.length);
  for (const end of ends) canEnd[end] = 1;
  for (let changed = true; changed; ) {
    changed = false;
    // Backwards, because moves were found in forward order.
    for (let at = from.length - 1; at >= 0; at -= 1) {
      const [start, end] = [from[at] ?? 0, to[at] ?? 0];
      if (canEnd[start] === 1 || canEnd[end] === 0) continue;
      canEnd[start] = 1;
      changed = true;
    }
  }
  const stuck = canEnd.indexOf(0);
  return stuck === -1 ? null : { what: "the turn can never end", path: pathTo(visited, stuck) };
}

function pathTo({ parents, names }: Visited, state: number): readonly string[] {
  const path: string[] = [];
  for (let at = state; at > 0; at = parents[at] ?? 0) path.push(names[at] ?? "");
  return path.toReversed();
}
