import type { Action, PersistedMessage, Thread } from "@colloquy/protocol";
import type { Actor } from "../../audit.ts";
import type { JsonObject } from "../../json.ts";
import type { SessionsOf } from "../driven/session-store.ts";

/** A line of an export. The last one is `done`: without it, the export is incomplete. */
export type ExportLine =
  | {
      readonly kind: "session";
      readonly session: Thread & {
        readonly user_state: JsonObject | null;
        readonly public_key: string | null;
      };
    }
  | { readonly kind: "message"; readonly message: PersistedMessage }
  | { readonly kind: "action"; readonly session_id: string; readonly action: Action }
  | { readonly kind: "secret"; readonly app: string; readonly name: string }
  | {
      readonly kind: "done";
      readonly sessions: number;
      readonly messages: number;
      readonly actions: number;
      readonly secrets: number;
    };

/** Numbers of erased records. */
export interface Erased {
  readonly sessions: number;
  readonly messages: number;
  /** Secrets of the user; a wallet has none. */
  readonly secrets: number;
}

/** Implemented by `UserData` (sessions/user-data.ts). */
export interface UserDataService {
  /** Reads one session after the other, as fast as the caller takes the lines. */
  export(whose: SessionsOf, by: Actor): AsyncIterable<ExportLine>;
  /**
   * Deletes all sessions and secrets, and the salt of the user's pseudonym in the audit trail. After a
   * partial failure, call it again.
   * @throws Unavailable 503 `not_purged` if the write-ahead log may still contain deleted text
   */
  erase(whose: SessionsOf, by: Actor): Promise<Erased>;
}
