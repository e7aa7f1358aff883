import { beforeEach, describe, expect, it } from "vitest";
import type { Caught } from "./catch-up.ts";
import type { NumberedEvent } from "../core/session-event.ts";
import { newSession } from "../core/session.ts";
import { LiveSessions } from "./live-sessions.ts";
import { Session } from "./session.ts";
import { SessionCache } from "./session-cache.ts";

const ID = "session";
const SILENT = { debug() {}, info() {}, warn() {}, error() {} };

let cache: SessionCache;
let live: LiveSessions;
let session: Session;
/** What catching up comes to, and what it does on the way. */
let caught: Caught;
let onTheWay: () => void;
let fails: Error | null;

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

beforeEach(() => {
  [caught, fails, onTheWay] = ["current", null, () => undefined];
  cache = new SessionCache(
    1_000_000,
    1_000,
    () => 0,
    () => false,
    () => undefined,
  );
  const settle = async (): Promise<Caught> => {
    if (fails !== null) throw fails;
    onTheWay();
    return await Promise.resolve(caught);
  };
  const catchUp = { toNow: settle, toHead: async () => (await settle()) === "current" };
  live = new LiveSessions({ cache, logger: SILENT, catchUp });
  session = new Session({
    session: newSession(1, ID, { life: "a", model: "m/m" }, 0),
    messages: [],
    systemEvents: [],
    pendingActions: [],
    checkpointed: "",
  });
  cache.put(session);
});

describe("live sessions", () => {
  it("answer when they have caught up, and only then", async () => {
    expect(live.areRight).toBe(false);
    expect(await live.current(ID)).toBe(session);
    expect(await live.current("other")).toBeNull();
    fails = new Error("away");
    await expect(live.current(ID)).rejects.toThrow("away");
    expect(cache.peek(ID)).toBe(session);
  });

  it("end with their life, and leave when they cannot follow, and whoever waits there looks again", async () => {
    caught = "gone";
    expect(await live.current(ID)).toBeNull();
    expect([session.isGone, cache.size]).toEqual([true, 0]);
    cache.put(session);
    caught = "lost";
    expect(await live.catchesUp(session, 5)).toBe(false);
    expect([session.isReplaced, cache.size]).toEqual([true, 0]);
  });

  it("leave alone what has taken their place", async () => {
    const other = new Session({
      session: newSession(2, ID, { life: "b", model: "m/m" }, 0),
      messages: [],
      systemEvents: [],
      pendingActions: [],
      checkpointed: "",
    });
    onTheWay = () => cache.put(other);
    caught = "lost";
    expect(await live.current(ID)).toBeNull();
    expect(cache.peek(ID)).toBe(other);
  });

  it.each([
    ["read", async () => void (await live.catchesUp(session, 1))],
    ["look", async () => void (await live.current(ID))],
    ["hear", () => Promise.resolve(live.hears(session, [created]))],
  ])("count in the memory budget with what they %s of others", async (_name, grow) => {
    const before = cache.weight;
    onTheWay = () => void session.apply([created]);
    await grow();
    expect(cache.weight).toBeGreaterThan(before + 10_000);
  });

  it("are right, and never behind, where nobody else changes the store", async () => {
    const alone = new LiveSessions({ cache, logger: SILENT, catchUp: null });
    expect([alone.areRight, alone.isBehind(session, 9)]).toEqual([true, false]);
    expect(await alone.current(ID)).toBe(session);
  });
});
