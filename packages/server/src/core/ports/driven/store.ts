import type { AnswerOf, SessionCommand } from "../../commands/index.ts";
import type { Selection, SelectedOutcome } from "../../commands/selections.ts";
import type { ActionRecord } from "../../action.ts";
import type { AdminStore } from "./admin-store.ts";
import type { AuditStore } from "./audit-store.ts";
import type { EventStore } from "./event-store.ts";
import type { KeyStore } from "./key-store.ts";
import type { SecretStore } from "./secret-store.ts";
import type { Committed, SessionStore } from "./session-store.ts";
import type { TurnStore } from "./turn-store.ts";
import type { UserStore } from "./user-store.ts";

/**
 * The only way to change one session. `core/commands/` defines the commands by their `kind`; `transaction.ts` of each store runs them.
 */
export interface CommandStore {
  /**
   * Runs a command in one transaction: locks the session, reads the facts, decides, and writes the draft. The
   * result is on disk; a rejected command has changed nothing. Returns `null` if the target does not exist
   * and must not be created.
   */
  execute<C extends SessionCommand>(command: C): Promise<Committed<AnswerOf<C["kind"]>> | null>;
  /**
   * Selects unlocked sessions (`selections.ts` of each store) and decides a command for each, in one transaction. Returns the changed ones.
   */
  executeEach<S extends Selection>(selection: S): Promise<readonly Committed<SelectedOutcome<S>>[]>;
}

/** The App and client of a turn that asks. */
export interface ActionCaller {
  readonly app: string;
  readonly clientId: string | null;
}

export interface ActionStore {
  /** Returns the session's pending actions and its last `limit` others, oldest first; `null` if there is no such session. */
  list(sessionId: string, limit: number): Promise<readonly ActionRecord[] | null>;
  /** Returns whose secrets the call of an action could use; `null` if the session has no such action. */
  callerOf(sessionId: string, actionId: string): Promise<ActionCaller | null>;
  /** Returns true if the time of a pending action, or its claim, is over. */
  isAnyDue(): Promise<boolean>;
}

/** A session that needs a title. */
export interface TitleJob {
  readonly sessionId: string;
  readonly life: string;
  readonly app: string;
  readonly utilityModel: string | null;
  /** The session's first user message, and its turn. */
  readonly text: string;
  readonly turn: number;
}

/**
 * Pending work that survives a crash: title jobs, expiry of idempotency keys, and duties that one node
 * performs for all.
 */
export interface JobStore {
  /** Returns up to `limit` due title jobs and leases them for `leaseMs`. A chat leases the job that it creates to its own process. */
  claimTitles(limit: number, leaseMs: number): Promise<readonly TitleJob[]>;
  /** Returns true if a chat of the session was accepted under this idempotency key in the last 24 hours. */
  isKeyUsed(sessionId: string, key: string): Promise<boolean>;
  /** Removes up to `limit` idempotency keys older than 24 hours; returns how many. */
  forgetIdempotencyKeys(limit: number): Promise<number>;
  /** Takes a duty for `heldMs` on the store's clock. Returns the store's time, or `null` if another node holds the duty. */
  takeDuty(name: string, heldMs: number): Promise<number | null>;
}

/** All ports of one store, opened together. */
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
   * Makes sure that no deleted text is left in the files of the database. Returns false if that is not possible now, because another process
   * reads them. A database server decides by itself: always true.
   */
  purge(): Promise<boolean>;
  /** Finishes pending work and closes. */
  close(): Promise<void>;
}
