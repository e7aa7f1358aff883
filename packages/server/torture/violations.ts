// Violations found, each reported once.

export const VIOLATION_KINDS = [
  "lost",
  "doubled",
  "disordered",
  "stuck",
  "unanswered",
  "answered twice",
  "fold mismatch",
  /** Text or fields of a session changed after the answer that sealed them. */
  "changed after sealed",
  "two turns at once",
  /** Two clients held a call at once, or a client ended a call that it did not hold. */
  "claimed twice",
  /** Two decisions of an action count, or another one than the acknowledged. */
  "decided twice",
  /** Somebody who must not decide an action has decided it, or sees it in a list. */
  "forbidden decision",
  /** A call has run twice or without an approval, or has another outcome than its decision. */
  "forbidden effect",
  /** A decided action is shown as pending. */
  "still pending",
  /** Something of a deleted incarnation, or a message that nobody sent, is visible. */
  "foreign message",
  /** An acknowledged title or user state is gone. */
  "forgotten setting",
  /** An answer that the contract does not allow, or a server that ended by itself. */
  "wrong answer",
  /** A former owner has written under an old epoch into a turn owned by another process. */
  "old epoch",
  /** A process continues turns although its leases have expired. */
  "ran on",
  /** The event numbers of a session have a gap, or an event was changed. */
  "broken log",
] as const;

export type ViolationKind = (typeof VIOLATION_KINDS)[number];

export interface Violation {
  readonly kind: ViolationKind;
  readonly sessionId: string;
  readonly detail: string;
}

export class Violations {
  readonly #seen = new Set<string>();
  readonly #all: Violation[] = [];
  readonly #onFound: ((violation: Violation) => void) | null;

  /** `onFound` receives each violation at once, so that a run can end at the first one. */
  constructor(onFound: ((violation: Violation) => void) | null = null) {
    this.#onFound = onFound;
  }

  /** Records a violation. The same kind, session and `about` count once. */
  add(kind: ViolationKind, sessionId: string, about: string, detail: string): void {
    const key = `${kind} ${sessionId} ${about}`;
    if (this.#seen.has(key)) return;
    this.#seen.add(key);
    const violation = { kind, sessionId, detail: `${about}: ${detail}` };
    this.#all.push(violation);
    this.#onFound?.(violation);
  }

  get all(): readonly Violation[] {
    return this.#all;
  }

  count(kind: ViolationKind): number {
    return this.#all.filter((violation) => violation.kind === kind).length;
  }
}
