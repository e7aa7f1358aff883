import type { Reasoning } from "@colloquy/protocol";
import type { AnswerOf, SelectedOutcome, Selection, SessionCommand } from "../../commands/index.ts";
import type { ActionRecord } from "../../action.ts";
import type { AdminStore } from "./admin-store.ts";
import type { SearchStore } from "./search-store.ts";
import type { SecretStore } from "./secret-store.ts";
import type { Committed, SessionStore } from "./session-store.ts";
import type { AuditAction, AuditEntry, AuditRecord } from "../../audit.ts";
import type { KeyScope } from "../../key-scopes.ts";
import type { FileRecord } from "../../file.ts";
import type { NumberedEvent } from "../../session-event.ts";
import type { FeedbackRecord, MessageRecord } from "../../message.ts";
import type { SessionRecord } from "../../session.ts";
import type { StepRecord, TurnIdentity, TurnState } from "../../turn.ts";

/**
 * The only way to change one session. `core/commands/` defines the commands by their `kind`; `transaction.ts`
 * of each store runs them.
 */
export interface CommandStore {
  /**
   * Runs a command in one transaction: locks the session, reads the facts, decides, and writes the draft. The
   * result is on disk; a rejected command has changed nothing. Returns `null` if the target does not exist
   * and must not be created.
   */
  execute<C extends SessionCommand>(command: C): Promise<Committed<AnswerOf<C["kind"]>> | null>;
  /**
   * Selects unlocked sessions (`selections.ts` of each store) and decides a command for each, in one
   * transaction. Returns the changed ones.
   */
  executeEach<S extends Selection>(selection: S): Promise<readonly Committed<SelectedOutcome<S>>[]>;
}

/** The App and client of the turn to which an action belongs. */
export interface ActionCaller {
  readonly app: string;
  readonly clientId: string | null;
}

/** Position in a list of actions of several sessions. */
export interface ApprovalCursor {
  /** Milliseconds since the Unix epoch. */
  readonly createdAt: number;
  readonly id: string;
}

export interface ApprovalQuery {
  /** Approver rules that the user satisfies (`approverRule`). */
  readonly rules: readonly string[];
  /** Pseudonym of the user. */
  readonly owner: string;
  /** Last action of the previous page; `null` for the first page. */
  readonly after: ApprovalCursor | null;
  readonly limit: number;
}

export interface ActionStore {
  /**
   * Returns the session's pending actions and its last `limit` decided ones, oldest first; `null` if the session
   * does not exist.
   */
  list(sessionId: string, limit: number): Promise<readonly ActionRecord[] | null>;
  /**
   * Returns the App and client whose secrets the action's tool call may contain; `null` if the session has no
   * such action.
   */
  callerOf(sessionId: string, actionId: string): Promise<ActionCaller | null>;
  /**
   * Returns pending actions that an approver may decide, oldest first. Omits actions of the approver's own
   * messages, unless the user of the session may decide them.
   */
  forApprover(query: ApprovalQuery): Promise<readonly ActionRecord[]>;
  /** Returns an action with approvers and the id of its session; `null` if the action does not exist or has none. */
  findForApprover(
    actionId: string,
  ): Promise<{ readonly sessionId: string; readonly action: ActionRecord } | null>;
  /** Returns true if a pending action or a claim has expired, or a reminder is due. */
  isAnyDue(): Promise<boolean>;
}

/** A session that needs a title. */
export interface TitleJob {
  readonly sessionId: string;
  readonly incarnation: string;
  readonly app: string;
  readonly utilityModel: string | null;
  /** The session's first user message, and its turn. */
  readonly text: string;
  readonly turn: number;
}

/** A claimed summary job. */
export interface SummaryJob {
  readonly sessionId: string;
  readonly sessionKey: number;
  readonly incarnation: string;
  readonly app: string;
  /** The session's rig. */
  readonly model: string;
  readonly utilityModel: string | null;
  /** Bytes for the history in prompts of the turn that stored the job. */
  readonly budget: number;
  /** Number of claims since the job was stored or reset, including this one. */
  readonly attempts: number;
}

