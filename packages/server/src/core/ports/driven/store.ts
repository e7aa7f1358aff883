import type { ActionStore } from "./action-store.ts";
import type { AdminStore } from "./admin-store.ts";
import type { EventStore } from "./event-store.ts";
import type { JobStore } from "./job-store.ts";
import type { KeyStore } from "./key-store.ts";
import type { SecretStore } from "./secret-store.ts";
import type { SessionStore } from "./session-store.ts";
import type { TurnStore } from "./turn-store.ts";

/** All aggregates of one store, opened together. */
export interface Store {
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
