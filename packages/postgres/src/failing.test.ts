// Responses of the store when the database, the connection or a single row fails.

import { randomUUID } from "node:crypto";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { isWithoutPostgres } from "../../server/test/postgres-server.ts";
import { useOwnDatabase } from "../../server/test/use-postgres.ts";
import { TcpProxy, type FromClient } from "@colloquy/testing/internal/tcp-proxy";
import { OutcomeUnknown } from "@colloquy/engine/internal/core/errors";
import type { Store } from "@colloquy/engine/internal/core/ports/driven/store";
import {
  NOTHING,
  chat,
  everything,
  record,
  startTurn,
  target,
  touch,
  existing,
} from "@colloquy/testing/internal/store/fixtures/scenario";
import { openPostgresStore } from "./open.ts";

type FromServer = Parameters<FromClient>[1]["server"];

const UNAVAILABLE = { status: 503, code: "store_unavailable" };
const IN_DOUBT = { status: 503, code: "outcome_unknown" };

describe.skipIf(await isWithoutPostgres())("a store on a failing database", () => {
  const database = useOwnDatabase();
  let proxy: TcpProxy;
  let store: Store;
  let direct: Store;

  beforeEach(async () => {
    proxy = await TcpProxy.start(database.server.port);
    const url = database.urlBy(proxy.port);
    store = await openPostgresStore({ url, connectMs: 2_000, statementMs: 2_000, connections: 3 });
    direct = await openPostgresStore({ url: database.url, statementMs: 60_000 });
  });
  afterEach(async () => {
    proxy.fromClient = null;
    proxy.isSilent = false;
    await Promise.all([store.close(), direct.close()]);
    await proxy.stop();
  });

  /** Applies `what` to the next COMMIT, once, and forwards everything else. */
  function atNextCommit(what: FromClient): void {
    proxy.fromClient = (bytes, link) => {
      if (!bytes.includes("COMMIT\0")) {
        link.server.write(bytes);
        return;
      }
      proxy.fromClient = null;
      what(bytes, link);
    };
  }

  /** Calls `then` when the server reports the commit, possibly after other responses. */
  function whenCommitted(server: FromServer, then: () => void): void {
    server.on("data", (bytes: Buffer) => {
      if (bytes.includes("COMMIT\0")) then();
    });
  }

  it("returns the committed result if the connection breaks before the response", async () => {
    const id = randomUUID();
    atNextCommit((bytes, { client, server }) => {
      server.removeAllListeners("data");
      whenCommitted(server, () => client.destroy());
      server.write(bytes);
    });
    const committed = await chat(store, id, "hello");
    expect(committed).toMatchObject({ created: true, outcome: { kind: "accepted", turn: 1 } });
    expect(await record(direct, id)).toEqual(committed.session);
  });

  it("reports no change if the connection breaks before the COMMIT is sent", async () => {
    const id = randomUUID();
    atNextCommit((_bytes, { client, server }) => {
      client.destroy();
      server.destroy();
    });
    const refused = await chat(store, id, "hello").catch((error: unknown) => error);
    expect(refused).toMatchObject({ ...UNAVAILABLE, headers: { "retry-after": "1" } });
    expect(refused).not.toBeInstanceOf(OutcomeUnknown);
    expect(refused).toHaveProperty("detail", expect.stringContaining("nothing was changed"));
    expect(await direct.sessions.find(id)).toBeNull();
    expect((await chat(store, id, "hello")).created).toBe(true);
  });

  it("ends a transaction whose lost connection the database has not noticed", async () => {
    const id = randomUUID();
    await direct.execute({ kind: "open", target: target(id), input: NOTHING });
    const url = database.urlBy(proxy.port);
    // Longer than this test, so that no timeout ends the transaction.
    const patient = await openPostgresStore({ url, statementMs: 60_000 });
    atNextCommit((_bytes, { client }) => {
      client.removeAllListeners("close");
      client.destroy();
    });
    const refused = await patient
      .execute({ kind: "edit", target: existing(id), input: { title: "lost" } })
      .catch((error: unknown) => error);
    expect(refused).toMatchObject(UNAVAILABLE);
    expect(refused).toHaveProperty("detail", expect.stringContaining("nothing was changed"));
    // The lock was released with the transaction.
    expect(
      (await direct.execute({ kind: "edit", target: existing(id), input: { title: "next" } }))?.session.title,
    ).toBe("next");
    await patient.close();
  });

  it("releases the locks of a node that is paused or cut off during a transaction", async () => {
    const id = randomUUID();
    await chat(direct, id, "before");
    const cutOff = Promise.withResolvers<void>();
    atNextCommit((_bytes, { client }) => {
      // Nothing arrives from here on, not even the end of the connection.
      client.removeAllListeners("close");
      proxy.fromClient = () => undefined;
      cutOff.resolve();
    });
    const lost = chat(store, id, "hello").catch((error: unknown) => error);
    await cutOff.promise;
    expect(
      (await direct.execute({ kind: "edit", target: existing(id), input: { title: "next" } }))?.session.title,
    ).toBe("next");
    expect(await lost).toMatchObject({ status: 503 });
    expect((await record(direct, id)).turnCount).toBe(1);
  });

  it("does not claim an unchanged store if it cannot look up the outcome", async () => {
    const id = randomUUID();
    atNextCommit((bytes, { client, server }) => {
      server.removeAllListeners("data");
      whenCommitted(server, () => {
        proxy.fromClient = (_bytes, { client }) => void client.destroy();
        client.destroy();
      });
      server.write(bytes);
    });
    const refused = await chat(store, id, "hello").catch((error: unknown) => error);
    expect(refused).toMatchObject(IN_DOUBT);
    expect(refused).toHaveProperty(
      "detail",
      expect.stringContaining("Check whether the request took effect"),
    );
    expect(refused).toBeInstanceOf(OutcomeUnknown);
    expect(await direct.sessions.find(id)).not.toBeNull();
  });

  it("does not retry a commit of unknown outcome", async () => {
    const ids = [randomUUID(), randomUUID()];
    for (const id of ids) await chat(direct, id, "before");
    atNextCommit((bytes, { client, server }) => {
      server.removeAllListeners("data");
      whenCommitted(server, () => {
        proxy.fromClient = (_bytes, link) => void link.client.destroy();
        client.destroy();
      });
      server.write(bytes);
    });
    const chats = ids.map((id) => chat(store, id, "hello"));
    const answering = Promise.allSettled(chats);
    // Wait until looking up the outcome has failed; from here on, a retry would succeed.
    await Promise.race(chats).catch(() => undefined);
    proxy.fromClient = null;
    const answers = await answering;
    for (const answer of answers) expect(answer).toMatchObject({ reason: expect.any(OutcomeUnknown) });
    for (const id of ids) expect((await record(direct, id)).turnCount).toBe(2);
  });

  it("does not mistake another transaction with the same id after a crash for its own", async () => {
    const id = randomUUID();
    const crashed = Promise.withResolvers<void>();
    atNextCommit((_bytes, { client }) => {
      // Block lookups until the id was reused.
      proxy.fromClient = (_more, link) => void link.client.destroy();
      client.removeAllListeners("close");
      void database.server.halt().then(async () => {
        await database.server.resume();
        for (let n = 0; n < 8; n += 1) await database.query("SELECT pg_current_xact_id()");
        proxy.fromClient = null;
        client.destroy();
        crashed.resolve();
      });
    });
    const refused = await chat(store, id, "hello").catch((error: unknown) => error);
    expect(refused).toMatchObject(IN_DOUBT);
    expect(refused).toBeInstanceOf(OutcomeUnknown);
    await crashed.promise;
    expect(await database.query(`SELECT 1 FROM sessions WHERE id = '${id}'`)).toEqual([]);
  });

  it("rejects at once while the database is down, and recovers by itself", async () => {
    const id = randomUUID();
    await chat(store, id, "before");
    const before = await everything(store, id);
    await database.server.halt();
    try {
      const refused = await Promise.allSettled([
        chat(store, id, "meanwhile"),
        chat(store, randomUUID(), "meanwhile"),
        store.sessions.find(id),
        store.executeEach({
          kind: "claimTurns",
          owner: "owner",
          agentMessageIds: [randomUUID()],
          fullProviders: [],
          models: {},
        }),
        store.probe(),
      ]);
      for (const answer of refused) expect(answer).toMatchObject({ reason: UNAVAILABLE });
    } finally {
      await database.server.resume();
    }
    expect(await everything(store, id)).toEqual(before);
    await chat(store, id, "after");
    expect((await record(store, id)).messageCount).toBe(2);
  });

  it("does not wait for an unresponsive database", async () => {
    const id = randomUUID();
    await chat(store, id, "before");
    proxy.isSilent = true;
    const calls = Array.from({ length: 8 }, () => store.sessions.find(id));
    const refused = await Promise.allSettled([...calls, chat(store, id, "meanwhile"), store.probe()]);
    for (const answer of refused) expect(answer).toMatchObject({ reason: UNAVAILABLE });
    proxy.isSilent = false;
    proxy.cut();
    await chat(store, id, "after");
    expect((await record(store, id)).messageCount).toBe(2);
  });

  it("gives 507 when the disk is full, and serves other calls", async () => {
    await database.query(`CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$
         BEGIN RAISE 'could not extend file' USING ERRCODE = 'disk_full'; END $$;
       CREATE TRIGGER full_disk BEFORE INSERT ON messages
         FOR EACH ROW WHEN (NEW.content = 'too much') EXECUTE FUNCTION refuse()`);
    const [first, second, third] = await Promise.allSettled([
      chat(store, randomUUID(), "one"),
      chat(store, randomUUID(), "too much"),
      chat(store, randomUUID(), "two"),
    ]);
    expect(second).toMatchObject({ reason: { status: 507, code: "insufficient_storage" } });
    expect([first.status, third.status]).toEqual(["fulfilled", "fulfilled"]);
  });

  it("keeps reading while writes fail, even if a use should be recorded", async () => {
    const [id, missing] = [randomUUID(), randomUUID()];
    const { session } = await chat(store, id, "hello");
    await database.query(`CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$
         BEGIN RAISE 'could not extend file' USING ERRCODE = 'disk_full'; END $$;
       CREATE TRIGGER full_disk BEFORE INSERT OR UPDATE ON sessions FOR EACH ROW EXECUTE FUNCTION refuse()`);
    const full = { status: 507, code: "insufficient_storage" };
    const whole = target(id, true);
    const [opened, renamed, born] = await Promise.allSettled([
      store.execute({ kind: "open", target: whole, input: NOTHING }),
      store.execute({ kind: "edit", target: existing(id), input: { title: "changed" } }),
      store.execute({ kind: "open", target: target(missing), input: NOTHING }),
    ]);
    expect(opened).toMatchObject({
      value: {
        outcome: "ok",
        created: false,
        events: [],
        session,
        loaded: { messages: [{ content: "hello" }] },
      },
    });
    expect([renamed, born]).toMatchObject([{ reason: full }, { reason: full }]);
    const bound = { userState: null, publicKey: "0xa" };
    await expect(store.execute({ kind: "open", target: whole, input: bound })).rejects.toMatchObject(full);
    expect(
      await store.execute({
        kind: "open",
        target: { ...whole, session: missing, birth: null },
        input: NOTHING,
      }),
    ).toBeNull();
    const { incarnation } = session;
    const used = [
      { id: missing, incarnation },
      { id, incarnation },
      { id, incarnation: "another" },
    ];
    expect(await touch(store, used)).toEqual([missing, id]);
    await database.query("DROP TRIGGER full_disk ON sessions");
    expect(
      (await store.execute({ kind: "edit", target: existing(id), input: { title: "changed" } }))?.session
        .title,
    ).toBe("changed");
  });

  it("isolates a text that the database cannot store, and stores every other JSON value", async () => {
    const [id, other] = [randomUUID(), randomUUID()];
    const [bad, good] = await Promise.allSettled([chat(store, id, "a\0b"), chat(store, other, "fine")]);
    expect([bad.status, good.status]).toEqual(["rejected", "fulfilled"]);
    expect(await store.sessions.find(id)).toBeNull();
    const userState = { nul: "a\0b", emoji: "👍🏽", quotes: `{"\\,'}` };
    await store.execute({ kind: "open", target: target(id), input: { userState, publicKey: null } });
    expect((await record(store, id)).userState).toEqual(userState);
  });

  it("does not wait long for a locked session, nor delay others for it", async () => {
    const [held, free] = [randomUUID(), randomUUID()];
    await chat(store, held, "one");
    await database.holding(`SELECT 1 FROM sessions WHERE id = '${held}' FOR UPDATE`, async () => {
      const [first, second] = await Promise.allSettled([
        store.execute({ kind: "edit", target: existing(held), input: { title: "waits" } }),
        chat(store, free, "goes on"),
      ]);
      expect(first).toMatchObject({ reason: { ...UNAVAILABLE, cause: { code: "55P03" } } });
      expect(second.status).toBe("fulfilled");
      // Reads wait for no lock.
      expect((await record(store, held)).messageCount).toBe(1);
    });
    expect(
      (await store.execute({ kind: "edit", target: existing(held), input: { title: "next" } }))?.session
        .title,
    ).toBe("next");
  });

  it("keeps the leases of its turns while all its other calls wait for a lock", async () => {
    const url = database.url;
    const patient = await openPostgresStore({ url, connections: 3, connectMs: 20_000, statementMs: 60_000 });
    const { epoch } = await startTurn(patient, randomUUID(), "runs");
    let found: Promise<unknown> | undefined;
    await database.holding("LOCK TABLE sessions IN ACCESS EXCLUSIVE MODE", async () => {
      // As many calls as the store has connections, each waiting on one.
      found = Promise.all([1, 2, 3].map(() => patient.sessions.find(randomUUID())));
      await database.untilWaiting(3);
      expect(await patient.turns.renew("owner", [epoch], 10_000)).toEqual({ renewed: [epoch], busy: [] });
    });
    expect(await found).toEqual([null, null, null]);
    await patient.close();
  });

  it("gives up a renewal of leases early if the table is locked, so that the next one is in time", async () => {
    const id = randomUUID();
    const { epoch } = await startTurn(store, id, "runs");
    const patient = await openPostgresStore({ url: database.url, statementMs: 10_000 });
    // Opens the connection of the leases.
    expect(await patient.turns.renew("owner", [epoch], 60_000)).toEqual({ renewed: [epoch], busy: [] });
    const settled: string[] = [];
    const note = (what: string) => () => void settled.push(what);
    await database.holding("LOCK TABLE sessions, leases IN ACCESS EXCLUSIVE MODE", async () => {
      const renamed = patient
        .execute({ kind: "edit", target: existing(id), input: { title: "waits" } })
        .then(note("renamed"), note("rename refused"));
      const renewed = patient.turns.renew("owner", [epoch], 10_000);
      await Promise.all([renewed.then(note("renewed"), note("renewal refused")), renamed]);
    });
    expect(settled).toEqual(["renewal refused", "rename refused"]);
    expect(await patient.turns.renew("owner", [epoch], 10_000)).toEqual({ renewed: [epoch], busy: [] });
    await patient.close();
  });

  it("holds no connection while a turn runs", async () => {
    for (let count = 0; count < 10; count += 1) await startTurn(store, randomUUID(), "runs");
    const rows =
      await database.query(`SELECT count(*)::integer AS open, count(*) FILTER (WHERE state <> 'idle')::integer AS busy
       FROM pg_stat_activity WHERE application_name = 'colloquy' AND datname = '${database.name}' AND pid <> pg_backend_pid()`);
    expect(rows[0]).toMatchObject({ busy: 0 });
    // Three connections of this store, and those of the store beside it.
    expect(rows[0]?.["open"]).toBeLessThanOrEqual(6);
    expect(rows[0]?.["open"]).toBeGreaterThan(0);
  });
});
