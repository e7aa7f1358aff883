// App keys as the edge checks them (interface specification, "Authentication"; contract section 4).

/** A valid key. */
export interface KeyGrant {
  readonly keyId: string;
  readonly apps: ReadonlySet<string>;
  /** When the store was queried, on the monotonic clock in milliseconds; its answer held then or later. */
  readonly askedAt: number;
}

export interface AppKeys {
  /**
   * Returns what a key opens, `null` if it is malformed, unknown, revoked or expired. Sees revocations by any process within 5 s.
   * Rejects with `Unavailable` if the store fails.
   */
  check(key: string): Promise<KeyGrant | null>;
}
