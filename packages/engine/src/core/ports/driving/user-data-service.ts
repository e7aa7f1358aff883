import type { Action, PersistedMessage, Thread } from "@colloquy/protocol";
import type { JsonObject } from "../../json.ts";

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
