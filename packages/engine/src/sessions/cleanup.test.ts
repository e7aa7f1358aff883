import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { bindTo } from "@colloquy/testing/internal/store/fixtures/scenario";
import type { BeforeCall } from "../../../server/test/intercepted-store.ts";
import { newId, RecordingSink, startService, until, type TestService } from "../../../server/test/service.ts";
import { ManualClock } from "../../../server/test/manual-clock.ts";
import type { AppSettings } from "../core/app-settings.ts";
import { SERVICE_ACTOR } from "../core/audit.ts";
import { Unavailable } from "../core/errors.ts";
import { FOR_ANYBODY } from "../../../server/test/stream-access.ts";
import { Cleanup } from "./cleanup.ts";
import { ANONYMOUS } from "../core/session-access.ts";

const ANY_ENTRY = { action: null, actor: null, app: null, target: null, from: null, to: null, limit: 10 };
const SILENT = { debug() {}, info() {}, warn() {}, error() {} };
const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
/** Shorter than the default of thirty days. */
const UNBOUND = 3 * HOUR;

let service: TestService;
let id: string;
let calls: string[];
let before: BeforeCall;

/** Starts the service with Apps that have these expiries besides that of `default`. */
async function start(expiries: Readonly<Record<string, Partial<AppSettings["expiry"]>>> = {}): Promise<void> {
  calls = [];
  before = () => undefined;
  service = await startService({
    beforeCall: (method, parameters) => {
      calls.push(method);
      return before(method, parameters);
    },
    adjust: (config) => {
      const apps = Object.entries({ default: {}, ...expiries }).map(([name, expiry]) => [
        name,
        { ...config.apps["default"]!, expiry: { emptyMs: HOUR, unboundMs: UNBOUND, ...expiry } },
      ]);
      const retention = { events: 10, eventMs: 24 * HOUR, auditDays: 1 };
      return { ...config, apps: Object.fromEntries(apps), retention };
    },
  });
  // The many timers of other parts would slow down the clock.
  service.leases.stop();
  // A title counts as use, and would be generated while the clock advances.
  service.titles.stop();
  id = newId();
}

beforeEach(() => start());
afterEach(() => service.close());

async function restart(...parameters: Parameters<typeof start>): Promise<void> {
  await service.close();
  await start(...parameters);
}

const exists = async (sessionId = id): Promise<boolean> =>
  (await service.store.sessions.find(sessionId)) !== null;
const count = (method: string): number => calls.filter((call) => call === method).length;

async function talk(publicKey: string | null = null): Promise<void> {
  await service.say(id, "hello", { publicKey });
  (await service.model.next()).say("hi").finish();
  await until(async () => !(await service.snapshot(id)).is_processing);
}

/** Advances the clock and cleans up, as the service does every five minutes. */
async function later(ms: number): Promise<void> {
  await service.clock.advance(ms);
  // A cleanup started by a timer may have used an earlier time.
  await service.cleanup.run();
  await service.cleanup.run();
}

