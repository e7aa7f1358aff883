import type { Clock } from "@colloquy/engine/internal/core/ports/driven/clock";
import type { Store } from "@colloquy/engine/internal/core/ports/driven/store";
import { openPostgresStore } from "@colloquy/postgres/internal/open";
import { openSqliteStore } from "@colloquy/engine/internal/store/sqlite/open";
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
