// What routes may call. Requests arrive validated (ids in lower case, text clean); failures are thrown as ServiceError.

import type { Action, IncludeGroup, PersistedMessage, SetModelResult, Thread } from "@colloquy/protocol";
import type { ActionAnswer } from "../../commands/resolve-action.ts";
import type { JsonObject } from "../../json.ts";
import type { AppCatalog } from "../driven/apps.ts";
import type { SessionVersion } from "../driven/session-store.ts";
import type { AppKeys } from "./key-service.ts";

/** A snapshot as it goes over the wire. */
export interface SnapshotView {
  /** The JSON text in UTF-8, in parts to be written one after the other. */
  readonly parts: readonly Uint8Array[];
  /** Bytes of all parts. */
  readonly length: number;
  /** Strong entity tag of the bytes, quotes included (RFC 9110 section 8.8.3). */
  readonly etag: string;
}

export interface ChatRequest {
  readonly sessionId: string;
  readonly app: string;
  readonly message: string;
  readonly publicKey: string | null;
  readonly userState: JsonObject | null;
  readonly clientId: string | null;
  readonly idempotencyKey: string | null;
  /** Milliseconds that the answer may wait for the session to stop processing (`Prefer: wait`); 0 for at once. */
  readonly waitMs: number;
  /** Aborted when the client is gone: ends a wait, nothing else. */
  readonly signal: AbortSignal;
}

export interface StateRequest {
  readonly sessionId: string;
  readonly userState: JsonObject | null;
  readonly waitMs: number;
  readonly signal: AbortSignal;
  /** Asked before `userState` is stored, unless it is known to change nothing; absent where nothing limits changes. */
  readonly admitChange?: AdmitChange;
  /** Where the store had the session when the same request was let through: that need not be read again. Absent where nobody has looked. */
  readonly seen?: SessionVersion | null;
}

/** The App that a session counts as, and where the store had the session then, if it was looked up there. */
interface SessionApp {
  readonly app: string;
  readonly seen: SessionVersion | null;
}

/** Which App a request about models is for, in this order: the session's, the named one, the one that a sent key opens, `default`. */
export interface WantedApp {
  /** `null` when the client named none. */
  readonly app: string | null;
  /** The one App that the client's key opens beside `default`; `null` when it sent none, or one that opens none or several. */
  readonly keyApp: string | null;
  /** Called with the App that it comes to, with nothing created or changed yet; throws to forbid it. */
  readonly authorize: (app: string) => void;
}

export interface SetModelRequest extends WantedApp {
  readonly sessionId: string;
  readonly rig: string;
  /** `null` leaves the utility model as it is. */
  readonly utilityModel: string | null;
}

export interface ListModelsRequest extends WantedApp {
  /** `null` where the client names no session. */
  readonly sessionId: string | null;
}

export interface ThreadPage {
  readonly threads: readonly Thread[];
  /** Cursor of the next page, `null` on the last one. */
  readonly next: string | null;
}

/** A page of persisted records, read while its client takes them. */
export interface RecordPage {
  /** Reads some records of the page: its first ones, or those after the one with this id; none at its end. Rejects if the session is gone. */
  read(after: string | null): Promise<readonly PersistedMessage[]>;
  /** Id of the last record if more follow it, else `null`. */
  readonly next: string | null;
}

/** How a session begins that there is none of yet. `null`: in lower case, and nothing limits new sessions. */
export type AdmitNewSession = {
  /** The id as the client spelled it. */
  readonly spelling: string;
  /**
   * Called before the session is created, with nothing created yet; throws or rejects to forbid it (rate limits). A promise is only where
   * somebody else is asked. What it is called for and then turns out to exist costs the caller a count, nothing else. `null` where nothing
   * limits new sessions: that saves a read.
   */
  readonly admit: Admit | null;
} | null;
export type Admit = () => void | Promise<void>;

/** As `AdmitNewSession`, called before a session is changed. */
export type AdmitChange = (() => void | Promise<void>) | null;

/**
 * One conversation. Methods with `apps` throw `OtherApp`, and change nothing, if the session no longer belongs to one of the Apps for which
 * access was granted.
 */
export interface ConversationService {
  chat(request: ChatRequest, admit: AdmitNewSession): Promise<SnapshotView>;
  /** Whether a chat of the session was accepted under this `Idempotency-Key`, so that `chat` would add nothing. Creates nothing. */
  isRepeat(sessionId: string, key: string): Promise<boolean>;
  /** Answers at once, without a promise, when the session is in memory and there is nothing to write or wait for. */
  state(request: StateRequest, admit: AdmitNewSession): SnapshotView | Promise<SnapshotView>;
  interrupt(sessionId: string, admit: AdmitNewSession, apps?: readonly string[]): Promise<SnapshotView>;
  /** Interrupts whatever the App; does nothing if the session does not exist. */
  interruptExisting(sessionId: string): Promise<void>;
  /** Makes the session exist; what every endpoint with a required session id does. */
  ensure(sessionId: string, admit: AdmitNewSession): Promise<void>;
  /**
   * The App that a session counts as: `default` until it belongs to one, and where there is no such session. Answers its name at once,
   * without a promise, when the session is in memory and that is right. Creates nothing and notes no use.
   */
  appOf(sessionId: string): string | Promise<SessionApp>;
}

