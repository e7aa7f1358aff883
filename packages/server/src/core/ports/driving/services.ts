// Driving ports: the services that routes call. Requests arrive validated (ids in lower case, no control
// characters); a failed request throws `ServiceError`. `wiring/server.ts` passes the
// implementations to the routes.

import type {
  Action,
  ActionClaim,
  IncludeGroup,
  NoticeCode,
  PendingAction,
  PersistedMessage,
  SetModelResult,
  Thread,
} from "@colloquy/protocol";
import type { Actor } from "../../audit.ts";
import type { ActionAnswer } from "../../commands/decide-action.ts";
import type { TransferInput } from "../../commands/transfer.ts";
import type { JsonObject } from "../../json.ts";
import type { AppCatalog } from "../driven/apps.ts";
import type { StreamPosition } from "../driven/event-hub.ts";
import type { ToolSourceReports } from "../driven/tool.ts";
import type { SessionAccess } from "../../session-access.ts";
import type { ListAccess, SessionVersion } from "../driven/session-store.ts";
import type { AuditTrail } from "./audit-service.ts";
import type { ChatRequest, SentMessage } from "./chat-request.ts";
import type { AppKeys, UserGrant, UserTokens, WalletSignInService } from "./credentials.ts";
import type { UserDataService } from "./user-data-service.ts";

/** A user who claims a session. */
export type Claimant = Pick<UserGrant, "owner" | "wallets">;

/** A snapshot, serialized. */
export interface SnapshotView {
  /** UTF-8 JSON; the concatenated parts are the body, and `length` is its size in bytes. */
  readonly parts: readonly Uint8Array[];
  readonly length: number;
  /** Strong entity tag of the bytes, quotes included (RFC 9110 section 8.8.3). */
  readonly etag: string;
}

export interface StateRequest {
  readonly sessionId: string;
  readonly access: SessionAccess;
  readonly userState: JsonObject | null;
  readonly waitMs: number;
  readonly signal: AbortSignal;
  /** Called before `userState` is stored, unless it would change nothing. */
  readonly admitChange?: AdmitChange;
  /** The session's stored version if this request's access check has read it. */
  readonly seen?: SessionVersion | null;
}

/** A session's App, and the session's stored version if it was read. */
interface SessionApp {
  readonly app: string;
  readonly seen: SessionVersion | null;
}

/**
 * The App of a request about models: the session's, else the named one, else the key's only App, else `default`.
 */
export interface WantedApp {
  readonly access: SessionAccess;
  readonly app: string | null;
  /** The only App besides `default` that the request's key opens; `null` without a key, or for none or several Apps. */
  readonly keyApp: string | null;
  /** Called with the App before anything is created or changed; throws to deny access. */
  readonly authorize: (app: string) => void;
}

export interface SetModelRequest extends WantedApp {
  readonly sessionId: string;
  readonly rig: string;
  /** `null` leaves the utility model unchanged. */
  readonly utilityModel: string | null;
}

export interface ListModelsRequest extends WantedApp {
  readonly sessionId: string | null;
}

export interface ThreadPage {
  readonly threads: readonly Thread[];
  /** Cursor of the next page, `null` on the last one. */
  readonly next: string | null;
}

/** A page of persisted records. The caller reads it in portions, as fast as its client takes them. */
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
  /** The id as the client spelled it. */
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
 * Rate-limit check before `bytes` are copied for an App; throws or rejects to forbid it. `null` applies no limits, which saves a read.
 */
export type AdmitCopy = ((app: string, bytes: number) => void | Promise<void>) | null;

/**
 * Operations on one conversation. If `access` does not include the session, methods throw `OtherApp`, or
 * `NotFound` for another user's session, and change nothing. `null` grants access to all sessions.
 * Implemented by `Conversations` (sessions/conversations.ts).
 */
