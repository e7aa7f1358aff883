import { randomUUID } from "node:crypto";
import { setImmediate } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { isWithoutPostgres, PostgresServer } from "../../../test/postgres-server.ts";
import { NOTHING, chat, target } from "../contract/scenario.suite.ts";
import { openPostgresStore } from "./open.ts";

describe.skipIf(await isWithoutPostgres())("calls that wait for the database", () => {
  let server: PostgresServer;
  let url: string;
  beforeAll(async () => {
    server = await PostgresServer.start();
    url = server.url(await server.createDatabase());
  }, 60_000);
  afterAll(() => server.stop());

  it("are all answered when there are more of them than may be under way, also when no other follows", async () => {
    const store = await openPostgresStore({ url, lanes: 1, mostTogether: 2 });
    const ids = Array.from({ length: 7 }, () => randomUUID());
    const answers = ids.map((id) => chat(store, id, "hello"));
    await setImmediate();
    const late = chat(store, randomUUID(), "hello");
    expect((await Promise.all([...answers, late])).every(({ created }) => created)).toBe(true);
    await store.close();
  });

  it("do not wait for what is held elsewhere, while a lane is free", async () => {
    const store = await openPostgresStore({ url, lanes: 2 });
    const [held, free] = [randomUUID(), randomUUID()];
    for (const id of [held, free]) await store.sessions.open(target(id), NOTHING);
    const database = url.slice(url.lastIndexOf("/") + 1);
    let waiting: Promise<unknown> | undefined;
    await server.holding(database, `SELECT 1 FROM sessions WHERE id = '${held}' FOR UPDATE`, async () => {
      waiting = store.sessions.rename(held, "waits");
      await server.untilWaiting(database);
      expect((await store.sessions.rename(free, "goes on"))?.session.title).toBe("goes on");
    });
    await waiting;
    await store.close();
  });
});
