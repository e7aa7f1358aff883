// What went wrong, each thing once.

export const VIOLATION_KINDS = [
  "lost",
  "doubled",
  "disordered",
  "stuck",
  "unanswered",
  "answered twice",
  "fold mismatch",
  /** Text or a session's fields changed after the answer that sealed them. */
  "changed after sealed",
  "two turns at once",
  /** Something of a deleted life, or a message that nobody sent, is visible. */
  "foreign message",
  /** An acknowledged title or user state is gone. */
  "forgotten setting",
  /** An answer that the contract does not allow, or a server that ended by itself. */
  "wrong answer",
  /** The owner of an old epoch has written into a turn that another one has taken over. */
  "old epoch",
  /** A process goes on with turns although its leases have run out. */
  "ran on",
  /** The numbers of a session's events have a gap, or an event was changed. */
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

  /** `onFound` hears of each at once: a run that waits for a failure can then end. */
  constructor(onFound: ((violation: Violation) => void) | null = null) {
    this.#onFound = onFound;
  }

  /** Notes a violation. The same `about` of the same kind and session counts once however often it is seen. */
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