export interface ConversationService {
  chat(request: ChatRequest, creation: NewSessionOptions): Promise<SnapshotView>;
  /** Like `chat`, without waiting, for adapters that follow the turn themselves. */
  send(request: ChatRequest, creation: NewSessionOptions): Promise<SentMessage>;
  /** Returns true if a chat was already accepted under this `Idempotency-Key`, so that `chat` would replay it. */
  isRepeat(sessionId: string, key: string): Promise<boolean>;
  /** Returns the snapshot, synchronously if the session is in memory and there is nothing to write or wait for. */
  state(request: StateRequest, creation: NewSessionOptions): SnapshotView | Promise<SnapshotView>;
  interrupt(sessionId: string, access: SessionAccess, creation: NewSessionOptions): Promise<SnapshotView>;
  /** Interrupts a session of any App; does nothing if it does not exist. */
  interruptExisting(sessionId: string): Promise<void>;
  /** Creates the session if it does not exist, unless it was deleted a short time ago. */
  ensure(sessionId: string, access: SessionAccess, creation: NewSessionOptions): Promise<void>;
  /**
   * Returns a session's App; `default` if the session has no App yet or does not exist. Synchronous if the
   * session is in memory and current. Does not count as use of the session.
   */
  appOf(sessionId: string): string | Promise<SessionApp>;
  /** Returns the position of the session's event log, or `null` if the session does not exist. */
  position(sessionId: string, access: SessionAccess | null): Promise<StreamPosition | null>;
}

/** Implemented by `ModelChoices` (sessions/model-choice.ts). */
export interface ModelService {
  setModel(request: SetModelRequest, creation: NewSessionOptions): Promise<SetModelResult>;
  listModels(request: ListModelsRequest, creation: NewSessionOptions): Promise<readonly string[]>;
}

export interface ThreadSearch {
  /** Wallet address whose threads are listed; `null` for those of the user in `access`. */
  readonly publicKey: string | null;
  readonly access: ListAccess;
  readonly cursor: string | null;
}

export interface ForkTarget {
  /** Id of the copy. */
  readonly session: string;
  /** The copy ends with the turn of this message; `null` for the last finished turn. */
  readonly through: string | null;
  readonly admit: AdmitCopy;
}

/**
 * Thread lists and records of sessions; `access` as in `ConversationService`. Implemented by `Threads`
 * (sessions/threads.ts).
 */
export interface ThreadService {
  create(
    sessionId: string,
    publicKey: string | null,
    access: SessionAccess,
    creation: NewSessionOptions,
  ): Promise<Thread>;
  get(sessionId: string, access: SessionAccess | null): Promise<Thread>;
  /** Throws `InvalidRequest` for a `cursor` that no earlier page returned. */
  list(query: ThreadSearch & { readonly limit: number }): Promise<ThreadPage>;
  /** Like `list`, but returns all pages from `cursor` on, each read as the caller iterates. */
  listAll(query: ThreadSearch): Promise<AsyncIterable<readonly Thread[]>>;
  rename(sessionId: string, title: string, access: SessionAccess | null): Promise<Thread>;
  pin(sessionId: string, pinned: boolean, access: SessionAccess | null): Promise<Thread>;
  /**
   * Copies the finished turns of a session into an empty one, which it creates if necessary, and returns the
   * copy. Throws `NotFound` for an unknown message, and `Conflict` if its turn is open or the target is not
   * empty.
   */
  fork(
    sessionId: string,
    to: ForkTarget,
    access: SessionAccess,
    creation: NewSessionOptions,
  ): Promise<Thread>;
  /**
   * Makes the user the owner of an idle session without one. Throws `Conflict` while the session is busy, and
   * 403 if it is bound to a wallet that the user has not proved.
   */
  claim(sessionId: string, user: Claimant, access: SessionAccess, by: Actor): Promise<Thread>;
  /** Changes the owner of the session, for operators. */
  transfer(sessionId: string, to: Omit<TransferInput, "by">, by: Actor | null): Promise<Thread>;
  /** Deletes the session. Returns its id in the original spelling. */
  remove(sessionId: string, access: SessionAccess | null, by?: Actor | null): Promise<string>;
  /** Returns a page of records. It ends after `limit` records, or with the record that exceeds 1 MiB in total. */
  messages(
    sessionId: string,
    after: string | null,
    limit: number,
    access: SessionAccess | null,
    withReasoning?: boolean,
  ): Promise<RecordPage>;
}

