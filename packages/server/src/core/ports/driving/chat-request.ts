import type { JsonObject } from "../../json.ts";
import type { SessionAccess } from "../../session-access.ts";
import type { TurnOptions } from "../../turn-options.ts";
import type { StreamPosition } from "../driven/event-hub.ts";

export interface ChatRequest {
  readonly sessionId: string;
  readonly access: SessionAccess;
  readonly app: string;
  readonly message: string;
  /** Id of the user message that this one replaces, with all after it; absent or `null` for none. */
  readonly replaces?: string | null;
  /** Rig for this and later answers; absent or `null` for the session's. */
  readonly rig?: string | null;
  readonly publicKey: string | null;
  readonly userState: JsonObject | null;
  readonly clientId: string | null;
  /** Tools and the shape of the answer that the chat asks for; absent for neither. */
  readonly options?: TurnOptions;
  /**
   * UUID that the client chose for the message, of this or the one in `replaces`; absent for a new one. A message that the session has
   * is not added again: with the same text it counts as repeated, with another one it is a `Conflict`.
   */
  readonly messageId?: string;
  readonly idempotencyKey: string | null;
  /** Maximum milliseconds to wait for the session to stop processing or to ask a person (`Prefer: wait`); 0 for none. */
  readonly waitMs: number;
  /** Aborted when the client disconnects; ends only the wait. */
  readonly signal: AbortSignal;
}

/** A message that was stored, by this request or an equal earlier one. */
export interface SentMessage {
  readonly turn: number;
  readonly isRepeat: boolean;
  /** After the message was stored. */
  readonly position: StreamPosition;
}
