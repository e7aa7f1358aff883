// Secrets in the store: sealed before they come here. The store also knows which master key is in force: whoever seals with another one
// is refused, so that no process, however late it hears of a rotation, can leave a secret behind that only a dropped key opens.

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
  /**
   * Sets or replaces them all when the key in force has sealed them, else none. Answers the id of the key in force, `null` when none is
   * yet: they were written exactly when that is theirs.
   */
  put(secrets: readonly SealedSecret[]): Promise<string | null>;
  /** In the order of their names. */
  of(app: string, clientId: string): Promise<readonly SealedSecret[]>;
  /** Removes one slot, or with `name: null` all of them; answers how many there were. */
  remove(app: string, clientId: string, name: string | null): Promise<number>;
  /** How many secrets each master key has sealed, by its id. */
  countByKey(): Promise<Readonly<Record<string, number>>>;
  keyInForce(): Promise<string | null>;
  /**
   * Brings `keyId` in force where `before` is (`null` for none), or where no secret is kept. Answers the id of the key that is in force
   * now.
   */
  bringInForce(keyId: string, before: string | null): Promise<string>;
  /**
   * Up to `limit` secrets that another master key than `keyId` has sealed, in the order of App, client and name, from behind `after`
   * (`null` for the first).
   */
  sealedByOthers(keyId: string, after: SealedSecret | null, limit: number): Promise<readonly SealedSecret[]>;
  /**
   * Puts `after` in the place of `before`, or with `null` nothing; answers whether it did. It does not when `before` was changed
   * meanwhile, or when `after` is sealed by a key that is not in force.
   */
  replace(before: SealedSecret, after: SealedSecret | null): Promise<boolean>;
}
