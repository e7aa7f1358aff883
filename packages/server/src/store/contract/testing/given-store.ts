// A store that is opened and closed around tests.

import { afterAll, afterEach, beforeAll, beforeEach } from "vitest";
import { ManualClock } from "../../../../test/manual-clock.ts";
import type { Store } from "../../../core/ports/driven/store.ts";

export interface OpenedStore {
  readonly store: Store;
  /** Closes the store and opens it again on what it kept; `null` where it keeps nothing. */
  readonly reopen: (() => Promise<Store>) | null;
  /** Removes what is left when the store is closed. */
  dispose(): Promise<void>;
}

/** Opens a store with nothing in it, whose time is the clock's. */
export type OpenStore = (clock: ManualClock) => Promise<OpenedStore>;

export interface Given {
  clock: ManualClock;
  store: Store;
  reopen: (() => Promise<Store>) | null;
}

/**
 * A store for each test, or one for all of a block, whose tests then keep to sessions of their own. Between them are those of which each
 * finds a store without sessions: there is one for all of them, from which the sessions of a test are removed behind it.
 */
export function givenStore(openStore: OpenStore, scope: "each" | "all" | "all, without sessions"): Given {
  const given = {} as Given;
  let opened: OpenedStore;
  const open = async () => {
    const clock = new ManualClock();
    opened = await openStore(clock);
    Object.assign(given, { clock, store: opened.store, reopen: opened.reopen });
  };
  const close = async () => {
    await given.store.close();
    await opened.dispose();
  };
  if (scope === "each") {
    beforeEach(open);
    afterEach(close);
  } else {
    beforeAll(open);
    afterAll(close);
  }
  if (scope === "all, without sessions") afterEach(() => removeSessions(given.store));
  return given;
}

/** As their users would. */
async function removeSessions(store: Store): Promise<void> {
  const left = await store.admin.used({ app: null, after: null, limit: 1000 });
  const removed = await Promise.all(
    left.map(({ id }) =>
      store.execute({ kind: "delete", target: { session: id, birth: null, load: false }, input: null }),
    ),
  );
  if (removed.length === 1000) throw new Error("There are more sessions than are looked for behind a test");
  if ((await store.admin.used({ app: null, after: null, limit: 1 })).length > 0)
    throw new Error("A session is left");
}
