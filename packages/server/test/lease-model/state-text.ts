// Encodes a state as a short string, with several numbers per character, for millions of lookups.

import type { Database, Owner } from "./database.ts";
import type { ClaimAnswer, NodeState, Orphan, Run, State } from "./state.ts";

const TURNS = ["queued", "running", "ended"] as const;
const OWNERS = ["A", "B", "gone"] as const;
const KINDS = ["step", "complete"] as const;
/** Offset of the trusted time, which may be negative; parts of a character may not. */
const HELD_SHIFT = 8;
const ORPHANS_AT = 5;

/** Returns equal strings for equal states. */
export function encode({ database, nodes: { A, B }, orphans }: State): string {
  const numbers = [packDatabase(database), packRun(A), packAnswers(A), packRun(B), packAnswers(B)];
  // Requests overtake each other, so their order is irrelevant.
  if (orphans.length > 0) numbers.push(...orphans.map(packOrphan).toSorted((one, other) => one - other));
  return String.fromCharCode(...numbers);
}

export function decode(text: string): State {
  const orphans: Orphan[] = [];
  for (let at = ORPHANS_AT; at < text.length; at += 1) orphans.push(unpackOrphan(text.charCodeAt(at)));
  return {
    database: unpackDatabase(text.charCodeAt(0)),
    nodes: {
      A: unpackNode(text.charCodeAt(1), text.charCodeAt(2)),
      B: unpackNode(text.charCodeAt(3), text.charCodeAt(4)),
    },
    orphans,
  };
}

/** Appends a number of `bits` bits to `before`. */
function pack(before: number, number: number, bits: number): number {
  if (number >> bits !== 0) throw new Error(`${number} needs more than ${bits} bits of a state's text`);
  return (before << bits) | number;
}

/** Encodes a database in 16 bits. */
export function packDatabase(database: Database): number {
  const { turn, runnable, attempts, steps, lease, claimant } = database;
  let packed = TURNS.indexOf(turn);
  packed = pack(packed, Number(runnable), 1);
  packed = pack(packed, attempts, 3);
  packed = pack(packed, steps, 2);
  packed = pack(packed, lease === null ? 0 : OWNERS.indexOf(lease.owner) + 1, 2);
  packed = pack(packed, lease === null ? 0 : lease.left, 4);
  return pack(packed, claimant === null ? 0 : OWNERS.indexOf(claimant) + 1, 2);
}

function unpackDatabase(packed: number): Database {
  const owner = (packed >> 6) & 3;
  const claimant = packed & 3;
  return {
    turn: TURNS[packed >> 14] ?? "ended",
    runnable: ((packed >> 13) & 1) === 1,
    attempts: (packed >> 10) & 7,
    steps: (packed >> 8) & 3,
    lease: owner === 0 ? null : { owner: ownerAt(owner - 1), left: (packed >> 2) & 15 },
    claimant: claimant === 0 ? null : ownerAt(claimant - 1),
  };
}

function packRun({ isPaused, isWritten, run }: NodeState): number {
  const packed = pack(pack(Number(isPaused), Number(isWritten), 1), Number(run !== null), 1);
  if (run === null) return packed << 8;
  return pack(pack(pack(packed, Number(run.isOld), 1), run.held + HELD_SHIFT, 5), run.steps, 2);
}

function packAnswers({ claim, renewal }: NodeState): number {
  const packed = pack(renewal === null ? 0 : 1, renewal ?? 0, 5);
  if (claim === null) return packed << 8;
  return pack(pack(pack(pack(packed, 1, 1), Number(claim.isOld), 1), claim.age, 4), claim.steps, 2);
}

function unpackNode(packedRun: number, packedAnswers: number): NodeState {
  return {
    isPaused: packedRun >> 10 === 1,
    isWritten: ((packedRun >> 9) & 1) === 1,
    run: unpackRun(packedRun),
    claim: unpackClaim(packedAnswers),
    renewal: packedAnswers >> 13 === 0 ? null : (packedAnswers >> 8) & 31,
  };
}

function unpackRun(packed: number): Run | null {
  if (((packed >> 8) & 1) === 0) return null;
  return { isOld: ((packed >> 7) & 1) === 1, held: ((packed >> 2) & 31) - HELD_SHIFT, steps: packed & 3 };
}

function unpackClaim(packed: number): ClaimAnswer | null {
  if (((packed >> 7) & 1) === 0) return null;
  return { isOld: ((packed >> 6) & 1) === 1, age: (packed >> 2) & 15, steps: packed & 3 };
}

function packOrphan({ kind, node, isOld }: Orphan): number {
  return pack(pack(KINDS.indexOf(kind), OWNERS.indexOf(node), 2), Number(isOld), 1);
}

function unpackOrphan(packed: number): Orphan {
  const kind = KINDS[packed >> 3] ?? "step";
  return { kind, node: ownerAt((packed >> 1) & 3), isOld: (packed & 1) === 1 };
}

function ownerAt(number: number): Owner {
  return OWNERS[number] ?? "gone";
}
