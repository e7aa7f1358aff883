import type { SystemEvent } from "@colloquy/protocol";
import { describe, expect, it } from "vitest";
import { newSession } from "../core/session.ts";
import { Session } from "./session.ts";
import { SessionCache } from "./session-cache.ts";

let now = 0;
/** Ids of the sessions whose turn runs here. */
const workedOn = new Set<string>();
/** Ids of the sessions that were let go. */
const left: string[] = [];
const cacheOf = (budget: number): SessionCache =>
  new SessionCache(
    budget,
    1000,
    () => now,
    ({ id }) => workedOn.has(id),
    ({ id }) => left.push(id),
  );

function session(id: string, content: string | null, status: "complete" | "streaming" = "complete"): Session {
  const record = {
    ...newSession(1, id, { life: "l", model: "m/m" }, 0),
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

describe("the cache of live sessions", () => {
  it("lets the least recently used go first when the budget is full", () => {
    const cache = cacheOf(50_000);
    for (const id of ["a", "b", "c"]) cache.put(session(id, "x".repeat(5_000)));
    cache.get("a");
    cache.put(session("d", "x".repeat(5_000)));
    expect(["a", "b", "c", "d"].filter((id) => cache.get(id) !== undefined)).toEqual(["a", "c", "d"]);
    expect(cache.weight).toBeLessThanOrEqual(50_000);
  });

  it("never lets a session go whose text streams here", () => {
    const cache = cacheOf(10_000);
    workedOn.add("works");
    cache.put(session("works", "x".repeat(50_000), "streaming"));
    cache.put(session("other", "x".repeat(50_000)));
    expect(cache.get("works")).toBeDefined();
    expect(cache.get("other")).toBeUndefined();
    workedOn.clear();
  });

  it("lets a session go whose text streams in another process, or it would stay for good", () => {
    const cache = cacheOf(1_000_000);
    cache.put(session("elsewhere", "so far", "streaming"));
    now += 1_001;
    cache.dropIdle();
    expect(cache.size).toBe(0);
  });

  it("lets a session go that waits for a person, but not while its turn still runs", () => {
    const cache = cacheOf(10_000);
    for (const id of ["waits", "runs"]) {
      const asking = session(id, "x".repeat(50_000), "streaming");
      asking.apply([{ number: 1, event: { type: "system_event", item: ASKED } }]);
      if (id === "runs") workedOn.add(id);
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

  it("keeps conversations when a flood of empty sessions comes by", () => {
    const cache = cacheOf(64 * 1024 * 1024);
    cache.put(session("talk", "hello"));
    for (let n = 0; n < 5_000; n += 1) cache.put(session(`empty ${n}`, null));
    expect(cache.get("talk")).toBeDefined();
    expect(cache.size).toBeLessThan(2_100);
  });

  it("drops what was not used for long, and only that", () => {
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

  it("says which ones it has let go of, and not which were deleted or weighed anew", () => {
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
