// Pending work that survives a crash: title jobs, expiry of idempotency keys, and duties that one node does for all.

/** A session that needs a title. */
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
   * Returns up to `limit` due title jobs and leases them for `leaseMs`. A chat that creates a job leases it to its own process for
   * the same time.
   */
  claimTitles(limit: number, leaseMs: number): Promise<readonly TitleJob[]>;
  /** Returns true if a chat of the session was accepted under this idempotency key in the last 24 hours. */
  isKeyUsed(sessionId: string, key: string): Promise<boolean>;
  /** Removes up to `limit` idempotency keys older than 24 hours; returns how many. */
  forgetIdempotencyKeys(limit: number): Promise<number>;
  /**
   * Takes a duty for `heldMs` on the store's clock. Returns the store's time, or `null` if another node holds it. If the holder dies,
   * the duty is taken again after that time.
   */
  takeDuty(name: string, heldMs: number): Promise<number | null>;
}
