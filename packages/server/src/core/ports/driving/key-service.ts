import type { AppKeyRecord } from "../driven/key-store.ts";

/** A key as lists show it. Times are milliseconds since the Unix epoch. */
export interface ListedKey extends Omit<AppKeyRecord, "digest"> {
  readonly status: "good" | "revoked" | "expired";
}

export interface IssuedKey extends ListedKey {
  /** The whole key: shown this once, kept nowhere. */
  readonly key: string;
}

/** What an operator does with keys. */
export interface KeyService {
  /**
   * Makes a key. `expiresInMs` in milliseconds from now, `null` for never.
   * @throws InvalidRequest when there is no App to open, or one is not configured or needs no key
   */
  create(input: {
    readonly apps: readonly string[];
    readonly name: string | null;
    readonly expiresInMs: number | null;
  }): Promise<IssuedKey>;
  /** All keys that were ever made, oldest first. */
  list(): Promise<readonly ListedKey[]>;
  /** The key opens nothing any more, within five seconds everywhere. @throws NotFound */
  revoke(id: string): Promise<ListedKey>;
  /**
   * Makes a key that opens the same Apps for as long as the old one was made for. The old one ends `overlapMs` milliseconds from now.
   * @throws NotFound when there is no such key, or it has ended
   */
  rotate(id: string, overlapMs: number): Promise<IssuedKey>;
}
