// Work that is owed and survives a crash: titles, the retention of idempotency keys, and what one process does for all that share the store.

import type { Committed } from "./session-store.ts";

/** A session whose title is to be generated. */
export interface TitleJob {
  readonly sessionId: string;
  readonly life: string;
  readonly app: string;
  readonly utilityModel: string | null;
  /** The session's first user message. */
  readonly text: string;
}

export interface JobStore {
  /**
   * Title jobs that are due, at most `limit`; each is then not due again for `leaseMs`, so that one process works on it.
   * A chat that creates a job gives it to the process that took the chat, for the same time.
   */
  claimTitles(limit: number, leaseMs: number): Promise<readonly TitleJob[]>;
  /** Sets the title if nobody else did and ends the job; `null` when that life of the session is over. */
  finishTitle(sessionId: string, life: string, title: string): Promise<Committed<"ok"> | null>;
  /** Whether a chat of the session was accepted under this idempotency key in the last 24 hours: another one would add nothing. */
  isKeyUsed(sessionId: string, key: string): Promise<boolean>;
  /** Forgets idempotency keys older than 24 hours, at most `limit`. Answers how many. */
  forgetIdempotencyKeys(limit: number): Promise<number>;
  /**
   * The store's time when the caller is the one who does this duty now, `null` when somebody else is; then nobody else is for `heldMs`, on
   * the store's clock. Whoever takes it may die over it: the next one who asks when that time is over does it again.
   */
  takeDuty(name: string, heldMs: number): Promise<number | null>;
}
