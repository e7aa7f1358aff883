// Requests and responses of the services that routes and embedding programs call (sessions/, bus/). Requests
// arrive validated: ids in lower case, no control characters. A failed request throws `ServiceError`.

import type {
  Action,
  IncludeGroup,
  NoticeCode,
  PersistedMessage,
  Reasoning,
  Thread,
  UpdateEvent,
} from "@colloquy/protocol";
import type { JsonObject } from "../../json.ts";
import type { TokenUsage, TurnState } from "../../turn.ts";
import type { SessionAccess } from "../../session-access.ts";
import type { ListAccess, SessionVersion } from "../driven/session-store.ts";
import type { UserGrant } from "./credentials.ts";

/** A user who claims a session. */
export type Claimant = Pick<UserGrant, "owner" | "wallets">;

/** A serialized snapshot. */
export interface SnapshotView {
  /** UTF-8 JSON; the concatenated parts are the body, and `length` is its size in bytes. */
  readonly parts: readonly Uint8Array[];
  readonly length: number;
  /** Strong entity tag of the bytes, quotes included (RFC 9110 section 8.8.3). */
  readonly etag: string;
}

/** A range of a session's messages for a snapshot (contract section 2). */
export interface MessageRange {
  /** Number of messages. */
  readonly last: number;
  /** Id of the message directly after the range; `null` if the range ends with the session. */
  readonly before: string | null;
}

export interface StateRequest {
  readonly sessionId: string;
  /** Messages of the snapshot; all if absent. */
  readonly messages?: MessageRange | null;
  readonly access: SessionAccess;
  readonly userState: JsonObject | null;
  readonly waitMs: number;
  readonly signal: AbortSignal;
  /** Called before `userState` is stored, unless it would change nothing. */
  readonly admitChange?: AdmitChange;
  /** The session's stored version if this request's access check has read it. */
  readonly version?: SessionVersion | null;
}

/** A session's App, and the session's stored version if it was read. */
export interface SessionApp {
  readonly app: string;
  readonly version: SessionVersion | null;
}

/**
 * The App of a request about models: the session's, else the named one, else the key's only App, else `default`.
 */
export interface AppChoice {
  readonly access: SessionAccess;
  readonly app: string | null;
  /** The only App besides `default` that the request's key opens; `null` without a key, or for none or several Apps. */
  readonly keyApp: string | null;
  /** Called with the App before anything is created or changed; throws to deny access. */
  readonly authorize: (app: string) => void;
}

export interface SetModelRequest extends AppChoice {
  readonly sessionId: string;
  readonly rig: string;
  /** `null` leaves the utility model unchanged. */
  readonly utilityModel: string | null;
}

export interface ListModelsRequest extends AppChoice {
  readonly sessionId: string | null;
}

export interface ThreadPage {
  readonly threads: readonly Thread[];
  /** Cursor of the next page, `null` on the last one. */
  readonly next: string | null;
}

/** A page of persisted records. The caller reads it in portions, at the pace of its client. */
export interface RecordPage {
  /**
   * Returns the next records after the one with this id; empty at the end of the page. Rejects if the session
   * is gone.
   */
  read(after: string | null): Promise<readonly PersistedMessage[]>;
  /** Cursor of the next page: the id of this page's last record. `null` on the last page. */
  readonly next: string | null;
}

/** Options for creating a missing session. `null` creates it under the lower-case id and without limits. */
export type NewSessionOptions = {
  /** Session id in the client's spelling, which may contain upper-case letters. */
  readonly spelling: string;
  /**
   * Rate-limit check before the session is created; throws or rejects to forbid it. It counts even if another
   * request creates the session first. `null` applies no limits, which saves a read.
   */
  readonly admit: Admit | null;
} | null;
export type Admit = () => void | Promise<void>;

/** Rate-limit check before a session is changed; throws or rejects to forbid it. `null` applies no limits. */
export type AdmitChange = Admit | null;

/**
 * Rate-limit check before `bytes` are copied for an App; throws or rejects to forbid it. `null` applies no
 * limits, which saves a read.
 */
export type AdmitCopy = ((app: string, bytes: number) => void | Promise<void>) | null;

