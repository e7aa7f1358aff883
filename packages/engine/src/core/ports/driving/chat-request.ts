import type { JsonObject } from "../../json.ts";
import type { SessionAccess } from "../../session-access.ts";
import type { RequestedOptions } from "../../requested-options.ts";
import type { StreamPosition } from "../driven/event-hub.ts";
import type { MessageRange } from "./services.ts";

export interface ChatRequest {
  readonly sessionId: string;
  readonly access: SessionAccess;
  readonly app: string;
  readonly message: string;
  /** Ids of files of the session for the message; absent for none. */
  readonly attachments?: readonly string[];
  /** Id of the user message that this one replaces, together with all later messages; absent or `null` for none. */
  readonly replaces?: string | null;
  /**
   * Required id of the session's last message: otherwise the chat fails with a `Conflict` `message_not_last`.
   * Repeats of an idempotency key are exempt. Cannot be combined with `messageId`. Absent or `null` for no
   * requirement.
   */
  readonly follows?: string | null;
  /** Rig for this and later answers; absent or `null` for the session's. */
  readonly rig?: string | null;
  /**
   * Effect on a busy session in place of the App's `onBusy`, unless that is `reject`; absent or `null` for
   * the App's.
   */
  readonly busy?: "steer" | "enqueue" | "reject" | null;
  readonly publicKey: string | null;
  readonly userState: JsonObject | null;
  readonly clientId: string | null;
  /** Client tools and response schema, read after permission and budgets; absent for neither. */
  readonly options?: RequestedOptions;
  /**
   * UUID that the client chose for the message, of this or the one in `replaces`; absent for a new one. If
   * the session has a message with this id, the chat is a repeat if the text is equal, and otherwise a
   * `Conflict`.
   */
  readonly messageId?: string;
  readonly idempotencyKey: string | null;
  /** False to generate no title for the conversation; absent for true. */
  readonly isTitled?: boolean;
  /**
   * Maximum milliseconds to wait until the session stops processing or requests a decision (`Prefer: wait`);
   * 0 for none.
   */
  readonly waitMs: number;
  /** Messages of the returned snapshot; all if absent. */
  readonly messages?: MessageRange | null;
  /** Aborted when the client disconnects; ends only the wait. */
  readonly signal: AbortSignal;
}

/** A message that was stored, by this request or an equal earlier one. */
export interface SentMessage {
  readonly turn: number;
  readonly isRepeat: boolean;
  /** The session's position after the message was stored. */
  readonly position: StreamPosition;
}
