import type { Reasoning } from "@colloquy/protocol";
import type { AnswerOf, SelectedOutcome, Selection, SessionCommand } from "../../commands/index.ts";
import type { ActionRecord } from "../../action.ts";
import type { AdminStore } from "./admin-store.ts";
import type { SecretStore } from "./secret-store.ts";
import type { Committed, SessionStore } from "./session-store.ts";
import type { AuditAction, AuditEntry, AuditRecord } from "../../audit.ts";
import type { KeyScope } from "../../key-scopes.ts";
import type { NumberedEvent } from "../../session-event.ts";
import type { MessageRecord } from "../../message.ts";
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

export interface ActionStore {
  /** Returns the session's pending actions and its last `limit` others, oldest first; `null` if there is no such session. */
  list(sessionId: string, limit: number): Promise<readonly ActionRecord[] | null>;
  /**
   * Returns the App and client whose secrets the call of an action may contain; `null` if the session has no
   * such action.
   */
  callerOf(sessionId: string, actionId: string): Promise<ActionCaller | null>;
  /** Returns true if a pending action, or a claim of one, has expired. */
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

/** Background work: title jobs, expiry of idempotency keys, and duties that one node performs for all. */
export interface JobStore {
  /**
   * Returns up to `limit` due title jobs and leases them for `leaseMs`. A chat leases the job that it creates
   * to its own process.
   */
  claimTitles(limit: number, leaseMs: number): Promise<readonly TitleJob[]>;
  /** Returns true if a chat of the session was accepted under this idempotency key in the last 24 hours. */
  isKeyUsed(sessionId: string, key: string): Promise<boolean>;
  /** Removes up to `limit` idempotency keys older than 24 hours; returns how many. */
  forgetIdempotencyKeys(limit: number): Promise<number>;
  /** Returns true if the session was deleted in the last ten minutes (`DELETED_MS`), whether or not it was created again. */
  wasDeleted(sessionId: string): Promise<boolean>;
  /** Removes up to `limit` ids of sessions that were deleted earlier; returns how many. */
  forgetDeletedSessions(limit: number): Promise<number>;
  /** Takes a duty for `heldMs` on the store's clock. Returns the store's time, or `null` if another node holds the duty. */
  takeDuty(name: string, heldMs: number): Promise<number | null>;
}

/**
 * All ports of one store, opened together. Implemented by `open.ts` of each store; ports that do not differ, by the files of store/. If the
 * store fails, all methods reject as those of `SessionStore` do.
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
  /** Resolves when a write has reached the disk; rejects like any write. For readiness. */
  probe(): Promise<void>;
  /**
   * Overwrites deleted text in the database's files. Returns false if that is not possible now, because
   * another process reads them. On a database server it does nothing and returns true.
   */
  purge(): Promise<boolean>;
  /** Finishes pending work and closes. */
  close(): Promise<void>;
}

/** Tokens that users have signed out of. */
export interface UserStore {
  /**
   * Stores the revocation of a token until `expiresAt`, in milliseconds since the Unix epoch. Returns false
   * if it is stored already.
   */
  revokeToken(id: string, expiresAt: number): Promise<boolean>;
  isTokenRevoked(id: string): Promise<boolean>;
  /** Removes up to `limit` revocations of expired tokens; returns how many. */
  forgetRevokedTokens(limit: number): Promise<number>;
}

export interface AppKeyRecord {
  /** Public part of the key, which names it in lists and commands. */
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
  // Each change also stores `entry` in the same transaction, unless it is `null`.

  /** Rejects if a key with this id exists. */
  add(key: AppKeyRecord, entry?: AuditEntry | null): Promise<void>;
  find(id: string): Promise<AppKeyRecord | null>;
  /** Oldest first. */
  list(): Promise<readonly AppKeyRecord[]>;
  /** Revokes a key now, unless it is already revoked. Returns the key; `null` if there is none. */
  revoke(id: string, entry?: AuditEntry | null): Promise<AppKeyRecord | null>;
  /**
   * Adds `next` and ends `id` after `overlapMs`, unless it ends earlier. Returns `null`, changing nothing, if
   * `id` is unknown or ended.
   */
  rotate(
    id: string,
    next: AppKeyRecord,
    overlapMs: number,
    entry?: AuditEntry | null,
  ): Promise<AppKeyRecord | null>;
}

