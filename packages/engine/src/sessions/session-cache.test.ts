import type { SystemEvent } from "@colloquy/protocol";
import { describe, expect, it } from "vitest";
import { newSession } from "../core/session.ts";
import { Session } from "./session.ts";
import { SessionCache } from "./session-cache.ts";

let now = 0;
/** Keys of the sessions whose turn runs here. */
const workedOn = new Set<number>();
let lastKey = 0;
/** Ids of the evicted sessions. */
const left: string[] = [];
const cacheOf = (budgetBytes: number): SessionCache =>
  new SessionCache({
    budgetBytes,
    idleMs: 1000,
    clock: { monotonic: () => now },
    running: { isRunning: (key) => workedOn.has(key) },
    hub: { evicted: (id) => void left.push(id) },
    logger: { debug() {}, info() {}, warn() {}, error() {} },
  });

function session(id: string, content: string | null, status: "complete" | "streaming" = "complete"): Session {
  const record = {
    ...newSession((lastKey += 1), id, { incarnation: "l", model: "m/m" }, 0),
    status: status === "complete" ? ("idle" as const) : ("processing" as const),
    messageCount: content === null ? 0 : 1,
  };
  const message = {
    position: 1,
    id,
    turn: 1,
    role: "assistant",
    status,
    toolCalls: [],
    toolResults: [],
    createdAt: 0,
  } as const;
  const messages = content === null ? [] : [{ ...message, content }];
  const built = new Session({
    session: record,
    messages,
    systemEvents: [],
    pendingActions: [],
    checkpointed: "",
  });
  built.view();
  return built;
}

const ASKED: SystemEvent = {
  id: "l-1",
  type: "action_requested",
  created_at: "2026-01-01T00:00:00.000Z",
  payload: { id: "action" },
};

describe("SessionCache", () => {
  it("evicts the least recently used session when the budget is full", () => {
    const cache = cacheOf(50_000);
    for (const id of ["a", "b", "c"]) cache.put(session(id, "x".repeat(5_000)));
    cache.get("a");
    cache.put(session("d", "x".repeat(5_000)));
    expect(["a", "b", "c", "d"].filter((id) => cache.get(id) !== undefined)).toEqual(["a", "c", "d"]);
    expect(cache.weight).toBeLessThanOrEqual(50_000);
  });

  it("never evicts a session whose text streams here", () => {
    const cache = cacheOf(10_000);
    const works = session("works", "x".repeat(50_000), "streaming");
    workedOn.add(works.key);
    cache.put(works);
    cache.put(session("other", "x".repeat(50_000)));
    expect(cache.get("works")).toBeDefined();
    expect(cache.get("other")).toBeUndefined();
    workedOn.clear();
  });

  it("evicts a session whose text streams in another process", () => {
    const cache = cacheOf(1_000_000);
    cache.put(session("elsewhere", "so far", "streaming"));
    now += 1_001;
    cache.dropIdle();
    expect(cache.size).toBe(0);
  });

  it("evicts a session that waits for a person, but not while its turn still runs", () => {
    const cache = cacheOf(10_000);
    for (const id of ["waits", "runs"]) {
      const asking = session(id, "x".repeat(50_000), "streaming");
      asking.apply([{ number: 1, event: { type: "system_event", item: ASKED } }]);
      if (id === "runs") workedOn.add(asking.key);
      cache.put(asking);
    }
    cache.put(session("other", "hello"));
    expect(cache.get("waits")).toBeUndefined();
    expect(cache.get("runs")).toBeDefined();
    workedOn.clear();
    now += 1_001;
    cache.dropIdle();
    expect(cache.get("runs")).toBeUndefined();
  });

  it("keeps conversations during a flood of empty sessions", () => {
    const cache = cacheOf(64 * 1024 * 1024);
    cache.put(session("talk", "hello"));
    for (let n = 0; n < 5_000; n += 1) cache.put(session(`empty ${n}`, null));
    expect(cache.get("talk")).toBeDefined();
    expect(cache.size).toBeLessThan(2_100);
  });

  it("evicts idle sessions only", () => {
    const cache = cacheOf(1_000_000);
    now = 0;
    cache.put(session("old", "hello"));
    now = 600;
    cache.put(session("new", "hello"));
    now = 1_100;
    cache.dropIdle();
    expect(cache.get("old")).toBeUndefined();
    expect(cache.get("new")).toBeDefined();
  });

  it("reports evicted sessions, but not deleted or updated ones", () => {
    left.length = 0;
    const cache = cacheOf(50_000);
    for (const id of ["a", "a", "b", "c", "d"]) cache.put(session(id, "x".repeat(5_000)));
    cache.delete("c");
    expect(left).toEqual(["a"]);
    now += 1_001;
    cache.dropIdle();
    expect(left).toEqual(["a", "b", "d"]);
  });
});
