// Secrets of Apps' users (contract section 4).

/** Values of one client of one App, by slot. Kept no longer than the turn, never printed. */
export type OpenSecrets = ReadonlyMap<string, string>;

export interface SecretVault {
  /** True if there is a master key; else every method rejects with `Unavailable` (503, `secrets_unavailable`). */
  readonly isOpen: boolean;
  /** Names of the slots that are set, in alphabetical order. */
  names(app: string, clientId: string): Promise<readonly string[]>;
  set(app: string, clientId: string, values: Readonly<Record<string, string>>): Promise<void>;
  /** Empties a slot, or all with `null`; returns how many were set. */
  remove(app: string, clientId: string, name: string | null): Promise<number>;
  open(app: string, clientId: string): Promise<OpenSecrets>;
}
