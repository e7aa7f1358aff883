// Sessions that another node has locked for long, because it is paused or slow. Calls for other sessions must
// not be delayed.

import type { Committed } from "@colloquy/engine/internal/core/ports/driven/session-store";
import { randomUUID } from "node:crypto";
import { setImmediate } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { isWithoutPostgres } from "../../server/test/postgres-server.ts";
import { useDatabase } from "../../server/test/use-postgres.ts";
import { TcpProxy } from "@colloquy/testing/internal/tcp-proxy";
import type { Store } from "@colloquy/engine/internal/core/ports/driven/store";
import { ANONYMOUS } from "@colloquy/engine/internal/core/session-access";
import {
  NOTHING,
  askOf,
  callOf,
  chat,
  identityOf,
  messagesOf,
  record,
  startTurn,
  step,
  target,
  touch,
} from "@colloquy/testing/internal/store/fixtures/scenario";
import { Connections } from "./connections.ts";
import { type PostgresStoreOptions } from "./open.ts";
import { lockSessions } from "./session-locks.ts";
import { send } from "./statement.ts";

const UNAVAILABLE = { status: 503, code: "store_unavailable" };
const NEVER_WAITED_FOR = { cause: new Error("Another transaction has locked the session") };

describe.skipIf(await isWithoutPostgres())("sessions that another node has locked", () => {
  const database = useDatabase("the schema");
  const open = (options?: Partial<PostgresStoreOptions>): Promise<Store> => database.open(options);

  async function sessions(store: Store, count: number): Promise<readonly string[]> {
    const ids = Array.from({ length: count }, () => randomUUID());
    for (const id of ids) await store.execute({ kind: "open", target: target(id), input: NOTHING });
    return ids;
  }

  function holding(ids: readonly string[], work: () => Promise<void>): Promise<void> {
    const list = ids.map((id) => `'${id}'`).join(", ");
    return database.holding(`SELECT 1 FROM sessions WHERE id IN (${list}) ORDER BY id FOR UPDATE`, work);
  }

  it("delay no calls for other sessions in their batch, and have their own answered when unlocked", async () => {
    const store = await open({ lanes: 1 });
    const [held, ...free] = await sessions(store, 9);
    let isAnswered = false;
    let waiting: Promise<Committed<unknown> | null> | undefined;
    await holding([held!], async () => {
      waiting = store.execute({
        kind: "edit",
        target: { session: held!, birth: null, load: false, access: null },
        input: { title: "waits" },
      });
      void waiting.then(() => (isAnswered = true));
      const others = [...free, randomUUID(), randomUUID()].map((id) => chat(store, id, "goes on"));
      expect((await Promise.all(others)).every(({ outcome }) => outcome.kind === "accepted")).toBe(true);
      expect(isAnswered).toBe(false);
    });
    expect((await waiting)?.session.title).toBe("waits");
  });

  it("are copied, and copied into, once they are unlocked", async () => {
    const store = await open({ lanes: 1 });
    const [origin = "", copy = ""] = await sessions(store, 2);
    for (const held of [origin, copy]) {
      let waiting: Promise<Committed<unknown> | null> | undefined;
      await holding([held], async () => {
        const input = { origin, through: null, access: ANONYMOUS, messageId: randomUUID() };
        waiting = store.execute({ kind: "fork", target: target(copy), input });
        await database.untilWaiting();
      });
      expect((await waiting)?.outcome).toBe("ok");
    }
  });

  it("get their calls in request order", async () => {
    const store = await open({ lanes: 1 });
    const [held, other] = await sessions(store, 2);
    const done: string[] = [];
    const asked: Promise<unknown>[] = [];
    const say = (text: string) =>
      asked.push(chat(store, held!, text, { maxQueued: 10 }).then(() => done.push(text)));
    await holding([held!], async () => {
      say("one");
      // The call is in progress by now, and unanswered.
      await setImmediate();
      say("two");
      await store.execute({
        kind: "edit",
        target: { session: other!, birth: null, load: false, access: null },
        input: { title: "goes on" },
      });
      say("three");
      await database.untilWaiting();
      say("four");
      await store.execute({
        kind: "edit",
        target: { session: other!, birth: null, load: false, access: null },
        input: { title: "goes on still" },
      });
      expect(done).toEqual([]);
    });
    say("five");
    await Promise.all(asked);
    expect(done).toEqual(["one", "two", "three", "four", "five"]);
    expect((await messagesOf(store, held!)).map(({ content }) => content)).toEqual(done);
  });

  it("are retried if more are locked than may be waited for", async () => {
    const store = await open({ lanes: 1, mostWaitedFor: 1 });
    const [other, ...held] = await sessions(store, 13);
    const removed = held.slice(6);
    const asked: Promise<unknown>[] = [];
    await holding(held, async () => {
      asked.push(...held.slice(0, 6).map((id) => chat(store, id, "waits")));
      asked.push(
        ...removed.map((id) =>
          store.execute({
            kind: "delete",
            target: { session: id, birth: null, load: false, access: null },
            input: null,
          }),
        ),
      );
      await database.untilWaiting();
      for (let count = 0; count < 5; count += 1) await chat(store, other!, "goes on", { maxQueued: 10 });
      const [row] = await database.query(
        "SELECT count(*)::integer AS waiting FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'",
      );
      expect(row).toEqual({ waiting: 1 });
    });
    await Promise.all(asked);
    for (const id of held.slice(0, 6)) expect((await record(store, id)).messageCount).toBe(1);
    for (const id of removed) expect(await store.sessions.find(id)).toBeNull();
  });

  it("have their calls rejected without a change after too long a wait", async () => {
    const store = await open({ lanes: 1, mostWaitedFor: 1, statementMs: 3000 });
    const [other, ...held] = await sessions(await open(), 13);
    await holding(held, async () => {
      const refused = Promise.allSettled(
        held.map((id) =>
          store.execute({
            kind: "edit",
            target: { session: id, birth: null, load: false, access: null },
            input: { title: "waits" },
          }),
        ),
      );
      expect(
        (
          await store.execute({
            kind: "edit",
            target: { session: other!, birth: null, load: false, access: null },
            input: { title: "goes on" },
          })
        )?.session.title,
      ).toBe("goes on");
      for (const answer of await refused) expect(answer).toMatchObject({ reason: UNAVAILABLE });
      // Some calls failed without a wait of their own, so the timeouts did not add up.
      expect(await refused).toContainEqual({
        status: "rejected",
        reason: expect.objectContaining(NEVER_WAITED_FOR),
      });
    });
    for (const id of held)
      expect(
        (
          await store.execute({
            kind: "edit",
            target: { session: id, birth: null, load: false, access: null },
            input: { title: "next" },
          })
        )?.session.head,
      ).toBe(1);
  });

  it("delay no other session if they are being created on a paused node", async () => {
    const proxy = await TcpProxy.start(database.server.port);
    const paused = await open({ url: database.urlBy(proxy.port) });
    const store = await open({ lanes: 1 });
    const id = randomUUID();
    const goOn = Promise.withResolvers<() => void>();
    proxy.fromClient = (bytes, link) => {
      if (bytes.includes("COMMIT\0")) goOn.resolve(() => void link.server.write(bytes));
      else link.server.write(bytes);
    };
    const first = chat(paused, id, "first");
    const resume = await goOn.promise;
    const second = chat(store, id, "second");
    expect((await chat(store, randomUUID(), "goes on")).created).toBe(true);
    proxy.fromClient = null;
    resume();
    expect([(await first).created, (await second).created]).toEqual([true, false]);
    expect((await messagesOf(store, id)).map(({ content }) => content)).toEqual(["first", "second"]);
    await proxy.stop();
  });

  it("are not claimed, and unlocked ones are at once", async () => {
    const store = await open();
    const [held, free] = [randomUUID(), randomUUID()];
    for (const id of [held, free]) await chat(store, id, "hello");
    const claim = async () => {
      const claimed = await store.executeEach({
        kind: "claimTurns",
        owner: "me",
        agentMessageIds: [randomUUID(), randomUUID(), randomUUID()],
        fullProviders: [],
        models: {},
      });
      return claimed.map(({ session }) => session.id);
    };
    await holding([held], async () => {
      expect(await claim()).toEqual([free]);
      expect(await claim()).toEqual([]);
    });
    expect(await claim()).toEqual([held]);
  });

  it("are claimed with the others if they are locked only for a moment", async () => {
    const store = await open({ claimAgainMs: 8000 });
    const [held, free] = [randomUUID(), randomUUID()];
    for (const id of [held, free]) await chat(store, id, "hello");
    let claim: Promise<readonly Committed<unknown>[]> | undefined;
    await holding([held], async () => {
      claim = store.executeEach({
        kind: "claimTurns",
        owner: "me",
        agentMessageIds: [randomUUID(), randomUUID(), randomUUID()],
        fullProviders: [],
        models: {},
      });
      while ((await database.query("SELECT 1 FROM leases")).length === 0);
    });
    expect((await claim)?.map(({ session }) => session.id)).toEqual([free, held]);
  });

  it("have their use recorded when unlocked; the use of others is recorded at once", async () => {
    const store = await open();
    const [held, free] = await sessions(store, 2);
    const incarnations = new Map<string, string>();
    for (const id of [held!, free!]) incarnations.set(id, (await record(store, id)).incarnation);
    const noteUse = (...ids: string[]) =>
      touch(
        store,
        ids.map((id) => ({ id, incarnation: incarnations.get(id) ?? "" })),
      );
    const usedAt = async (id: string) =>
      (await database.query(`SELECT used_at FROM sessions WHERE id = '${id}'`))[0]?.["used_at"];
    const before = await usedAt(held!);
    let gone: ReturnType<typeof noteUse> | undefined;
    await holding([held!], async () => {
      gone = noteUse(held!, free!, randomUUID());
      await database.untilWaiting();
      expect(await noteUse(free!)).toEqual([]);
    });
    expect(await gone).toHaveLength(1);
    expect(Number(await usedAt(held!))).toBeGreaterThan(Number(before));
  });

  it("do not delay handing back other turns, and have theirs handed back when unlocked", async () => {
    const store = await open();
    const [held, free] = [randomUUID(), randomUUID()];
    const turns = [await startTurn(store, held, "hello"), await startTurn(store, free, "hello")];
    let handed: Promise<number> | undefined;
    await holding([held], async () => {
      const epochs = turns.map(({ epoch }) => epoch);
      handed = store.turns.handBack("owner", epochs);
      await database.untilWaiting();
      const [again] = await store.executeEach({
        kind: "claimTurns",
        owner: "other",
        agentMessageIds: [randomUUID()],
        fullProviders: [],
        models: {},
      });
      expect(again?.session.id).toBe(free);
    });
    expect(await handed).toBe(2);
  });

  it("keep their leases unchanged while locked; the leases of others are renewed or released", async () => {
    let now = Date.UTC(2026, 0, 1);
    const store = await open({ clock: { now: () => now } });
    const ids = [randomUUID(), randomUUID(), randomUUID()];
    const turns: number[] = [];
    for (const id of ids) turns.push((await startTurn(store, id, "hello")).epoch);
    const [held = 0, renewed = 0, lost = 0] = turns;
    const renew = (...epochs: number[]) => store.turns.renew("owner", epochs, 20_000);
    const release = () => store.turns.releaseDeadLeases(null);
    await database.holding(`SELECT 1 FROM leases WHERE epoch = ${held} FOR UPDATE`, async () => {
      expect(await renew(held, renewed, 123_456)).toEqual({ renewed: [renewed], busy: [held] });
      now += 10_000;
      expect(await release()).toBe(1);
      expect(await renew(held, renewed, lost)).toEqual({ renewed: [renewed], busy: [] });
    });
    expect(await release()).toBe(1);
    now += 20_000;
    expect(await release()).toBe(1);
  });

  it("report a lease as locked while it is being released, and then as gone", async () => {
    const store = await open();
    const { epoch } = await startTurn(store, randomUUID(), "hello");
    const renew = () => store.turns.renew("owner", [epoch], 20_000);
    await database.holding(`DELETE FROM leases WHERE epoch = ${epoch}`, async (run) => {
      expect(await renew()).toEqual({ renewed: [], busy: [epoch] });
      await run("COMMIT");
      expect(await renew()).toEqual({ renewed: [], busy: [] });
    });
  });

  it("block neither a renewal behind a scan for dead leases, nor the reverse", async () => {
    const store = await open();
    const { epoch } = await startTurn(store, randomUUID(), "hello");
    const { epoch: dead } = await startTurn(store, randomUUID(), "hello");
    await database.query(`UPDATE leases SET expires_at = 0 WHERE epoch = ${dead}`);
    let swept: Promise<number> | undefined;
    await database.holding("LOCK TABLE turns IN ACCESS EXCLUSIVE MODE", async () => {
      const sweep = (): Promise<number> => store.turns.releaseDeadLeases(null);
      // A wait for a lock ends after a second.
      swept = sweep().catch(sweep);
      await database.untilWaiting();
      expect(await store.turns.renew("owner", [epoch], 20_000)).toEqual({ renewed: [epoch], busy: [] });
    });
    expect(await swept).toBe(1);
  });

  it("store a text that is sent again before its first try was committed", async () => {
    const store = await open();
    const turn = identityOf(await startTurn(store, randomUUID(), "go"));
    const first = `INSERT INTO checkpoints VALUES (${turn.sessionKey}, ${turn.number}, 0, 'One')`;
    let sentAgain: Promise<readonly boolean[]> | undefined;
    await database.holding(first, async (run) => {
      sentAgain = store.turns.checkpoint([{ turn, offset: 0, text: "One, two" }]);
      await database.untilWaiting();
      await run("COMMIT");
      expect(await sentAgain).toEqual([true]);
    });
    expect(await database.query("SELECT text FROM checkpoints")).toEqual([{ text: "One, two" }]);
  });

  it("have their actions expired and their logs trimmed later than the others", async () => {
    let now = Date.UTC(2026, 0, 1);
    const store = await open({ clock: { now: () => now } });
    const ids = [randomUUID(), randomUUID()];
    for (const id of ids) {
      const turn = identityOf(await startTurn(store, id, "go"));
      await store.execute({
        kind: "stepWithCalls",
        target: { turn },
        input: { step: step(1, ""), calls: [callOf("a")], actions: [askOf("a")] },
      });
      await store.execute({ kind: "wait", target: { turn }, input: null });
    }
    now += 600_000;
    const expire = async () =>
      (await store.executeEach({ kind: "expireActions", limit: 10 })).map(({ session }) => session.id);
    const trim = () => store.events.trim({ keepCount: 1, keepAfter: now + 1, limit: 10 });
    await holding([ids[0]!], async () => {
      expect(await expire()).toEqual([ids[1]]);
      expect(await trim()).toBe(1);
    });
    expect(await expire()).toEqual([ids[0]]);
    expect(await trim()).toBe(1);
  });

  it("are locked in the order of their ids, whatever the order of request and creation", async () => {
    const [low, high] = ["00000000-0000-4000-8000-000000000001", "ffffffff-0000-4000-8000-000000000001"];
    const store = await open();
    const connections = new Connections({ url: database.url });
    const keys: number[] = [];
    for (const id of [high, low])
      keys.push(
        (await store.execute({ kind: "open", target: target(id), input: NOTHING }))?.session.key ?? 0,
      );
    for (const sought of [{ ids: [high, low] }, { keys }]) {
      let locked: Promise<unknown> = Promise.resolve();
      await database.holding(`SELECT 1 FROM sessions WHERE id = '${low}' FOR UPDATE`, async (run) => {
        locked = connections.use(async (connection) => {
          await send(connection, "BEGIN");
          const rows = await lockSessions(connection, sought, "waits");
          await send(connection, "COMMIT");
          expect(rows).toHaveLength(2);
        });
        await database.untilWaiting();
        // A caller that waits for the first session has not locked the second.
        await run(`SELECT 1 FROM sessions WHERE id = '${high}' FOR UPDATE NOWAIT`);
      });
      await locked;
    }
    await connections.end();
  });
});