/** Background work: title jobs, summary jobs, expiry of idempotency keys, and duties that one node performs for all. */
export interface JobStore {
  /**
   * Returns up to `limit` due title jobs and leases them for `leaseMs`. A chat leases the job that it creates
   * to its own process.
   */
  claimTitles(limit: number, leaseMs: number): Promise<readonly TitleJob[]>;
  /** Returns up to `limit` due summary jobs, and leases them for `leaseMs`. */
  claimSummaries(limit: number, leaseMs: number): Promise<readonly SummaryJob[]>;
  /**
   * Reschedules a claimed summary job in `dueInMs`, optionally resetting its attempts. `null` removes the job. Does
   * nothing if the job was claimed again.
   */
  endSummary(
    job: Pick<SummaryJob, "sessionKey" | "attempts">,
    next: { readonly dueInMs: number; readonly attempts: number } | null,
  ): Promise<void>;
  /** Returns true if a chat of the session was accepted under this idempotency key in the last 24 hours. */
  isKeyUsed(sessionId: string, key: string): Promise<boolean>;
  /** Removes up to `limit` idempotency keys older than 24 hours; returns how many. */
  forgetIdempotencyKeys(limit: number): Promise<number>;
  /**
   * Returns true if the session was deleted in the last ten minutes (`DELETED_MS`), whether or not it was
   * created again.
   */
  wasDeleted(sessionId: string): Promise<boolean>;
  /** Removes up to `limit` ids of sessions that were deleted earlier; returns how many. */
  forgetDeletedSessions(limit: number): Promise<number>;
  /**
   * Leases a duty for `heldMs` on the store's clock. Returns the store's time, or `null` if another node has
   * the lease.
   */
  takeDuty(name: string, heldMs: number): Promise<number | null>;
}

/**
 * All ports of one store, opened together. `open.ts` of each store implements it; store/ implements the ports that
 * all stores share. If the store fails, all methods reject with the errors that `SessionStore` documents.
 */
export interface Store extends CommandStore {
  readonly sessions: SessionStore;
  readonly turns: TurnStore;
  readonly actions: ActionStore;
  readonly events: EventStore;
  readonly jobs: JobStore;
  readonly keys: KeyStore;
  readonly users: UserStore;
  readonly secrets: SecretStore;
  readonly admin: AdminStore;
  readonly audit: AuditStore;
  readonly feedback: FeedbackStore;
  readonly search: SearchStore;
  readonly files: FileRows;
  /** Readiness probe: resolves when a test write has reached the disk, and rejects like any write. */
  probe(): Promise<void>;
  /**
   * Overwrites deleted text in the database files. Returns false if another process is reading them, so that
   * the caller must retry. On a database server, does nothing and returns true.
   */
  purge(): Promise<boolean>;
  /** Finishes pending work and closes. */
  close(): Promise<void>;
}

/** Revoked sign-in tokens. */
export interface UserStore {
  /**
   * Stores the revocation of a token until `expiresAt`, in milliseconds since the Unix epoch. Returns false if
   * the token is already revoked.
   */
  revokeToken(id: string, expiresAt: number): Promise<boolean>;
  isTokenRevoked(id: string): Promise<boolean>;
  /** Removes up to `limit` revocations of expired tokens; returns how many. */
  forgetRevokedTokens(limit: number): Promise<number>;
}

export interface AppKeyRecord {
  /** Public part of the key, which identifies it in lists and commands. */
  readonly id: string;
  readonly name: string | null;
  /** Apps that the key opens. */
  readonly apps: readonly string[];
  readonly scopes: readonly KeyScope[];
  /** SHA-256 of the secret, hexadecimal. */
  readonly digest: string;
  /** Times in milliseconds since the Unix epoch; `null` for never. */
  readonly createdAt: number;
  readonly expiresAt: number | null;
  readonly revokedAt: number | null;
}

/** Keys of Apps. Only a digest of each secret is stored. */
export interface KeyStore {
  // Changes store `entry` in the same transaction, unless it is `null`.

  /** Rejects if a key with this id exists. */
  add(key: AppKeyRecord, entry?: AuditEntry | null): Promise<void>;
  find(id: string): Promise<AppKeyRecord | null>;
  /** Oldest first. */
  list(): Promise<readonly AppKeyRecord[]>;
  /** Revokes a key now, unless it is already revoked. Returns the key; `null` if it does not exist. */
  revoke(id: string, entry?: AuditEntry | null): Promise<AppKeyRecord | null>;
  /**
   * Adds `next`, and makes `id` expire after `overlapMs` unless it expires earlier. Changes nothing and returns
   * `null` if `id` is unknown, expired or revoked.
   */
  rotate(
    id: string,
    next: AppKeyRecord,
    overlapMs: number,
    entry?: AuditEntry | null,
  ): Promise<AppKeyRecord | null>;
}

/** Maximum size of a page, in characters of JSON. Equals the limit of a subscriber's buffer. */
export const EVENT_PAGE_CHARACTERS = 256 * 1024;

/** Maximum size of a session's log, in UTF-8 bytes of JSON. Applies in addition to the retention by count and age. */
export const EVENT_LOG_MAX_BYTES = 8 * 1024 * 1024;
/**
 * Size in bytes to which a log is trimmed when it exceeds the maximum, so that it is trimmed once per 2 MiB
 * of events.
 */
export const EVENT_LOG_CUT_BYTES = 6 * 1024 * 1024;

