// Commits that wait for a synchronous standby: none is acknowledged before the standby has it, whatever ends
// the wait.

import { randomUUID } from "node:crypto";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { isWithoutPostgres, PostgresServer } from "../../server/test/postgres-server.ts";
import { TcpProxy } from "@colloquy/testing/internal/tcp-proxy";
import { makeTemplate } from "../../server/test/use-postgres.ts";
import { OutcomeUnknown } from "@colloquy/engine/internal/core/errors";
import type { Store } from "@colloquy/engine/internal/core/ports/driven/store";
import { chat, existing, record, remove } from "@colloquy/testing/internal/store/fixtures/scenario";
import { Connections } from "./connections.ts";
import { openPostgresStore, type PostgresStoreOptions } from "./open.ts";
import { openRateCounters } from "./rate-counters.ts";
import { send } from "./statement.ts";

const UNKNOWN = { status: 503, code: "outcome_unknown" };
const UNAVAILABLE = { status: 503, code: "store_unavailable" };
const KEY = { idempotency: { key: "key", digest: "digest" } };

describe.skipIf(await isWithoutPostgres())("a store whose database has a synchronous standby", () => {
  const primary = new PostgresServer({ synchronous_standby_names: "spare" });
  let standby: PostgresServer;
  let template: string;
  let database: string;
  let proxy: TcpProxy;
  const stores: Store[] = [];
  let resume: (() => void) | null = null;

  beforeAll(async () => {
    await primary.start();
    standby = await primary.startStandby("spare");
    template = await makeTemplate(primary);
  });
  afterAll(async () => {
    await standby.stop();
    await primary.stop();
  });
  beforeEach(async () => {
    database = await primary.createDatabase(template);
    proxy = await TcpProxy.start(primary.port);
  });
  afterEach(async () => {
    replicate();
    await Promise.all(stores.splice(0).map((store) => store.close()));
    await proxy.stop();
  });

  /** Opens a store that gives up a commit after 3 s. */
  async function openStore(options: Partial<PostgresStoreOptions> = {}): Promise<Store> {
    const url = primary.url(database).replace(`:${primary.port}/`, `:${proxy.port}/`);
    const store = await openPostgresStore({ url, statementMs: 2_000, ...options });
    stores.push(store);
    return store;
  }

  /** Lets nothing reach the standby until `replicate`. */
  async function holdBack(): Promise<void> {
    resume = await standby.pauseReplication();
  }

  function replicate(): void {
    resume?.();
    resume = null;
  }

  function failureOf(answer: Promise<unknown>): Promise<unknown> {
    return answer.then(
      () => "acknowledged",
      (error: unknown) => error,
    );
  }

  /** Chats while nothing reaches the standby, and ends the wait of the commit. */
  async function chatCutBy(store: Store, id: string, cut: (backend: number) => unknown): Promise<unknown> {
    await holdBack();
    const answer = failureOf(chat(store, id, "hello", KEY));
    const [backend = 0] = await primary.untilAwaitingStandby(database);
    await cut(backend);
    return await answer;
  }

  const CUTS = [
    [
      "is cancelled by an operator",
      (pid: number) => primary.query(database, `SELECT pg_cancel_backend(${pid})`),
    ],
    [
      "is ended by an operator",
      (pid: number) => primary.query(database, `SELECT pg_terminate_backend(${pid})`),
    ],
    ["loses its client", () => proxy.cut()],
    ["is too long", () => undefined],
  ] as const;

  it.each(CUTS)("reports an unknown outcome if the wait of a commit %s", async (_, cut) => {
    const id = randomUUID();
    const store = await openStore();
    const answer = await chatCutBy(store, id, cut);
    expect(answer).toBeInstanceOf(OutcomeUnknown);
    expect(answer).toMatchObject(UNKNOWN);
    replicate();
    await expect.poll(() => store.probe().then(() => "done", String)).toBe("done");
    expect((await chat(store, id, "hello", KEY)).outcome.kind).toBe("replayed");
    expect((await record(store, id)).turnCount).toBe(1);
  });

  it.each(CUTS.slice(0, 3))(
    "acknowledges a commit whose wait %s as soon as the standby has it",
    async (_, cut) => {
      const store = await openStore({ statementMs: 60_000 });
      const id = randomUUID();
      const answer = await chatCutBy(store, id, async (backend) => {
        await cut(backend);
        replicate();
      });
      expect(answer).toBe("acknowledged");
      // What the standby has received it applies a moment later.
      await expect
        .poll(() => standby.query(database, `SELECT id FROM sessions WHERE id = '${id}'`))
        .toEqual([{ id }]);
    },
  );

  it("never ends the wait of a commit, and refuses writes until a commit succeeds", async () => {
    const problems: (string | null)[] = [];
    const store = await openStore({ onStandbyWait: (problem) => problems.push(problem) });
    const [id, other] = [randomUUID(), randomUUID()];
    const unknown = await chatCutBy(store, id, () => undefined);
    expect(unknown).toMatchObject(UNKNOWN);
    const waiting = await primary.untilAwaitingStandby(database);
    const refused = await failureOf(chat(store, other, "hello"));
    expect(refused).toMatchObject({ ...UNAVAILABLE, detail: expect.stringContaining("nothing was changed") });
    expect(await failureOf(store.probe())).toMatchObject(UNAVAILABLE);
    // As many backends wait as before, so that they do not use up the connections of the server.
    expect(await primary.untilAwaitingStandby(database)).toEqual(waiting);
    // The message is on no standby, so that nobody can read it.
    expect(await store.sessions.find(id)).toBeNull();
    expect(problems).toEqual([
      expect.stringMatching(
        /synchronous_standby_names is 'spare', and connected are: spare \(streaming, sync\)/,
      ),
    ]);
    replicate();
    await expect.poll(() => problems).toEqual([expect.anything(), null]);
    expect((await chat(store, other, "hello")).created).toBe(true);
    expect((await record(store, id)).turnCount).toBe(1);
  });

  it("does not answer from what only the primary has", async () => {
    const [id, removed] = [randomUUID(), randomUUID()];
    const [store, other, third] = [await openStore(), await openStore(), await openStore()];
    await chat(store, removed, "hello");
    await holdBack();
    const writes = [failureOf(chat(store, id, "hello", KEY)), failureOf(remove(store, existing(removed)))];
    // One transaction commits both.
    const [backend] = await primary.untilAwaitingStandby(database);
    await primary.query(database, `SELECT pg_cancel_backend(${backend})`);
    await Promise.all(writes);
    // Both are committed on the primary, where other nodes see them.
    expect((await record(other, id)).turnCount).toBe(1);
    expect(await other.sessions.find(removed)).toBeNull();
    // Each of them would find out that commits wait.
    expect(await failureOf(remove(other, existing(removed)))).toMatchObject(UNKNOWN);
    expect(await failureOf(chat(third, id, "hello", KEY))).toMatchObject(UNKNOWN);
    replicate();
    await expect.poll(() => other.probe().then(() => "done", String)).toBe("done");
    expect((await chat(other, id, "hello", KEY)).outcome.kind).toBe("replayed");
    expect(await remove(other, existing(removed))).toBeNull();
  });

  it("does not answer from what only the primary has while its disk is full", async () => {
    const id = randomUUID();
    const [store, other] = [await openStore(), await openStore()];
    await chatCutBy(store, id, (pid) => primary.query(database, `SELECT pg_cancel_backend(${pid})`));
    await primary.query(
      database,
      `SET synchronous_commit = local;
       CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$
         BEGIN RAISE 'could not extend file' USING ERRCODE = 'disk_full'; END $$;
       CREATE TRIGGER full_disk BEFORE INSERT OR UPDATE ON sessions FOR EACH ROW EXECUTE FUNCTION refuse()`,
    );
    expect(await failureOf(chat(other, id, "hello", KEY))).toMatchObject({ status: 503 });
  });

  it.each([
    ["off", "on"],
    ["local", "on"],
    ["remote_write", "on"],
    ["remote_apply", "remote_apply"],
  ])("commits on a database with synchronous_commit %s as with %s", async (configured, used) => {
    await primary.query(database, `ALTER DATABASE ${database} SET synchronous_commit = ${configured}`);
    const connections = new Connections({ url: primary.url(database) });
    const { rows } = await connections.use((connection) => send(connection, "SHOW synchronous_commit"));
    await connections.end();
    expect(rows).toEqual([{ synchronous_commit: used }]);
  });

  it("counts the requests of rate limits without a standby", async () => {
    const timers = { every: () => ({ stop: () => undefined }) };
    const logger = { debug() {}, info() {}, warn() {}, error() {} };
    const counters = await openRateCounters({ url: primary.url(database), node: "node", timers, logger });
    await holdBack();
    expect(await counters.take("key", 60_000)).toMatchObject({ count: 1 });
    expect(await counters.hold("place", 1)).toBe(true);
    await counters.close();
  });

  it("learns that a wait was cancelled from a database that sends no warnings", async () => {
    await primary.query(database, `ALTER DATABASE ${database} SET client_min_messages = error`);
    const store = await openStore();
    const cancel = (pid: number) => primary.query(database, `SELECT pg_cancel_backend(${pid})`);
    expect(await chatCutBy(store, randomUUID(), cancel)).toMatchObject(UNKNOWN);
  });
});

