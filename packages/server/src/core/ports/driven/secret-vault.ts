// Secrets that the users of an App's client have entrusted to it (contract section 4).

/** The values of one client of one App, by slot. Held no longer than the turn that needs them, and never printed. */
export type OpenSecrets = ReadonlyMap<string, string>;

export interface SecretVault {
  /** Whether there is a master key; without one every method rejects with `Unavailable` (503, `secrets_unavailable`). */
  readonly isOpen: boolean;
  /** Names of the slots that are set, in alphabetical order. */
  names(app: string, clientId: string): Promise<readonly string[]>;
  set(app: string, clientId: string, values: Readonly<Record<string, string>>): Promise<void>;
  /** Empties a slot, or with `null` all of them; answers how many were set. */
  remove(app: string, clientId: string, name: string | null): Promise<number>;
  open(app: string, clientId: string): Promise<OpenSecrets>;
}