describe("expiry", () => {
  it("removes an empty session one hour after its last use", async () => {
    await service.snapshot(id);
    await later(HOUR);
    expect(await exists()).toBe(true);
    await later(5 * MINUTE + 1);
    expect(await exists()).toBe(false);
    expect((await service.snapshot(id)).messages).toEqual([]);
  });

  it("removes an unused session with a message, but never one with a wallet", async () => {
    await talk();
    await later(UNBOUND);
    expect(await exists()).toBe(true);
    await later(6 * MINUTE);
    expect(await exists()).toBe(false);
    id = newId();
    await talk("0xa");
    await later(10 * UNBOUND);
    expect(await exists()).toBe(true);
  });

  it.each(["wallet", "user"])(
    "removes an unused session of a %s where the App has a retention",
    async (whose) => {
      await restart({ default: { boundMs: 24 * HOUR } });
      await talk(whose === "wallet" ? "0xa" : null);
      if (whose === "user") await service.threads.transfer(id, { owner: "alice" }, null);
      await later(24 * HOUR - MINUTE);
      expect(await exists()).toBe(true);
      await later(HOUR);
      expect(await exists()).toBe(false);
    },
  );

  it("uses the expiry of the session's App", async () => {
    await restart({ brief: { emptyMs: HOUR, unboundMs: HOUR } });
    await bindTo(service.store, id, "brief");
    await later(HOUR);
    expect(await exists()).toBe(true);
    await later(6 * MINUTE);
    expect(await exists()).toBe(false);
  });

  it.each([
    ["get session", () => service.threads.get(id, null)],
    ["list messages", () => service.threads.messages(id, null, 10, null)],
  ])("counts %s as use, in memory or not, recorded at most every five minutes", async (_what, ask) => {
    await service.snapshot(id);
    await service.clock.advance(25 * MINUTE);
    await ask();
    // More than half an hour without use.
    await service.evict();
    expect(service.registry.inMemory(id)).toBeNull();
    await ask();
    await later(HOUR - 1);
    expect(await exists()).toBe(true);
    await service.snapshot(id);
    const noted = count("noteUse");
    await ask();
    expect(count("noteUse")).toBe(noted);
  });

  it.each([
    ["get session", () => service.threads.get(id, null), "sessions.find"],
    ["list messages", () => service.threads.messages(id, null, 10, null), "sessions.messagePage"],
  ])("answers %s with one read and no write if its use was recorded recently", async (_what, ask, read) => {
    await service.snapshot(id);
    await service.evict();
    await ask();
    // Ignore the calls of a concurrent cleanup.
    const asked: string[] = [];
    before = (method, parameters) => {
      if (JSON.stringify(parameters).includes(id)) asked.push(method);
      return undefined;
    };
    await service.clock.advance(5 * MINUTE - 1);
    await ask();
    await ask();
    expect(asked).toEqual([read, read]);
    await service.clock.advance(1);
    await ask();
    await ask();
    expect(asked.slice(2)).toEqual([read, "noteUse", read]);
    expect(service.registry.inMemory(id)).toBeNull();
  });

  it("never removes a session in use, although use is recorded with a delay", async () => {
    await service.snapshot(id);
    const noted = service.clock.now();
    await service.clock.advance(5 * MINUTE - 1);
    await service.snapshot(id);
    expect(count("noteUse")).toBe(0);
    await service.clock.advance(HOUR);
    expect(service.clock.now() - noted).toBeGreaterThan(HOUR);
    await service.cleanup.run();
    expect(await exists()).toBe(true);
  });

  it("drops the incarnation from memory, and the id starts a new one", async () => {
    await talk();
    const { last_event_id: old } = await service.snapshot(id);
    await later(UNBOUND + 6 * MINUTE);
    expect(service.registry.inMemory(id)).toBeNull();
    const fresh = await service.snapshot(id);
    expect(fresh.messages).toEqual([]);
    expect(fresh.last_event_id.split("-")[0]).not.toBe(old.split("-")[0]);
  });

  it("never removes a processing session", async () => {
    await service.say(id, "hello");
    await service.model.next();
    await service.clock.advance(4 * MINUTE);
    const at = service.clock.now() + 10 * UNBOUND;
    expect(await service.store.sessions.expire({ emptyBefore: at, unboundBefore: at, limit: 10 })).toEqual(
      [],
    );
  });

  it("removes a session only after its last event stream was closed", async () => {
    const sink = new RecordingSink();
    const stream = await service.feed.open(
      { sessionId: id, access: FOR_ANYBODY, include: new Set(), lastEventId: null },
      sink,
      null,
    );
    for (let n = 0; n < 20; n += 1) await later(10 * MINUTE);
    expect(await exists()).toBe(true);
    expect(sink.ended).toBeNull();
    stream.close();
    await later(HOUR + 10 * MINUTE);
    expect(await exists()).toBe(false);
  });
});

