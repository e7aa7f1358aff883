// Rate counters of several nodes on one real database.

import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { ManualClock } from "@colloquy/testing/internal/manual-clock";
import { isWithoutPostgres, PostgresServer } from "../../server/test/postgres-server.ts";
import { useDatabase } from "../../server/test/use-postgres.ts";
import { TcpProxy } from "@colloquy/testing/internal/tcp-proxy";
import {
  HOLDER_DEAD_MS,
  HOLDER_SIGN_MS,
  type RateCounters,
} from "@colloquy/engine/internal/core/ports/driven/rate-counters";
import { openPostgresStore } from "./open.ts";
import { openRateCounters } from "./rate-counters.ts";

const MINUTE = 60_000;
/** Reads how often the server has synced its log. */
const SYNCS_BEFORE_18 = "SELECT wal_sync AS synced FROM pg_stat_wal";
const SYNCS = "SELECT sum(fsyncs) AS synced FROM pg_stat_io WHERE object = 'wal'";
const UNAVAILABLE = { status: 503, code: "store_unavailable" };

describe.skipIf(await isWithoutPostgres())("rate counters of several nodes", () => {
  const database = useDatabase("the schema");
  let clock: ManualClock;
  let nodes: RateCounters[];
  let warned: PromiseWithResolvers<void>;

  beforeEach(async () => {
    clock = new ManualClock();
    warned = Promise.withResolvers();
    nodes = await Promise.all(["a", "b", "c"].map((node) => open(node)));
  });
  afterEach(async () => {
    await Promise.all(nodes.map((node) => node.close()));
  });

  function open(
    node: string,
    more: {
      readonly url?: string;
      readonly timers?: ManualClock;
      readonly statementMs?: number;
      readonly connectMs?: number;
    } = {},
  ) {
    const logger = {
      debug() {},
      info() {},
      error() {},
      warn: () => warned.resolve(),
    };
    const url = database.url;
    return openRateCounters({
      url,
      node,
      timers: clock,
      logger,
      clock,
      statementMs: 60_000,
      connectMs: 60_000,
      ...more,
    });
  }

  const rows = (table: string) => database.query(`SELECT * FROM ${table} ORDER BY 1, 2`);
  /** Waits for writes that a node makes on its own initiative. */
  async function until(condition: () => Promise<boolean>): Promise<void> {
    for (let round = 0; round < 2_000; round += 1) if (await condition()) return;
    throw new Error("It never came true");
  }
  const heldOf = async (key: string): Promise<number> => {
    const found = await database.query(
      `SELECT coalesce(sum(held), 0)::integer AS held FROM held_places WHERE key = '${key}'`,
    );
    return Number(found[0]?.["held"]);
  };

  describe("the budget of a key", () => {
    /** Returns the milliseconds to wait for a request beyond the first `limit`; 0 within the limit. */
    async function take(node: RateCounters, key = "k", limit = 10): Promise<number> {
      const { count, endsInMs } = await node.take(key, MINUTE);
      return count <= limit ? 0 : endsInMs;
    }

    it("is spent once under concurrent requests of all nodes", async () => {
      const answers = await Promise.all(Array.from({ length: 60 }, (_, index) => take(nodes[index % 3]!)));
      expect(answers.filter((wait) => wait === 0)).toHaveLength(10);
      // Sequential requests, once the budget is used up.
      expect(await take(nodes[1]!)).toBe(MINUTE);
      expect(await take(nodes[2]!, "another key")).toBe(0);
    });

    it("is spent in the order of requests", async () => {
      const answers = await Promise.all(Array.from({ length: 12 }, () => take(nodes[0]!)));
      expect(answers.map((wait) => wait === 0)).toEqual([...Array<boolean>(10).fill(true), false, false]);
    });

    it("is counted exactly, and can be read without being spent", async () => {
      const peek = (node: RateCounters) => node.peek("k", MINUTE);
      expect(await peek(nodes[0]!)).toEqual({ count: 0, endsInMs: MINUTE });
      await clock.advance(10_000);
      const answers = await Promise.all([take, take, take].map((count) => count(nodes[0]!)));
      expect(answers).toEqual([0, 0, 0]);
      await clock.advance(1_000);
      expect(await nodes[1]!.take("k", MINUTE)).toEqual({ count: 4, endsInMs: MINUTE - 1_000 });
      for (const node of nodes) expect(await peek(node)).toEqual({ count: 4, endsInMs: MINUTE - 1_000 });
      await clock.advance(MINUTE - 1_000);
      expect(await peek(nodes[0]!)).toEqual({ count: 0, endsInMs: MINUTE });
    });

    it("is renewed a minute after the first request, and not before", async () => {
      // A time other than that of the sweep.
      await clock.advance(10_000);
      await take(nodes[0]!, "k", 1);
      await clock.advance(MINUTE - 1);
      expect(await take(nodes[1]!, "k", 1)).toBe(1);
      await clock.advance(1);
      const answers = await Promise.all(nodes.map((node) => take(node, "k", 2)));
      expect(answers.toSorted((left, right) => left - right)).toEqual([0, 0, MINUTE]);
    });

    it("is counted for many keys without deadlocks between nodes", async () => {
      const keys = Array.from({ length: 300 }, (_, index) => `key ${index}`);
      const answers = await Promise.all(
        nodes.flatMap((node, index) =>
          (index === 1 ? keys.toReversed() : keys).map((key) => take(node, key, 2)),
        ),
      );
      expect(answers.filter((wait) => wait === 0)).toHaveLength(2 * keys.length);
    });

    it("is spent by amounts, and has room for smaller ones after a larger one was given back", async () => {
      const answers = await Promise.all(
        Array.from({ length: 40 }, (_, index) => nodes[index % 3]!.take("k", MINUTE, 33)),
      );
      const counts = answers.map(({ count }) => count).toSorted((left, right) => left - right);
      expect(counts).toEqual(Array.from({ length: 40 }, (_, index) => 33 * (index + 1)));
      await Promise.all(Array.from({ length: 37 }, (_, index) => nodes[index % 3]!.take("k", MINUTE, -33)));
      expect((await nodes[0]!.take("k", MINUTE, 1)).count).toBe(100);
      // Given back after the window has ended: the next one is no larger.
      await clock.advance(MINUTE);
      await nodes[1]!.take("k", MINUTE, -33);
      expect((await nodes[2]!.take("k", MINUTE, 5)).count).toBe(5);
    });

    it("is deleted when its minute is over", async () => {
      await Promise.all(Array.from({ length: 3_300 }, (_, index) => take(nodes[0]!, `key ${index}`)));
      await clock.advance(MINUTE / 2);
      await take(nodes[0]!, "young");
      await clock.advance(MINUTE / 2);
      await until(async () => (await rows("rate_windows")).length === 1);
      expect(await rows("rate_windows")).toMatchObject([{ key: "young" }]);
    });
  });

  describe("slots of a key", () => {
    const hold = (node: RateCounters, key = "k", limit = 10) => node.hold(key, limit);

    it("are held once each under concurrent requests of all nodes", async () => {
      const answers = await Promise.all(Array.from({ length: 60 }, (_, index) => hold(nodes[index % 3]!)));
      expect(answers.filter(Boolean)).toHaveLength(10);
      expect(await heldOf("k")).toBe(10);
      expect(await hold(nodes[0]!, "another key")).toBe(true);
    });

    it("can be taken on every node once they are freed", async () => {
      for (let count = 0; count < 10; count += 1) await hold(nodes[0]!);
      expect(await hold(nodes[1]!)).toBe(false);
      nodes[0]!.release("k");
      await until(async () => (await heldOf("k")) === 9);
      expect(await hold(nodes[1]!)).toBe(true);
      expect(await hold(nodes[0]!)).toBe(false);
    });

    it("leave no row when all are freed", async () => {
      await hold(nodes[0]!);
      expect(await hold(nodes[1]!, "full", 0)).toBe(false);
      nodes[0]!.release("k");
      await until(async () => (await rows("held_places")).length === 0);
    });

    it("are freed within fifteen seconds of the death of their node", async () => {
      // The timers of this node stand still, so that the other nodes consider it dead.
      const dead = await open("dead", { timers: new ManualClock() });
      for (let count = 0; count < 10; count += 1) await hold(dead);
      for (let ms = HOLDER_SIGN_MS; ms < HOLDER_DEAD_MS; ms += HOLDER_SIGN_MS) {
        await passSign();
        expect(await hold(nodes[0]!)).toBe(false);
      }
      await passSign();
      expect(await hold(nodes[0]!)).toBe(true);
      for (let ms = 0; ms < 2 * MINUTE; ms += HOLDER_SIGN_MS) await passSign();
      expect((await rows("place_holders")).map(({ node }) => node)).toEqual(["a", "b", "c"]);
      expect(await heldOf("k")).toBe(1);
      await dead.close();
    });

    it("are taken again by a node that was presumed dead, and by all nodes if the database has lost them", async () => {
      await hold(nodes[0]!, "k", 1);
      await database.query("TRUNCATE place_holders, held_places");
      expect(await heldOf("k")).toBe(0);
      await passSign();
      await until(async () => (await heldOf("k")) === 1);
      expect(await hold(nodes[1]!, "k", 1)).toBe(false);
    });

    it("are freed when their node stops", async () => {
      await hold(nodes[0]!, "k", 1);
      await nodes[0]!.close();
      expect(await hold(nodes[1]!, "k", 1)).toBe(true);
      nodes = nodes.slice(1);
    });

    /** Advances past every node's next heartbeat. */
    async function passSign(): Promise<void> {
      await clock.advance(HOLDER_SIGN_MS);
      const isSeen = `SELECT count(*)::integer AS seen FROM place_holders WHERE seen_at = ${clock.now()}`;
      await until(async () => (await database.query(isSeen))[0]?.["seen"] === 3);
    }
  });

  it("give 503 while the database is unreachable, and are corrected after it recovers", async () => {
    const proxy = await TcpProxy.start(database.server.port);
    const url = database.urlBy(proxy.port);
    const node = await open("far", { url, statementMs: 2_000, connectMs: 2_000 });
    expect(await node.hold("k", 2)).toBe(true);
    proxy.isSilent = true;
    const refused = await Promise.allSettled([node.take("k", MINUTE), node.hold("k", 2)]);
    for (const answer of refused) expect(answer).toMatchObject({ reason: UNAVAILABLE });
    node.release("k");
    await clock.advance(HOLDER_SIGN_MS);
    await warned.promise;
    proxy.isSilent = false;
    proxy.cut();
    await clock.advance(HOLDER_SIGN_MS);
    await until(async () => (await heldOf("k")) === 0);
    expect([await node.hold("k", 1), await nodes[0]!.hold("k", 1)]).toEqual([true, false]);
    await node.close();
    await proxy.stop();
  });

  it("do not wait for the disk", async () => {
    // Only the WAL writer is left of the server's background processes, at its slowest, so that the server
    // itself hardly syncs.
    const own = await PostgresServer.start({
      fsync: "on",
      wal_sync_method: "fdatasync",
      wal_writer_delay: "10s",
      checkpoint_timeout: "1h",
    });
    try {
      const name = await own.createDatabase();
      const url = own.url(name);
      await (await openPostgresStore({ url })).close();
      const node = await open("alone", { url });
      const [found] = await own.query(
        name,
        "SELECT current_setting('server_version_num')::integer AS version",
      );
      const syncs = Number(found?.["version"]) < 180_000 ? SYNCS_BEFORE_18 : SYNCS;
      const synced = async () => Number((await own.query(name, syncs))[0]?.["synced"]);
      const before = await synced();
      for (let count = 0; count < 200; count += 1) await node.take(`key ${count}`, MINUTE);
      for (let count = 0; count < 50; count += 1) await node.hold(`key ${count}`, 10);
      // The statistics of its connections are complete then.
      await node.close();
      expect((await synced()) - before).toBeLessThan(50);
    } finally {
      await own.stop();
    }
  });
});
