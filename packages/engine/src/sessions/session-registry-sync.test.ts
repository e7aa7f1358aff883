import { describe, expect, it } from "vitest";
import { ManualClock } from "../../../server/test/manual-clock.ts";
import { until } from "../../../server/test/service.ts";
import type { AppDefinition } from "../core/ports/driven/apps.ts";
import type { Store } from "../core/ports/driven/store.ts";
import type { NumberedEvent } from "../core/session-event.ts";
import { newSession } from "../core/session.ts";
import type { SyncResult } from "./replica-sync.ts";
import { SessionCache } from "./session-cache.ts";
import { SessionRegistry } from "./session-registry.ts";
import { Session } from "./session.ts";

describe("a session in memory that other processes changed", () => {
  const ID = "session";
  const SILENT = { debug() {}, info() {}, warn() {}, error() {} };
  const created: NumberedEvent = {
    number: 1,
    event: {
      type: "message_created",
      message: {
        id: "m1",
        sender: "agent",
        content: "x".repeat(10_000),
        created_at: "2026-01-01T00:00:00.000Z",
        status: "complete",
      },
    },
  };
  const emptySession = (key: number, incarnation: string) =>
    new Session({
      session: newSession(key, ID, { incarnation, model: "m/m" }, 0),
      messages: [],
      systemEvents: [],
      pendingActions: [],
      checkpointed: "",
    });

  /** Creates a registry whose sync returns `result`, with one session in memory and none in its store. */
  function given(result: SyncResult) {
    const clock = new ManualClock();
    const running = { isRunning: () => false, supersede: () => undefined };
    const hub = { evicted: () => undefined, publish: () => undefined, answerLoaded: () => undefined };
    const cache = new SessionCache({ budgetBytes: 1e6, idleMs: 1e3, clock, running, hub, logger: SILENT });
    const during = { run: async (): Promise<void> => undefined };
    const sync = {
      toNow: async () => {
        await during.run();
        return result;
      },
      toHead: async () => {
        await during.run();
        return result === "current";
      },
    };
    const store: { execute: () => Promise<unknown> } = { execute: async () => null };
    const apps = { get: () => ({ models: ["m/m"] }) as unknown as AppDefinition };
    const registry = new SessionRegistry({
      store: store as unknown as Store,
      hub,
      clock,
      logger: { info: () => undefined },
      cache,
      sync,
      running,
      apps,
    });
    const session = emptySession(1, "a");
    cache.put(session);
    return { registry, cache, session, store, during };
  }

  it("is returned only after it has caught up", async () => {
    const { registry, cache, session, during } = given("current");
    expect([registry.peekCurrent(ID), registry.getSync(ID)]).toEqual([null, null]);
    expect(await registry.find(ID)).toBe(session);
    during.run = () => Promise.reject(new Error("away"));
    await expect(registry.find(ID)).rejects.toThrow("away");
    expect(cache.peek(ID)).toBe(session);
  });

  it("is dropped with a deleted incarnation", async () => {
    const { registry, cache, session } = given("gone");
    expect(await registry.find(ID)).toBeNull();
    expect([session.isGone, cache.size]).toEqual([true, 0]);
  });

  it("is dropped when it cannot catch up, unless another object has replaced it", async () => {
    const { registry, cache, session, during } = given("lost");
    registry.applyRemote(ID, { kind: "moved", incarnation: "a", epoch: 1, head: 5 });
    await until(() => session.isReplaced);
    expect(cache.size).toBe(0);
    cache.put(emptySession(2, "b"));
    const other = emptySession(3, "c");
    during.run = async () => cache.put(other);
    expect(await registry.find(ID)).toBeNull();
    expect(cache.peek(ID)).toBe(other);
  });

  it.each(["find", "moved", "events"] as const)(
    "adds the size of applied events to the memory budget (%s)",
    async (way) => {
      const { registry, cache, session, during } = given("current");
      const before = cache.weight;
      during.run = async () => void session.apply([created]);
      if (way === "find") await registry.find(ID);
      else if (way === "moved")
        registry.applyRemote(ID, { kind: "moved", incarnation: "a", epoch: 1, head: 1 });
      else registry.applyRemote(ID, { kind: "events", incarnation: "a", epoch: 1, events: [created] });
      await new Promise((resolve) => setImmediate(resolve));
      expect(cache.weight).toBeGreaterThan(before + 10_000);
    },
  );

  it("is loaded again if it changes during the load, and refused with 503 after three loads", async () => {
    const { registry, cache, store } = given("lost");
    cache.delete(ID);
    let loads = 0;
    store.execute = async () => {
      loads += 1;
      if (loads === 4) return null;
      const session = newSession(1, ID, { incarnation: "a", model: "m/m" }, 0);
      const loaded = { session, messages: [], systemEvents: [], pendingActions: [], checkpointed: "" };
      return {
        outcome: "ok",
        session: { ...session, head: 9 },
        created: false,
        events: [],
        audited: [],
        loaded,
      };
    };
    await expect(registry.find(ID)).rejects.toMatchObject({ status: 503, code: "session_restless" });
    expect(loads).toBe(3);
    // The session is deleted now.
    expect(await registry.find(ID)).toBeNull();
  });
});
