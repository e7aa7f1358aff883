import { afterAll, beforeAll, describe } from "vitest";
import type { ManualClock } from "../../../test/manual-clock.ts";
import { isWithoutPostgres, PostgresServer } from "../../../test/postgres-server.ts";
import type { OpenedStore } from "../contract/given-store.suite.ts";
import { describeStoreContract } from "../contract/store-contract.suite.ts";
import { openPostgresStore } from "./open.ts";

describe.skipIf(await isWithoutPostgres())("a server of its own", () => {
  let server: PostgresServer;
  let template: string;
  beforeAll(async () => {
    server = await PostgresServer.start();
    // A database with the schema in it, of which every test gets a copy.
    template = await server.createDatabase();
    await (await openPostgresStore({ url: server.url(template) })).close();
  }, 60_000);
  afterAll(() => server.stop());

  async function openStore(clock: ManualClock): Promise<OpenedStore> {
    const url = server.url(await server.createDatabase(template));
    const open = () => openPostgresStore({ url, clock });
    const store = await open();
    const reopen = async () => {
      await store.close();
      return await open();
    };
    return { store, reopen, dispose: async () => undefined };
  }

  describeStoreContract("PostgreSQL", openStore);
});