/** A page of a session's log. */
export interface EventPage {
  readonly incarnation: string;
  readonly head: number;
  /** Sequence number of the last trimmed event; 0 if none was trimmed. */
  readonly floor: number;
  /** Events after the requested sequence number, without gaps. */
  readonly events: readonly NumberedEvent[];
}

export interface EventStore {
  /**
   * Returns up to `limit` events after sequence number `after`; `null` if the session does not exist. A page ends
   * with the event that makes it exceed `EVENT_PAGE_CHARACTERS`.
   */
  after(sessionId: string, after: number, limit: number): Promise<EventPage | null>;
  /**
   * Trims the logs of up to `limit` sessions: removes events that are neither among the last `keepCount` of their
   * session nor newer than `keepAfter` (milliseconds since the Unix epoch). Returns the number of trimmed
   * sessions. Each call continues where the previous one ended.
   */
  trim(input: {
    readonly keepCount: number;
    readonly keepAfter: number;
    readonly limit: number;
  }): Promise<number>;
}

/** A turn in a model's history. */
export interface PastTurn {
  readonly number: number;
  readonly state: TurnState;
  readonly userMessage: Pick<MessageRecord, "content" | "extras">;
  /**
   * Its last agent message; `null` for a turn that has not started. Turns interrupted before their start are
   * omitted.
   */
  readonly agentMessage: MessageRecord | null;
  /** Its other agent messages and the steering messages that it has read, in their order; absent for none. */
  readonly steered?: readonly MessageRecord[];
  readonly steps: readonly StepRecord[];
}

/** Reasoning of one step, for display. */
export interface TurnReasoning extends Reasoning {
  readonly turn: number;
}

/** Outcome of a renewal, by epoch. Leases in neither list are lost. */
export interface Renewal {
  readonly renewed: readonly number[];
  /** Leases that another transaction has locked. They are unchanged; retry soon. */
  readonly busy: readonly number[];
}

/** Streamed text of a running turn, before its step ends. */
export interface Checkpoint {
  readonly turn: TurnIdentity;
  /** Number of characters of the current step before `text`. */
  readonly offset: number;
  readonly text: string;
}

/**
 * Leases, streamed text and history of turns. Each method is one transaction. Only commands change the turns
 * themselves.
 */
export interface TurnStore {
  /**
   * Stores streamed text, which replaces the stored text of the turn from `offset` on. The end of the step removes
   * it. Returns true for each stored piece; false if the turn may no longer write (like `mayWrite`), or if another
   * transaction is changing its lease. The caller makes no other change of these turns at the same time.
   */
  checkpoint(pieces: readonly Checkpoint[]): Promise<readonly boolean[]>;
  /**
   * Counts queued turns, up to `limit`: those without an owner, and those behind another turn of their session,
   * unless that turn waits for a person.
   */
  countWaiting(limit: number): Promise<number>;
  /** Extends an owner's leases of these epochs by `leaseMs`, without waiting for locks. */
  renew(owner: string, epochs: readonly number[], leaseMs: number): Promise<Renewal>;
  /**
   * Makes turns with an expired lease runnable; returns how many. The running time of a turn ends when its lease
   * expires. If `everyOther` is an owner, also releases the turns of all other owners: for a process that is the
   * only one.
   */
  releaseDeadLeases(everyOther: string | null): Promise<number>;
  /**
   * Makes an owner's stopped turns of these epochs runnable immediately; returns how many. Adds their running
   * time, but does not count the attempt.
   */
  handBack(owner: string, epochs: readonly number[]): Promise<number>;
  /** Returns the reasoning of an incarnation's turns, oldest first; an empty list if the incarnation has ended. */
  reasoning(
    sessionId: string,
    incarnation: string,
    turns: readonly number[],
  ): Promise<readonly TurnReasoning[]>;
  /**
   * Returns this turn and the turns before it, oldest first: as many as fit into `maxCharacters`, but at
   * least this one. Returns `null` if the turn no longer runs under its epoch. Does not check the lease.
   *
   * With `useSummary`, the result begins with the turn of the newest summary, if there is one, even if some
   * later turns do not fit.
   */
  history(
    identity: TurnIdentity,
    maxCharacters: number,
    useSummary?: boolean,
  ): Promise<readonly PastTurn[] | null>;
  /**
   * Returns the ended turns that precede all open ones, like `history` with `useSummary`. Returns an empty
   * list if there are none, and `null` if the incarnation has ended.
   */
  ended(sessionId: string, incarnation: string, maxCharacters: number): Promise<readonly PastTurn[] | null>;
}

