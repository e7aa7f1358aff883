import type { OutcomeOf, SessionCommand } from "../../commands/index.ts";
import type { Selection, SelectedOutcome } from "../../commands/selections.ts";
import type { ActionStore } from "./action-store.ts";
import type { AdminStore } from "./admin-store.ts";
import type { EventStore } from "./event-store.ts";
import type { JobStore } from "./job-store.ts";
import type { KeyStore } from "./key-store.ts";
import type { SecretStore } from "./secret-store.ts";
import type { Committed, SessionStore } from "./session-store.ts";
import type { TurnStore } from "./turn-store.ts";

/** The only way to change one session. */
export interface CommandStore {
  /**
   * Runs a command in one transaction: locks the session, reads the facts, decides, and writes the draft. What it returns is on disk; a
   * rejected command has changed nothing. Returns `null` if the target does not exist any more, or must exist and does not.
   */
  execute<C extends SessionCommand>(command: C): Promise<Committed<OutcomeOf<C["kind"]>> | null>;
  /**
   * Selects sessions and decides a command for each, in one transaction. Skips sessions that another transaction holds, so that nodes never
   * queue for the same one. Returns those that it changed.
   */
  executeEach<S extends Selection>(selection: S): Promise<readonly Committed<SelectedOutcome<S>>[]>;
}

/** All ports of one store, opened together. */
export interface Store extends CommandStore {
  readonly sessions: SessionStore;
  readonly turns: TurnStore;
  readonly actions: ActionStore;
  readonly events: EventStore;
  readonly jobs: JobStore;
  readonly keys: KeyStore;
  readonly secrets: SecretStore;
  readonly admin: AdminStore;
  /** Resolves when a write has reached the disk; rejects like every write does. For readiness. */
  probe(): Promise<void>;
  /** Finishes what was begun and closes. */
  close(): Promise<void>;
}