/** Which model answers in a session. */
export interface ModelService {
  setModel(request: SetModelRequest, admit: AdmitNewSession): Promise<SetModelResult>;
  listModels(request: ListModelsRequest, admit: AdmitNewSession): Promise<readonly string[]>;
}

/** The list of conversations, and the records of one; `apps` as in `ConversationService`. */
export interface ThreadService {
  create(
    sessionId: string,
    publicKey: string | null,
    admit: AdmitNewSession,
    apps?: readonly string[],
  ): Promise<Thread>;
  get(sessionId: string, apps?: readonly string[]): Promise<Thread>;
  /** `cursor` as an earlier page gave it; a foreign one is an InvalidRequest. */
  list(query: {
    readonly publicKey: string;
    /** Apps whose threads are listed beside those of the default one. */
    readonly opened: readonly string[];
    readonly limit: number;
    readonly cursor: string | null;
  }): Promise<ThreadPage>;
  /** Like `list`, all from `cursor` on, read in portions while the caller iterates. */
  listAll(query: {
    readonly publicKey: string;
    readonly opened: readonly string[];
    readonly cursor: string | null;
  }): Promise<AsyncIterable<readonly Thread[]>>;
  rename(sessionId: string, title: string, apps?: readonly string[]): Promise<Thread>;
  pin(sessionId: string, pinned: boolean, apps?: readonly string[]): Promise<Thread>;
  /** Answers the session's id as it was spelled. */
  remove(sessionId: string, apps?: readonly string[]): Promise<string>;
  /** A page ends after `limit` records, or with the one that brings it to 1 MiB. */
  messages(
    sessionId: string,
    after: string | null,
    limit: number,
    apps?: readonly string[],
  ): Promise<RecordPage>;
}

/** Actions that wait for a person. */
export interface ActionService {
  /** Those that are pending and the last that were decided, oldest first. Makes the session exist. */
  list(sessionId: string, admit: AdmitNewSession): Promise<readonly Action[]>;
  /** Decides an action of the session; the answer has the same shape as a list's. Creates nothing. `apps` as in `ConversationService`. */
  decide(
    sessionId: string,
    actionId: string,
    answer: ActionAnswer,
    apps?: readonly string[],
  ): Promise<Action>;
}

/** What clients have entrusted to Apps (contract section 4). No value ever comes back. */
export interface SecretService {
  /** Names of the slots that are set, in alphabetical order. */
  names(app: string, clientId: string): Promise<readonly string[]>;
  /** Sets or replaces them all, or none. Answers the names of the slots that are set then. */
  set(app: string, clientId: string, values: JsonObject): Promise<readonly string[]>;
  /** Empties a slot, or with `null` all of them; answers how many were set. */
  remove(app: string, clientId: string, name: string | null): Promise<number>;
}

/** The writing end of one event stream. All text is ready to go over the wire. */
export interface StreamSink {
  /** Writes; answers how many bytes the client has not taken yet. */
  write(bytes: Uint8Array): number;
  /** Resolves when the client has taken everything, or when it is gone. */
  drained(): Promise<void>;
  /** Ends the stream after what was written; `abort` cuts it off at once. */
  end(how: "finish" | "abort"): void;
}

/** Whose stream it is, for as long as it is open. */
export interface StreamAccess {
  /** Whether it may show a session of this App, as far as is known of its key. */
  opens(app: string): boolean;
  /** Looks at the key again; `null` for a stream without a key. Rejects when that is not possible now. */
  readonly refresh: (() => Promise<void>) | null;
  /**
   * When it was asked last what the key opens, in milliseconds on the monotonic clock; `null` where no key decides whether a session of this
   * App may be shown.
   */
  askedAt(app: string): number | null;
}

export interface StreamRequest {
  readonly sessionId: string;
  /**
   * Asked when the session comes to another App, and every two seconds: a stream that is not allowed any more is ended, and so is one of
   * which nobody could say it for five seconds.
   */
  readonly access: StreamAccess;
  readonly include: ReadonlySet<IncludeGroup>;
  /** As the client sent it, `null` for live from now on. */
  readonly lastEventId: string | null;
}

export interface OpenStream {
  /** The client is gone. */
  close(): void;
}

/** The event channel (contract section 5). */
export interface UpdateService {
  /** Opens a stream; the session exists when this resolves. Throws a 429 when a session has too many. */
  open(request: StreamRequest, sink: StreamSink, admit: AdmitNewSession): Promise<OpenStream>;
}

/** Whether the service can take traffic. */
export interface Readiness {
  /** Sentences about what is wrong; none when ready. */
  problems(): Promise<readonly string[]>;
  /** True from the moment the service was told to stop. */
  readonly stopping: boolean;
  /** From that moment, where nobody else is there who would go on with what is begun: other nodes run the turns of chats that this one takes. */
  readonly refusesWork: boolean;
}

/** What routes are given by the composition root. */
export interface Services {
  readonly conversations: ConversationService;
  readonly threads: ThreadService;
  readonly models: ModelService;
  readonly actions: ActionService;
  readonly updates: UpdateService;
  readonly readiness: Readiness;
  readonly secrets: SecretService;
  readonly keys: AppKeys;
  readonly apps: AppCatalog;
}