/** Keeps a server from making a checkpoint until the end of the test. */
async function holdCheckpoints(server: PostgresServer): Promise<void> {
  const rows = await server.query(
    "postgres",
    "SELECT pid FROM pg_stat_activity WHERE backend_type = 'checkpointer'",
  );
  const checkpointer = Number(rows[0]?.["pid"]);
  process.kill(checkpointer, "SIGSTOP");
  onTestFinished(() => void process.kill(checkpointer, "SIGCONT"));
}

describe.skipIf(await isWithoutPostgres())("a store whose standby was promoted", () => {
  it("does not mistake another transaction with the same id for its own", async () => {
    const former = await PostgresServer.start();
    onTestFinished(() => former.stop());
    const database = await makeTemplate(former);
    const promoted = await former.startStandby("spare");
    onTestFinished(() => promoted.stop());
    const proxy = await TcpProxy.start(former.port);
    onTestFinished(() => proxy.stop());
    const url = former.url(database).replace(`:${former.port}/`, `:${proxy.port}/`);
    const store = await openPostgresStore({ url, statementMs: 60_000 });
    const place = "SELECT checkpoint_lsn FROM pg_control_checkpoint()";
    const checkpoint = await former.query("postgres", place);
    // From here on, the standby gets nothing.
    await promoted.halt();
    proxy.fromClient = (bytes, { client, server }) => {
      if (!bytes.includes("COMMIT\0")) return void server.write(bytes);
      proxy.fromClient = (_more, link) => void link.client.destroy();
      server.removeAllListeners("data");
      client.removeAllListeners("close");
      server.removeAllListeners("close");
      server.on("data", () => void failOver(client));
      server.write(bytes);
    };
    let isFailingOver = false;
    const failOver = async (client: { destroy(): unknown }): Promise<void> => {
      if (isFailingOver) return;
      isFailingOver = true;
      await former.halt();
      await promoted.resume();
      await holdCheckpoints(promoted);
      await promoted.promote();
      // The ids that the former primary used last are used again.
      for (let n = 0; n < 20; n += 1) await promoted.query("postgres", "SELECT pg_current_xact_id()");
      proxy.target = promoted.port;
      proxy.fromClient = null;
      client.destroy();
    };
    const id = randomUUID();
    await expect(chat(store, id, "hello")).rejects.toMatchObject(UNKNOWN);
    // No checkpoint tells the servers apart.
    expect(await promoted.query("postgres", place)).toEqual(checkpoint);
    expect(await store.sessions.find(id)).toBeNull();
    await store.close();
  });
});