export interface ClaimRequest {
  /** Id of the claim to renew; absent for a new claim. */
  readonly renews?: string | null;
  /** A request with the key of the current claim renews that claim. */
  readonly idempotencyKey?: string | null;
}

/** Implemented by `Actions` (sessions/actions.ts). */
export interface ActionService {
  /** Returns the pending actions and the most recently decided ones, oldest first. Creates the session. */
  list(sessionId: string, access: SessionAccess, creation: NewSessionOptions): Promise<readonly Action[]>;
  /** Returns the pending actions, oldest first; empty if the session does not exist. */
  pending(sessionId: string): Promise<readonly PendingAction[]>;
  /** Decides an action; `access` as in `ConversationService`. */
  decide(
    sessionId: string,
    actionId: string,
    answer: ActionAnswer,
    access: SessionAccess | null,
    by?: Actor | null,
  ): Promise<Action>;
  /** Claims an action of the kind `client_tool`, or renews the claim; `access` as in `ConversationService`. */
  claim(
    sessionId: string,
    actionId: string,
    request: ClaimRequest,
    access: SessionAccess | null,
  ): Promise<ActionClaim>;
}

/**
 * Clients' secrets for Apps (contract section 4). Values are never returned. Implemented by
 * `createSecretService` (apps/secrets/vault.ts).
 */
export interface SecretService {
  /** Returns the names of the slots that are set, in alphabetical order. */
  names(app: string, clientId: string): Promise<readonly string[]>;
  /** Sets all of the values or none. Returns the names of all slots that are now set. */
  set(app: string, clientId: string, values: JsonObject, by: Actor): Promise<readonly string[]>;
  /** Empties one slot, or all slots if `name` is `null`. Returns how many were set. */
  remove(app: string, clientId: string, name: string | null, by: Actor): Promise<number>;
}

/** The writing end of one event stream. Implemented by `EventStream` (http/event-stream.ts). */
export interface StreamSink {
  /** Writes the bytes. Returns the number of bytes that the client has not taken yet. */
  write(bytes: Uint8Array): number;
  /** Resolves when the buffer is empty or the client is gone. */
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
 * Access check of an open stream, by its App key and its user's token. Implemented by `CheckedStream`
 * (http/stream-access.ts).
 */
export interface StreamAccess {
  /** Access of the request that opens the stream. */
  readonly session: SessionAccess;
  /** Returns why the stream must end, according to the last check of its key and token; `null` if it may continue. */
  endFor(session: SessionOwnership): StreamEnd | null;
  /** Checks the key and the token again; `null` for a stream without them. Rejects if the store fails. */
  readonly refresh: (() => Promise<void>) | null;
  /**
   * Returns the monotonic time in milliseconds of the last check of the key and token, or `null` if the session requires neither.
   */
  askedAt(session: SessionOwnership): number | null;
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

/** The event channel (contract section 5). Implemented by `Feed` (bus/feed.ts). */
export interface UpdateService {
  /**
   * Opens a stream, and creates the session if it does not exist. Throws a `ServiceError` 429 if the session
   * has too many streams.
   */
  open(request: StreamRequest, sink: StreamSink, creation: NewSessionOptions): Promise<OpenStream>;
}

/** Readiness of the service for traffic. Implemented by `createReadiness` (wiring/operations.ts). */
export interface Readiness {
  /** Returns one sentence per problem; empty if the service is ready. */
  problems(): Promise<readonly string[]>;
  readonly stopping: boolean;
  /** True while the service stops and no other node could run the turns of new chats. */
  readonly refusesWork: boolean;
}

export interface Services {
  readonly conversations: ConversationService;
  readonly threads: ThreadService;
  readonly models: ModelService;
  readonly actions: ActionService;
  readonly updates: UpdateService;
  readonly readiness: Readiness;
  readonly secrets: SecretService;
  readonly keys: AppKeys;
  readonly users: UserTokens;
  readonly wallets: WalletSignInService;
  readonly apps: AppCatalog;
  readonly tools: ToolSourceReports;
  readonly audit: AuditTrail;
  readonly userData: UserDataService;
}
