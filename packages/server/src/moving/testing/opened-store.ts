import type { Clock } from "../../core/ports/driven/clock.ts";
import type { Store } from "../../core/ports/driven/store.ts";
import { openPostgresStore } from "../../store/postgres/open.ts";
import { openSqliteStore } from "../../store/sqlite/open.ts";
import type { DatabaseAddress } from "../database-address.ts";

/** Returns a function that runs `work` with the store of a server open on the database. */
export function serversAt(clock: Clock) {
  return async <Result>(
    address: DatabaseAddress,
    work: (store: Store) => Promise<Result>,
  ): Promise<Result> => {
    const onFatal = (error: Error): never => {
      throw error;
    };
    const store =
      address.kind === "sqlite"
        ? await openSqliteStore({ directory: address.directory, clock, onFatal })
        : await openPostgresStore({ url: address.url, clock });
    try {
      return await work(store);
    } finally {
      await store.close();
    }
  };
}