describe("Cleanup", () => {
  it("works in batches, and other requests run in between", async () => {
    const ids = Array.from({ length: 450 }, newId);
    await Promise.all(ids.map((one) => service.snapshot(one)));
    await later(HOUR + 5 * MINUTE);
    await service.clock.advance(1);
    const order: string[] = [];
    before = (method) => {
      if (method !== "sessions.expire") return undefined;
      order.push("portion");
      if (order.length === 1) void service.snapshot(id).then(() => order.push("somebody else"));
      return undefined;
    };
    await service.cleanup.run();
    expect(order.filter((what) => what === "portion")).toHaveLength(3);
    expect(order.indexOf("somebody else")).toBeLessThan(order.lastIndexOf("portion"));
    expect(await Promise.all(ids.map(exists))).not.toContain(true);
    expect(await exists()).toBe(true);
  });

  it("keeps the last events of a session or those of 24 hours, whichever is more", async () => {
    await service.threads.create(id, "0xa", ANONYMOUS, null);
    for (let n = 1; n <= 30; n += 1) await service.threads.rename(id, `title ${n}`, null);
    const floor = async () => (await service.store.events.after(id, 0, 1))?.floor;
    await later(24 * HOUR - MINUTE);
    expect(await floor()).toBe(0);
    await later(2 * MINUTE);
    expect(await floor()).toBe(20);
    const page = await service.store.events.after(id, 20, 100);
    expect(page?.events.map(({ number }) => number)).toEqual([21, 22, 23, 24, 25, 26, 27, 28, 29, 30]);
  });

  it("removes idempotency keys after 24 hours", async () => {
    await service.say(id, "hello", { idempotencyKey: "k", publicKey: "0xa" });
    (await service.model.next()).finish();
    await later(24 * HOUR - MINUTE);
    expect((await service.say(id, "hello", { idempotencyKey: "k" })).messages).toHaveLength(2);
    await later(2 * MINUTE);
    expect(await service.store.jobs.forgetIdempotencyKeys(10)).toBe(0);
    expect((await service.say(id, "hello", { idempotencyKey: "k" })).messages).toHaveLength(3);
  });

  it("removes entries of the audit trail after their retention", async () => {
    await service.audit.note({
      action: "config_reloaded",
      actor: SERVICE_ACTOR,
      app: null,
      target: null,
      details: {},
    });
    const kept = async () => (await service.audit.list({ ...ANY_ENTRY, cursor: null })).entries.length;
    await later(24 * HOUR - MINUTE);
    expect(await kept()).toBe(1);
    await later(2 * MINUTE);
    expect(await kept()).toBe(0);
  });

  it("counts the sizes of sessions of an older version, 50 at a time", async () => {
    const limits: unknown[] = [];
    before = (method, parameters) => {
      if (method === "sessions.countSizes") limits.push(...parameters);
      return undefined;
    };
    await service.cleanup.run();
    expect(limits).toEqual([50]);
  });

  it("runs once for concurrent calls", async () => {
    await Promise.all([service.cleanup.run(), service.cleanup.run(), service.cleanup.run()]);
    expect(count("sessions.expire")).toBe(1);
  });

  it("runs in one of several processes, and in another one if that one is gone", async () => {
    const { store, registry, dispatcher, clock, apps, files } = service;
    const kept = { events: { keepCount: 10, keepMs: HOUR }, auditMs: HOUR };
    const other = new Cleanup({ store, registry, dispatcher, clock, logger: SILENT, apps, files, ...kept });
    const look = () => Promise.all([service.cleanup.runIfDue(), other.runIfDue()]);
    await look();
    expect(count("sessions.expire")).toBe(1);
    await clock.advance(5 * MINUTE);
    // Joins the timers, which have just requested the same.
    await look();
    expect(count("sessions.expire")).toBe(2);
    await service.cleanup.stop();
    await clock.advance(5 * MINUTE);
    await until(async () => count("sessions.expire") === 3);
    await other.stop();
  });

  it("uses the store's clock, not its own", async () => {
    await service.snapshot(id);
    for (let n = 1; n <= 30; n += 1) await service.threads.rename(id, `title ${n}`, null);
    const { store, registry, dispatcher, apps, files } = service;
    const clock = new ManualClock(service.clock.now() + 365 * 24 * HOUR);
    const kept = { events: { keepCount: 10, keepMs: HOUR }, auditMs: HOUR };
    const ahead = new Cleanup({ store, registry, dispatcher, clock, logger: SILENT, apps, files, ...kept });
    await ahead.runIfDue();
    expect([count("sessions.expire"), count("events.trim")]).toEqual([1, 1]);
    expect(await exists()).toBe(true);
    expect((await store.events.after(id, 0, 1))?.floor).toBe(0);
    await ahead.stop();
  });

  it("retries later when the store fails, and fails no request", async () => {
    await service.snapshot(id);
    before = (method) =>
      method === "sessions.expire"
        ? Promise.reject(new Unavailable(503, "store_unavailable", "Later.", 1))
        : undefined;
    await later(HOUR + 6 * MINUTE);
    expect(await exists()).toBe(true);
    before = () => undefined;
    await service.clock.advance(5 * MINUTE);
    await until(async () => !(await exists()));
  });

  it("removes sessions in smaller batches if the database needs too long for a full one", async () => {
    const ids = Array.from({ length: 60 }, newId);
    await Promise.all(ids.map((one) => service.snapshot(one)));
    before = (method, [selection]) =>
      method === "sessions.expire" && (selection as { limit: number }).limit > 10
        ? Promise.reject(new Unavailable(503, "store_unavailable", "Too slow.", 1))
        : undefined;
    await later(HOUR + 6 * MINUTE);
    expect(await Promise.all(ids.map(exists))).not.toContain(true);
  });

  it("does the other steps if one fails", async () => {
    before = (method) =>
      method === "sessions.expire" ? Promise.reject(new Error("A page of the table is broken")) : undefined;
    await service.cleanup.run();
    expect(count("sessions.expire")).toBeGreaterThan(1);
    for (const method of ["events.trim", "audit.forget", "files.unused", "sessions.countSizes"])
      expect([method, count(method)]).toEqual([method, 1]);
  });

  it("ends after the current batch when the service stops", async () => {
    const gate = Promise.withResolvers<void>();
    before = (method) => (method === "sessions.expire" ? gate.promise : undefined);
    void service.cleanup.run();
    let stopped = false;
    const stopping = service.cleanup.stop().then(() => (stopped = true));
    await new Promise((resolve) => setImmediate(resolve));
    expect(stopped).toBe(false);
    gate.resolve();
    await stopping;
    expect(count("events.trim")).toBe(0);
  });
});