/** Maximum JSON characters of a page; equals the limit of a subscriber's buffer. */
export const EVENT_PAGE_CHARACTERS = 256 * 1024;

/** Maximum UTF-8 bytes of a session's log as JSON, regardless of its retention by count and age. */
export const EVENT_LOG_MAX_BYTES = 8 * 1024 * 1024;
/** Size to which a log is cut when it exceeds the maximum, in bytes: one cut per 2 MiB of new events. */
export const EVENT_LOG_CUT_BYTES = 6 * 1024 * 1024;

/** A page of a session's log. */
export interface EventPage {
  readonly incarnation: string;
  readonly head: number;
  /** Number of the last removed event; 0 if none was removed. */
  readonly floor: number;
  /** The events after the requested number, without gaps. */
  readonly events: readonly NumberedEvent[];
}

export interface EventStore {
  /**
   * Returns up to `limit` events after number `after`, ending with the one that exceeds 256 KiB; `null` if
   * there is no such session.
   */
  after(sessionId: string, after: number, limit: number): Promise<EventPage | null>;
  /**
   * Removes events that are neither among the last `keepCount` of their session nor younger than `keepAfter`
   * (milliseconds since the epoch), of up to `limit` sessions; returns how many it trimmed. Each call
   * continues where the last one ended.
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
  readonly userMessage: Pick<MessageRecord, "content">;
  /** `null` for a turn that has not started. Turns interrupted before their start are omitted. */
  readonly agentMessage: MessageRecord | null;
  readonly steps: readonly StepRecord[];
}

/** Reasoning of one step, for people. */
export interface TurnReasoning extends Reasoning {
  readonly turn: number;
}

/** Outcome of a renewal, by epoch. The owner has lost the leases that are in neither list. */
export interface Renewal {
  readonly renewed: readonly number[];
  /** Leases locked by another transaction: unchanged, to be renewed again soon. */
  readonly busy: readonly number[];
}

/** Leases of turns, and their history. Each method is one transaction. Commands change turns. */
export interface TurnStore {
  /** Counts turns that wait for an owner or behind a turn that does not wait for a person, up to `limit`. */
  countWaiting(limit: number): Promise<number>;
  /** Extends an owner's leases of these epochs by `leaseMs`, without waiting for locks. */
  renew(owner: string, epochs: readonly number[], leaseMs: number): Promise<Renewal>;
  /**
   * Makes turns with an expired lease runnable; returns how many. A turn's running time ends with its lease.
   * With `everyOther`, also releases the turns of all owners but this one, for a process that is alone.
   */
  releaseDeadLeases(everyOther: string | null): Promise<number>;
  /**
   * Makes an owner's stopped turns of these epochs runnable at once; returns how many. Adds their running
   * time, but does not count the attempt.
   */
  handBack(owner: string, epochs: readonly number[]): Promise<number>;
  /** Returns the reasoning of turns of an incarnation of a session, oldest first; nothing if it has ended. */
  reasoning(
    sessionId: string,
    incarnation: string,
    turns: readonly number[],
  ): Promise<readonly TurnReasoning[]>;
  /**
   * Returns the last turns ending with this one, oldest first: as many as fit into `maxCharacters`, at least one. `null` if the turn does not
   * run under its epoch any more. Ignores the lease.
   */
  history(identity: TurnIdentity, maxCharacters: number): Promise<readonly PastTurn[] | null>;
}

/** Filters of the audit trail; `null` matches any. Times are milliseconds since the Unix epoch. */
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
  /** End of the previous page. */
  readonly after: Pick<AuditRecord, "at" | "id"> | null;
  readonly limit: number;
}

/** The audit trail. Entries about another change are written in its transaction. */
export interface AuditStore {
  /** Stores an entry about an operation that has no transaction of its own. */
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