export interface ThreadSearch {
  /** Wallet address whose threads are listed; `null` for those of the user in `access`. */
  readonly publicKey: string | null;
  readonly access: ListAccess;
  readonly cursor: string | null;
  /** As in `ThreadQuery`. */
  readonly metadata?: Readonly<Record<string, string>> | undefined;
  readonly archived?: boolean | undefined;
}

/** A turn as it is stored, in addition to its messages. Times are milliseconds since the Unix epoch. */
export interface StoredTurn {
  readonly number: number;
  readonly state: TurnState;
  /** Rig of its last start; `null` before it started, and for turns that were appended. */
  readonly model: string | null;
  readonly usage: TokenUsage;
  /** Code of its failure; `null` if it has not failed. */
  readonly failure: string | null;
  /** True if the answer was cut off at the maximum of output tokens. */
  readonly isCut: boolean;
  readonly acceptedAt: number;
  readonly endedAt: number | null;
  /** What the protocol remembered about the request; empty for nothing. */
  readonly note: JsonObject;
  /** Number of the step that made each call of the answer, by the call's id. */
  readonly stepOfCall: Readonly<Record<string, number>>;
  /** Reasoning of its finished steps, oldest first. */
  readonly reasoning: readonly Reasoning[];
  /** Its actions, oldest first; of those that are decided, only if they are among the last 100 of the session. */
  readonly actions: readonly Action[];
}

/** A turn to read, and where its agent messages are. */
export interface WantedTurn {
  readonly number: number;
  /**
   * The message before them (`null` for the first of the session), and the length of the range of messages from the
   * first to the last of them; `null` for none.
   */
  readonly answers: { readonly after: string | null; readonly length: number } | null;
}

export interface ForkTarget {
  /** Id of the copy. */
  readonly session: string;
  /** The copy ends with the turn of this message; `null` for the last finished turn. */
  readonly through: string | null;
  readonly admit: AdmitCopy;
}

export interface ClaimRequest {
  /** Id of the claim to renew; absent for a new claim. */
  readonly renews?: string | null;
  /** A request with the key of the current claim renews that claim. */
  readonly idempotencyKey?: string | null;
}

/** One frame of an event stream. All streams of a session share the object, so that it is encoded once. */
export type StreamFrame =
  /** `id` is the position to resume from; `null` for uncommitted text and for notices to a single stream. */
  | { readonly kind: "event"; readonly id: string | null; readonly event: UpdateEvent }
  /** Keeps the connection alive. `id` advances the position past events that the stream does not include. */
  | { readonly kind: "heartbeat"; readonly id: string | null }
  /** Sets the client's reconnection delay. */
  | { readonly kind: "retry" };

export interface StreamSink {
  /** Writes the frame. Returns the number of earlier bytes that are still buffered. */
  write(frame: StreamFrame): number;
  /** Resolves when the buffer is empty or the client has disconnected. */
  drained(): Promise<void>;
  /** Ends the stream: `finish` after the buffered bytes, `abort` at once. */
  end(how: "finish" | "abort"): void;
}

/** The App and owner of a session. */
export interface SessionOwnership {
  readonly app: string;
  readonly owner: string | null;
}

/** Code of the last notice of a stream that loses access. */
export type StreamEnd = Extract<NoticeCode, "app_key_invalid" | "user_token_expired" | "session_not_found">;

/**
 * Access check of an open stream, by its App key and its user's token. Implemented by `Caller`
 * (http/access/caller.ts).
 */
export interface StreamAccess {
  /** Access of the request that opens the stream. */
  readonly session: SessionAccess;
  /** Returns why the stream must end, according to the last check of its key and token; `null` if it may continue. */
  endFor(session: SessionOwnership): StreamEnd | null;
  /** Checks the key and the token again; `null` for a stream without them. Rejects if the store fails. */
  readonly refresh: (() => Promise<void>) | null;
  /**
   * Returns the monotonic time in milliseconds of the last check of the key and token, or `null` if the
   * session requires neither.
   */
  checkedAt(session: SessionOwnership): number | null;
}

export interface StreamRequest {
  readonly sessionId: string;
  /**
   * Checked when the session's App or owner changes, and every two seconds. The stream ends if access is denied, or if
   * no check has succeeded for five seconds.
   */
  readonly access: StreamAccess;
  readonly include: ReadonlySet<IncludeGroup>;
  /** The client's `Last-Event-ID`; `null` sends new events only. */
  readonly lastEventId: string | null;
}

export interface OpenStream {
  close(): void;
}