/** Filters for feedback; `null` matches any. Times are milliseconds since the Unix epoch. */
export interface FeedbackQuery {
  readonly app: string | null;
  readonly score: FeedbackRecord["score"] | null;
  /** Start of the period, inclusive. */
  readonly from: number | null;
  /** End of the period, exclusive. */
  readonly to: number | null;
  /** Last entry of the previous page; `null` for the first page. */
  readonly after: FeedbackCursor | null;
  readonly limit: number;
}

/** Sort key of an entry: time, then session, then position of the message in the session. */
export interface FeedbackCursor {
  readonly at: number;
  readonly sessionKey: number;
  readonly position: number;
}

export interface FeedbackEntry extends FeedbackRecord, FeedbackCursor {
  /** Session id in its creator's spelling. */
  readonly sessionId: string;
  readonly app: string;
  readonly messageId: string;
  readonly turn: number;
}

/** Feedback on answers. It is stored with the answers. */
export interface FeedbackStore {
  /** Newest first. */
  list(query: FeedbackQuery): Promise<readonly FeedbackEntry[]>;
}

/** A file of a session, and what decides who may use the session. */
export interface FileOfSession {
  readonly session: Pick<SessionRecord, "app" | "owner">;
  /** `null` if the session has no such file, or it has expired. */
  readonly file: FileRecord | null;
}

/** Bytes to remove from the file store. */
export interface UnusedBlob {
  readonly id: string;
  /** Name of the bytes in the file store. */
  readonly blob: string;
  /** True if a file has the bytes, so that they must stay. */
  readonly isUsed: boolean;
}

/** Bytes about to be stored. */
export interface ExpectedBlob {
  /** Name of the bytes in the file store. */
  readonly blob: string;
  readonly app: string;
  readonly sessionId: string;
  /** User who will own the session if it is empty or does not exist; `null` for none. */
  readonly owner: string | null;
  /** Size; 0 if it is not known yet. */
  readonly bytes: number;
}

/**
 * The rows of files, and the list of bytes to remove. Commands add files and let messages use them. Removing
 * a file, also with its session, adds its bytes to the list. Bytes on the list that no file has can get none:
 * a file shares the bytes of another only in a transaction that locks the other.
 */
export interface FileRows {
  /** Returns a file; `null` if there is no such session. */
  find(sessionId: string, fileId: string): Promise<FileOfSession | null>;
  /**
   * Adds bytes that are about to be stored to the list, due in `keptMs`, and reserves room for them until a file has them.
   * Called again for the same blob, it changes the size.
   */
  expect(blob: ExpectedBlob, keptMs: number): Promise<void>;
  /**
   * Returns the bytes of the files of the App of an expected blob, and those of its owner among them, with the room that
   * is reserved: for the blob itself and for those expected before it, but for none expected after it. If callers release
   * a reservation that exceeds a quota, concurrent callers never exceed it together, and the first ones succeed. Files
   * that share bytes count each.
   */
  used(blob: string): Promise<{ readonly app: number; readonly owner: number }>;
  /** Removes up to `limit` files that expired `FILE_GRACE_MS` ago; returns how many. */
  expire(limit: number): Promise<number>;
  /** Returns up to `limit` due entries of the list. */
  unused(limit: number): Promise<readonly UnusedBlob[]>;
  /** Removes entries from the list. */
  forget(ids: readonly string[]): Promise<void>;
  /** Postpones unused blobs by `ms`. */
  postpone(ids: readonly string[], ms: number): Promise<void>;
}

/** Filters for the audit trail; `null` matches any. Times are milliseconds since the Unix epoch. */
export interface AuditQuery {
  readonly action: AuditAction | null;
  /** Id or name of the actor. */
  readonly actor: string | null;
  readonly app: string | null;
  readonly target: string | null;
  /** Start of the period, inclusive. */
  readonly from: number | null;
  /** End of the period, exclusive. */
  readonly to: number | null;
  /** Last entry of the previous page; `null` for the first page. */
  readonly after: Pick<AuditRecord, "at" | "id"> | null;
  readonly limit: number;
}

/** The audit trail. The entry for a change is written in the transaction of that change. */
export interface AuditStore {
  /** Stores the entry of an operation that has no transaction of its own. */
  add(entry: AuditEntry): Promise<void>;
  /** Newest first. */
  list(query: AuditQuery): Promise<readonly AuditRecord[]>;
  /** Removes up to `limit` entries older than `before`; returns how many. */
  forget(before: number, limit: number): Promise<number>;
  /** Returns the salt of the user's pseudonym in the trail. Stores `fresh` as the salt if the user has none. */
  saltOf(owner: string, fresh: string): Promise<string>;
  /**
   * Stores the entry of an erasure and removes the user's salt, in one transaction. Without the salt, no
   * entry can be attributed to the user. `owner` is `null` for a wallet.
   */
  endErasure(entry: AuditEntry, owner: string | null): Promise<void>;
}
