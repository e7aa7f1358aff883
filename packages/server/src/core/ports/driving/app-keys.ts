// Keys that open Apps (interface specification, "Authentication"; contract section 4), as the edge asks for them.

/** What a good key opens. */
export interface KeyGrant {
  readonly keyId: string;
  readonly apps: ReadonlySet<string>;
  /** When the store was asked, in milliseconds on the monotonic clock: what it answered was true then or later. */
  readonly askedAt: number;
}

export interface AppKeys {
  /**
   * What a key opens; `null` for one that is malformed, unknown, revoked or expired. A revocation, by whatever process, is seen within 5 s.
   * Rejects with `Unavailable` when the store fails.
   */
  check(key: string): Promise<KeyGrant | null>;
}
