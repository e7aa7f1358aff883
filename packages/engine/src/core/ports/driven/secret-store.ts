// Sealed secrets. The store also records the active master key and rejects secrets sealed with another one,
// so that a process that missed a rotation cannot leave a secret that only a removed key opens.

import type { Actor, AuditEntry } from "../../audit.ts";

export interface SealedSecret {
  readonly app: string;
  readonly clientId: string;
  readonly name: string;
  /** Id of the master key that sealed it. */
  readonly keyId: string;
  /** Nonce, ciphertext and tag, base64. */
  readonly sealed: string;
}

export interface SecretStore {
  /**
   * Sets or replaces all secrets if the active key sealed them, and none otherwise. Returns the id of the
   * active key, `null` if there is none. If it is the id of the secrets' key, they were stored, together with
   * the audit entry.
   */
  put(secrets: readonly SealedSecret[], entry?: AuditEntry | null): Promise<string | null>;
  /** Sorted by name. */
  of(app: string, clientId: string): Promise<readonly SealedSecret[]>;
  /**
   * Removes one slot, or all slots if `name` is `null`. Returns how many were set. Stores the audit entry if
   * there were any.
   */
  remove(app: string, clientId: string, name: string | null, entry?: AuditEntry | null): Promise<number>;
  /** Returns the slots of a client in every App. */
  ofClient(clientId: string): Promise<readonly Pick<SealedSecret, "app" | "name">[]>;
  /** Returns the number of secrets per master key id. */
  countByKey(): Promise<Readonly<Record<string, number>>>;
  /** Returns the id of the active master key; `null` before the first. */
  keyInForce(): Promise<string | null>;
  /** Activates `keyId` if `before` is active (`null` for none) or no secret exists. Returns the id of the active key. */
  bringInForce(keyId: string, before: string | null): Promise<string>;
  /**
   * Returns up to `limit` secrets sealed by another master key than `keyId`, ordered by App, client and name, after `after`
   * (`null` for the first).
   */
  sealedByOthers(keyId: string, after: SealedSecret | null, limit: number): Promise<readonly SealedSecret[]>;
  /**
   * Replaces `before` by `after`, or removes it with `null`. Returns false if `before` was changed in the
   * meantime or `after` is not sealed by the active key.
   */
  replace(before: SealedSecret, after: SealedSecret | null): Promise<boolean>;
}

/** Values of one client of one App, by slot. Kept no longer than the turn, never printed. */
export type OpenSecrets = ReadonlyMap<string, string>;

/** A master key, from which the keys of other purposes are derived. */
interface SigningKey {
  readonly id: string;
  /** Returns 32 bytes, the same for the same purpose. */
  derive(purpose: string): Uint8Array;
}

/** The keys that sign this service's tokens, shared by all nodes. */
export interface SigningKeys {
  /** False if there is no master key. */
  readonly isOpen: boolean;
  /** Returns the key that signs, and creates it if there is none. Rejects with `Unavailable` if it cannot be read. */
  current(): Promise<SigningKey>;
  /** Returns a key that may have signed; `null` for an unknown one. */
  find(id: string): Promise<SigningKey | null>;
}

/** Changes by an actor are in the audit trail. Implemented, like `SigningKeys`, by `Vault` (apps/secrets/vault.ts). */
export interface SecretVault {
  /**
   * True if there is a master key; otherwise every method rejects with `Unavailable` (503,
   * `secrets_unavailable`).
   */
  readonly isOpen: boolean;
  /** Names of the slots that are set, in alphabetical order. */
  names(app: string, clientId: string): Promise<readonly string[]>;
  set(
    app: string,
    clientId: string,
    values: Readonly<Record<string, string>>,
    by?: Actor | null,
  ): Promise<void>;
  /** Empties a slot, or all slots if `name` is `null`. Returns how many were set. */
  remove(app: string, clientId: string, name: string | null, by?: Actor | null): Promise<number>;
  open(app: string, clientId: string): Promise<OpenSecrets>;
}
