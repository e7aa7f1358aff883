// Secrets in the store: sealed before they come here.

export interface SealedSecret {
  readonly app: string;
  readonly clientId: string;
  readonly name: string;
  /** Which master key sealed it. */
  readonly keyId: string;
  /** Nonce, ciphertext and tag, base64. */
  readonly sealed: string;
}

export interface SecretStore {
  /** Sets or replaces them all, or none. */
  put(secrets: readonly SealedSecret[]): Promise<void>;
  of(app: string, clientId: string): Promise<readonly SealedSecret[]>;
  /** Removes one slot, or with `name: null` all of them; answers how many there were. */
  remove(app: string, clientId: string, name: string | null): Promise<number>;
  /** Up to `limit` secrets that another master key than `keyId` has sealed, in any order. */
  sealedByOthers(keyId: string, limit: number): Promise<readonly SealedSecret[]>;
  /** Replaces `before` by `after` unless it was changed meanwhile; answers whether it did. */
  reseal(before: SealedSecret, after: SealedSecret): Promise<boolean>;
}
