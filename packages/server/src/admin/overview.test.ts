import type { AdminOverview } from "@colloquy/protocol";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { interceptStore } from "../../test/intercepted-store.ts";
import { ManualClock } from "../../test/manual-clock.ts";
import { Unavailable } from "@colloquy/engine/internal/core/errors";
import type { Store } from "@colloquy/engine/internal/core/ports/driven/store";
import { openSqliteStore } from "@colloquy/engine/internal/store/sqlite/open";
import { createOverview } from "./overview.ts";

let clock: ManualClock;
let store: Store;
let readiness: { stopping: boolean };

beforeEach(async () => {
  clock = new ManualClock();
  readiness = { stopping: false };
  const onFatal = (error: Error): never => {
    throw error;
  };
  store = await openSqliteStore({ directory: null, clock, onFatal });
});
afterEach(() => store.close());

/** Blocks reads, commits and the bus; `null` does not block. */
interface Given {
  readonly reads: (() => Promise<void>) | null;
  readonly commits: (() => Promise<void>) | null;
  readonly bus: () => Promise<void>;
}

function overviewOf({ reads, commits, bus }: Given): () => Promise<AdminOverview> {
  return createOverview({
    version: "1.2.3",
    node: "node-1",
    store: { ...interceptStore(store, () => reads?.()), probe: () => (commits ?? store.probe)() },
    storeKind: "sqlite",
    bus: { kind: "nats", check: bus },
    readiness,
    gauges: {
      liveSessions: () => 1,
      snapshotBytes: () => 2,
      openStreams: () => 3,
      runningTurns: () => 4,
    },
    clock,
  });
}

const never = (): Promise<void> => new Promise(() => undefined);
const fails = (): Promise<void> => Promise.reject(new Unavailable(503, "store_unavailable", "Away.", 1));
const here = { sessions_in_memory: 1, snapshot_bytes: 2, open_streams: 3, running_turns: 4 };
const away = {
  is_ready: false,
  here,
  everywhere: null,
  store: { is_healthy: false, read_ms: null, commit_ms: null, clock_ahead_ms: null },
  bus: { kind: "nats", is_healthy: false, round_trip_ms: null },
};

function expectProblems({ problems, store: seen, bus }: AdminOverview): void {
  expect(problems).toEqual([expect.stringMatching(/accepts no writes/)]);
  expect(seen.problems).toEqual([expect.stringMatching(/cannot be read/), ...problems]);
  expect(bus.problems).toEqual([expect.stringMatching(/bus does not answer/)]);
}

describe("the overview", () => {
  it("reports problems if store and bus fail", async () => {
    const overview = await overviewOf({ reads: fails, commits: fails, bus: fails })();
    expect(overview).toMatchObject(away);
    expectProblems(overview);
    expect(clock.timers).toBe(0);
  });

  it("reports the same within five seconds if they do not answer", async () => {
    let overview: AdminOverview | null = null;
    const look = overviewOf({ reads: never, commits: never, bus: never });
    void look().then((answer) => {
      overview = answer;
    });
    await clock.advance(4_999);
    expect(overview).toBeNull();
    await clock.advance(1);
    expect(overview).toMatchObject(away);
    expectProblems(overview!);
    expect(clock.timers).toBe(0);
  });

  it("distinguishes a readable store that accepts no writes", async () => {
    const overview = await overviewOf({ reads: null, commits: fails, bus: () => Promise.resolve() })();
    expect(overview).toMatchObject({
      is_ready: false,
      everywhere: { running_turns: 0, queued_turns: 0 },
      store: { is_healthy: false, commit_ms: null, clock_ahead_ms: 0 },
      bus: { is_healthy: true, problems: [] },
    });
    expect(overview.store.read_ms).not.toBeNull();
    expect(overview.store.problems).toEqual(overview.problems);
  });

  it("reports a stopping service as not ready without store problems", async () => {
    readiness.stopping = true;
    const { is_ready, problems, store } = await overviewOf({ reads: null, commits: null, bus: fails })();
    expect({ is_ready, problems }).toEqual({ is_ready: false, problems: ["The service is stopping."] });
    expect(store).toMatchObject({ is_healthy: true, problems: [] });
    expect(store.commit_ms).not.toBeNull();
  });
});
