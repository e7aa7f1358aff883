// The store of the configured data directory, opened beside a running server or without one (contract section 7), for the commands
// that administer.

import { KeyAdministration } from "./apps/keys/key-administration.ts";
import type { Rotation } from "./apps/secrets/rotation.ts";
import { createSystemClock } from "./clock.ts";
import type { Hidden } from "./core/hidden.ts";
import type { Store } from "./core/ports/store.ts";
import { rotateMaster } from "./master-keys.ts";
import { openSqliteStore } from "./store/sqlite/open.ts";

export interface AdministrationSettings {
  /** Absolute path. */
  readonly dataDirectory: string;
  /** `COLLOQUY_SECRET_KEY`, `null` when it is not set. */
  readonly secretKey: Hidden<string> | null;
}

export interface Administration {
  readonly store: Store;
  readonly settings: AdministrationSettings;
  /** What an operator does with App keys; `apps` are the names of the configured Apps, which matter to `create` alone. */
  keys(apps: readonly string[]): KeyAdministration;
  /** Seals all secrets with a new master key. `discardUnreadable`: removes those that no key opens. */
  rotateMaster(discardUnreadable: boolean): Promise<Rotation>;
  /** Finishes what was begun and closes. */
  close(): Promise<void>;
}

/** Rejects with an Error that says what to do when the data directory cannot be used. A call that a lying disk fails rejects by itself. */
export async function openAdministration(settings: AdministrationSettings): Promise<Administration> {
  const clock = createSystemClock();
  const store = await openSqliteStore({
    directory: settings.dataDirectory,
    role: "administration",
    clock,
    onFatal: () => {},
  });
  return {
    store,
    settings,
    keys: (apps) => new KeyAdministration({ store: store.keys, clock, apps }),
    rotateMaster: (discardUnreadable) => rotateMaster(settings, store.secrets, discardUnreadable),
    close: () => store.close(),
  };
}
