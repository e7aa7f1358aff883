// Measures how long sessions with work make no progress during the run. The time counts from the last fault
// of the session's own owner; faults of other processes are no excuse.

/** Work of one session, as read from the database. */
export interface Work {
  readonly sessionKey: number;
  /** Changes with every step of its turn, but not with new messages. */
  readonly mark: string;
  /** The process that holds the session's lease; `null` if none. */
  readonly owner: string | null;
}

/** A session without progress for too long. */
export interface Stall {
  readonly sessionKey: number;
  readonly detail: string;
}

/** A fault that keeps a process from working. */
export type Disturbance = "death" | "fault";

/** Milliseconds within which the turns of a dead process must continue elsewhere. */
export const AFTER_DEATH_MS = 15_000;
/** Milliseconds without progress after which a session is stuck, whatever its owner's faults. */
export const STUCK_MS = 20_000;

interface Watched {
  readonly mark: string;
  /** When progress was last observed. */
  movedAt: number;
  owner: string | null;
}

export class StallWatch {
  readonly #watched = new Map<number, Watched>();
  readonly #disturbed = new Map<string, { readonly kind: Disturbance; at: number }>();
  /** No node could work until this time. */
  #allDisturbedAt = Number.NEGATIVE_INFINITY;
  #looks = 0;
  #longestMs = 0;
  #longestAfterDeathMs = 0;

  /** Number of observations. */
  get looks(): number {
    return this.#looks;
  }

  /**
   * Longest time without progress over all sessions, counted from the owner's last fault if later; in
   * milliseconds.
   */
  get longestMs(): number {
    return this.#longestMs;
  }

  /** Like `longestMs`, only for sessions whose owner had died. */
  get longestAfterDeathMs(): number {
    return this.#longestAfterDeathMs;
  }

  /** Records the start of a process's fault, at a monotonic time in milliseconds. */
  disturb(owner: string, kind: Disturbance, at: number): void {
    this.#disturbed.set(owner, { kind, at });
  }

  /** Records that the database is unreachable: no node can work. */
  disturbAll(at: number): void {
    this.#allDisturbedAt = at;
  }

  /** Records that the machine stood still for this time, and all processes with it. */
  excuse(ms: number): void {
    for (const one of this.#watched.values()) one.movedAt += ms;
    for (const one of this.#disturbed.values()) one.at += ms;
    this.#allDisturbedAt += ms;
  }

  /** Observes all current work. Returns the sessions that made no progress for too long. */
  look(works: readonly Work[], at: number): readonly Stall[] {
    this.#looks += 1;
    const present = new Set(works.map(({ sessionKey }) => sessionKey));
    for (const key of this.#watched.keys()) {
      if (!present.has(key)) this.#watched.delete(key);
    }
    return works.flatMap((work) => this.#lookAt(work, at));
  }

  #lookAt({ sessionKey, mark, owner }: Work, at: number): readonly Stall[] {
    const known = this.#watched.get(sessionKey);
    // There was progress between two observations, so the time without progress is unknown.
    if (known?.mark !== mark) {
      this.#watched.set(sessionKey, { mark, owner: owner ?? known?.owner ?? null, movedAt: at });
      return [];
    }
    const stall = this.#measure(known, at);
    // A session without an owner keeps its last one.
    known.owner = owner ?? known.owner;
    return stall === null ? [] : [{ sessionKey, detail: stall }];
  }

  /**
   * Returns how long a session has made no progress, as a sentence, if that is too long; `null` otherwise.
   */
  #measure({ owner, movedAt }: Watched, at: number): string | null {
    const disturbed = owner === null ? undefined : this.#disturbed.get(owner);
    const isDead = disturbed?.kind === "death";
    const since = Math.max(movedAt, disturbed?.at ?? movedAt, this.#allDisturbedAt);
    const ms = at - since;
    this.#longestMs = Math.max(this.#longestMs, ms);
    if (isDead) this.#longestAfterDeathMs = Math.max(this.#longestAfterDeathMs, ms);
    if (ms <= (isDead ? AFTER_DEATH_MS : STUCK_MS)) return null;
    const why = isDead ? "has died" : disturbed === undefined ? "had no fault" : "had a fault";
    return `did not move for ${(ms / 1000).toFixed(1)} s; its owner ${owner ?? "nobody"} ${why}`;
  }
}
