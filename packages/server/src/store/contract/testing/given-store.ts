// Opens and closes stores around tests.

import { afterAll, afterEach, beforeAll, beforeEach } from "vitest";
import { ManualClock } from "../../../../test/manual-clock.ts";
import type { Store } from "../../../core/ports/driven/store.ts";

export interface OpenedStore {
  readonly store: Store;
  /** Closes the store and opens it again on the same data; `null` for a store in memory. */
  readonly reopen: (() => Promise<Store>) | null;
  /** Removes the data after the store was closed. */
  dispose(): Promise<void>;
}

/** Opens an empty store on this clock. */
export type OpenStore = (clock: ManualClock) => Promise<OpenedStore>;

export interface Given {
  clock: ManualClock;
  store: Store;
  reopen: (() => Promise<Store>) | null;
}

/**
 * Provides a store for each test, or one for all tests of a block: either with the sessions of earlier tests, so
 * that each test must use its own, or without them.
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

/** Deletes all sessions through the port. */
async function removeSessions(store: Store): Promise<void> {
  const left = await store.admin.used({ app: null, after: null, limit: 1000 });
  const removed = await Promise.all(
    left.map(({ id }) =>
      store.execute({
        kind: "delete",
        target: { session: id, birth: null, load: false, access: null },
        input: null,
      }),
    ),
  );
  if (removed.length === 1000) throw new Error("A test left more sessions than one query returns");
  if ((await store.admin.used({ app: null, after: null, limit: 1 })).length > 0)
    throw new Error("A session is left");
}
