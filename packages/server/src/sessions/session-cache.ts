// Which sessions stay in memory. Least recently used first out, within a budget of bytes; sessions with nothing in them have a small
// budget of their own, so that a million requests with random ids push no conversation out and cost bounded memory.

import type { Session } from "./session.ts";

/** Memory of a live session beside its snapshot's bytes, roughly. */
const OVERHEAD_BYTES = 4096;
const MAX_EMPTY = 2048;

interface Entry {
  readonly session: Session;
  weight: number;
  /** Monotonic milliseconds. */
  usedAt: number;
}

export class SessionCache {
  /** Both in the order of use, the longest unused first. */
  readonly #filled = new Map<string, Entry>();
  readonly #empty = new Map<string, Entry>();
  readonly #budget: number;
  readonly #idleMs: number;
  readonly #monotonic: () => number;
  readonly #isWorkedOn: (session: Session) => boolean;
  readonly #onLeft: (session: Session) => void;
  /** The entry that was used last is where it belongs: a Map copies itself every few times when entries move in it, which costs a poll. */
  #newest: Entry | null = null;
  #weight = 0;

  /**
   * `budget` in bytes of snapshots; `idleMs` after which an unused session leaves; `isWorkedOn`: whether a turn of it runs here;
   * `onLeft` hears of each session that was not deleted but let go.
   */
  constructor(
    budget: number,
    idleMs: number,
    monotonic: () => number,
    isWorkedOn: (session: Session) => boolean,
    onLeft: (session: Session) => void,
  ) {
    this.#budget = budget;
    this.#idleMs = idleMs;
    this.#monotonic = monotonic;
    this.#isWorkedOn = isWorkedOn;
    this.#onLeft = onLeft;
  }

  get size(): number {
    return this.#filled.size + this.#empty.size;
  }

  /** Bytes of the snapshots in memory, with overhead. */
  get weight(): number {
    return this.#weight;
  }

  /** The session without counting this as use. */
  peek(id: string): Session | undefined {
    return (this.#filled.get(id) ?? this.#empty.get(id))?.session;
  }

  get(id: string): Session | undefined {
    const filled = this.#filled.get(id);
    const entry = filled ?? this.#empty.get(id);
    if (entry === undefined) return undefined;
    entry.usedAt = this.#monotonic();
    if (entry !== this.#newest) {
      const place = filled === undefined ? this.#empty : this.#filled;
      place.delete(id);
      place.set(id, entry);
      this.#newest = entry;
    }
    return entry.session;
  }

  /** Puts a session in, or weighs it anew after it changed. */
  put(session: Session): void {
    this.delete(session.id);
    const weight = session.weight + OVERHEAD_BYTES;
    const entry = { session, weight, usedAt: this.#monotonic() };
    this.#weight += weight;
    (session.isEmpty ? this.#empty : this.#filled).set(session.id, entry);
    this.#newest = entry;
    this.#evict();
  }

  delete(id: string): void {
    for (const place of [this.#filled, this.#empty]) {
      const entry = place.get(id);
      if (entry === undefined) continue;
      place.delete(id);
      if (entry === this.#newest) this.#newest = null;
      this.#weight -= entry.weight;
    }
  }

  /** All that are in memory now; they may be deleted meanwhile. */
  sessions(): readonly Session[] {
    return [...this.#filled.values(), ...this.#empty.values()].map(({ session }) => session);
  }

  /** Lets go of what nobody used for long. */
  dropIdle(): void {
    const before = this.#monotonic() - this.#idleMs;
    for (const place of [this.#filled, this.#empty]) {
      for (const entry of place.values()) {
        if (entry.usedAt > before) break;
        if (this.#mayLeave(entry.session)) this.#letGo(entry.session);
      }
    }
  }

  #evict(): void {
    for (const session of this.#leavers(this.#empty)) {
      if (this.#empty.size <= MAX_EMPTY) break;
      this.#letGo(session);
    }
    if (this.#weight <= this.#budget) return;
    for (const place of [this.#empty, this.#filled]) {
      for (const session of this.#leavers(place)) {
        if (this.#weight <= this.#budget) return;
        this.#letGo(session);
      }
    }
  }

  *#leavers(place: ReadonlyMap<string, Entry>): Generator<Session> {
    for (const { session } of place.values()) if (this.#mayLeave(session)) yield session;
  }

  #letGo(session: Session): void {
    this.delete(session.id);
    this.#onLeft(session);
  }

  /**
   * Text that streams here is nowhere else, and a session that is waited for must be found by what it waits for. Where nobody here works on
   * an answer, because it waits for a person or another process goes on with it, the store has all of it.
   */
  #mayLeave(session: Session): boolean {
    return !session.hasWaiters && !(session.isStreaming && this.#isWorkedOn(session));
  }
}
