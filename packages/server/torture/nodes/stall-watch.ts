// How long each session went without progress while it had work to do, measured while the run goes on, and against what was done to
// the very process that owned it: faults of others excuse nothing.

/** Work of one session, as the database has it. */
export interface Work {
  readonly sessionKey: number;
  /** Changes with whatever its turn does; not with what people send. */
  readonly mark: string;
  /** The process that has its lease; `null` where nobody has. */
  readonly owner: string | null;
}

/** A session that has stood still for longer than it may. */
export interface Stall {
  readonly sessionKey: number;
  readonly detail: string;
}

/** What is done to a process that keeps it from its work. */
export type Disturbance = "death" | "fault";

/** The turns of a process that has died go on elsewhere within this time (issue "Many machines", Failure), in milliseconds. */
export const AFTER_DEATH_MS = 15_000;
/** A session that stands still for longer than this is stuck, whatever was done to its owner; in milliseconds. */
export const STUCK_MS = 20_000;

interface Watched {
  readonly mark: string;
  /** When it was seen to have moved. */
  readonly movedAt: number;
  owner: string | null;
}

export class StallWatch {
  readonly #watched = new Map<number, Watched>();
  readonly #disturbed = new Map<string, { readonly kind: Disturbance; readonly at: number }>();
  /** Until then nobody could work. */
  #allDisturbedAt = Number.NEGATIVE_INFINITY;
  #looks = 0;
  #longestMs = 0;
  #longestAfterDeathMs = 0;

  /** How often work was looked at. */
  get looks(): number {
    return this.#looks;
  }

  /** Longest time without progress, of all sessions, since the last fault of its owner if that was later; in milliseconds. */
  get longestMs(): number {
    return this.#longestMs;
  }

  /** As above, of those alone whose owner had died. */
  get longestAfterDeathMs(): number {
    return this.#longestAfterDeathMs;
  }

  /** Something begins to be done to a process at this moment, on the monotonic clock in milliseconds. */
  disturb(owner: string, kind: Disturbance, at: number): void {
    this.#disturbed.set(owner, { kind, at });
  }

  /** The database cannot be reached at this moment: nobody can work. */
  disturbAll(at: number): void {
    this.#allDisturbedAt = at;
  }

  /** Takes all work that there is at this moment. Answers the sessions that have stood still for too long. */
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
    // When it has moved since it was seen last, nobody knows for how long it stood still.
    if (known?.mark !== mark) {
      this.#watched.set(sessionKey, { mark, owner: owner ?? known?.owner ?? null, movedAt: at });
      return [];
    }
    const stall = this.#measure(known, at);
    // Whoever had the lease last answers for what nobody has now.
    known.owner = owner ?? known.owner;
    return stall === null ? [] : [{ sessionKey, detail: stall }];
  }

  /** Says how long it has stood still when that is too long. */
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
