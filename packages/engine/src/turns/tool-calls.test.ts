import { describe, expect, it } from "vitest";
import { ManualClock } from "../../../server/test/manual-clock.ts";
import { OutputBudget, type ToolCallRecord } from "../core/message.ts";
import type { Tool } from "../core/ports/driven/tool.ts";
import { fixedTools } from "../tools/testing/fixed-tools.ts";
import { toolTurn } from "../tools/testing/tool-turn.ts";
import { startedTurn } from "./testing/started-turn.ts";
import { RecordingJournal } from "./testing/recording-journal.ts";
import type { KeptFiles, TurnFiles } from "./attached-files.ts";
import { assignSlots, callKey, decideCalls, runToolCalls } from "./tool-calls.ts";

const TIMEOUT_MS = 60_000;
/** Maximum time to store the files of a result. */
const KEEP_MS = 60_000;
/** Concurrent calls of one step. */
const AT_ONCE = 8;

interface StartedCall {
  readonly at: number;
  readonly signal: AbortSignal;
  end(value: number): void;
}

/** Runs this many calls of a tool, with ids from "1" on. The test ends each call. */
async function run(
  count: number,
  onWrite: RecordingJournal["onWrite"] = () => true,
  kind: Partial<ToolCallRecord> = {},
  files?: TurnFiles,
) {
  const clock = new ManualClock();
  const started = new Map<string, StartedCall>();
  const tool: Tool = {
    name: "tool",
    description: "A tool",
    inputSchema: { type: "object" },
    effect: "read",
    execute: (_input, { callId, signal, attach }) => {
      if (files !== undefined) attach({ data: new Uint8Array([1]), name: "dot.png" });
      const { promise, resolve } = Promise.withResolvers<number>();
      started.set(idByKey.get(callId)!, { at: clock.monotonic(), signal, end: resolve });
      return promise;
    },
  };
  const turn = startedTurn();
  const journal = new RecordingJournal(turn);
  journal.onWrite = onWrite;
  const controller = new AbortController();
  const calls = Array.from({ length: count }, (_, index): ToolCallRecord => {
    const call = { id: `${index + 1}`, name: "tool", arguments: {}, status: "running", step: 1 } as const;
    return { ...call, effect: "read", ...kind };
  });
  const idByKey = new Map(calls.map(({ id }) => [callKey(turn, id), id]));
  const tools = await fixedTools({ default: [tool] }).open(turn, controller.signal);
  const results = runToolCalls(calls, journal, {
    turn,
    tools,
    clock,
    files,
    outputs: new OutputBudget({ toolResults: [] }),
    timeoutMs: TIMEOUT_MS,
    signal: controller.signal,
    onProgress: () => undefined,
  });
  results.catch(() => undefined);
  const end = async (...ids: readonly string[]): Promise<void> => {
    for (const id of ids) started.get(id)!.end(Number(id));
    await round();
  };
  await round();
  return { clock, started, journal, controller, results, end, ids: () => [...started.keys()] };
}

const round = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe("calls of a step", () => {
  it("run eight at a time; the next starts when a result is stored", async () => {
    const kept = Promise.withResolvers<boolean>();
    const trial = await run(11, (entry) => (entry === "result 3" ? kept.promise : true));
    const { end, ids, journal } = trial;
    expect(ids()).toEqual(["1", "2", "3", "4", "5", "6", "7", "8"]);
    await end("3");
    expect(ids()).toHaveLength(AT_ONCE);
    kept.resolve(true);
    await round();
    expect(ids().slice(AT_ONCE)).toEqual(["9"]);
    await end("9", "1");
    expect(ids().slice(AT_ONCE)).toEqual(["9", "10", "11"]);
    await end("2", "4", "5", "6", "7", "8", "10", "11");
    const results = await trial.results;
    expect(results?.size).toBe(11);
    expect(results?.get("10")).toEqual({ output: 10, is_error: false });
    expect(journal.entries.slice(0, 3)).toEqual(["result 3", "result 9", "result 1"]);
  });

  it("are timed from their own start", async () => {
    const { clock, started, journal, results } = await run(9);
    await clock.advance(TIMEOUT_MS - 1);
    expect(journal.outcomes).toEqual([]);
    await clock.advance(1);
    expect(journal.outcomes).toHaveLength(AT_ONCE);
    expect(started.get("9")?.at).toBe(TIMEOUT_MS);
    await clock.advance(TIMEOUT_MS - 1);
    expect(started.get("9")?.signal.aborted).toBe(false);
    await clock.advance(1);
    expect(journal.outcomes[AT_ONCE]).toMatchObject({ callId: "9", isError: true, durationMs: TIMEOUT_MS });
    expect((await results)?.size).toBe(9);
  });

  it("go on without files that are not stored within a minute", async () => {
    const begun = Promise.withResolvers<void>();
    const stored = Promise.withResolvers<KeptFiles>();
    const files: TurnFiles = {
      bytesOf: () => Promise.resolve(null),
      keep: () => {
        begun.resolve();
        return stored.promise;
      },
    };
    const { clock, end, journal, results } = await run(1, undefined, {}, files);
    await end("1");
    await begun.promise;
    await clock.advance(KEEP_MS - 1);
    expect(journal.outcomes).toEqual([]);
    await clock.advance(1);
    const output = [1, "[The files of this result were not stored in time.]"];
    expect((await results)?.get("1")).toEqual({ output, is_error: false });
    expect(journal.outcomes).toMatchObject([{ callId: "1", output, isError: false }]);
    // Late files have no result.
    stored.resolve({ files: [], refused: ["late"] });
    await round();
    expect(journal.outcomes).toHaveLength(1);
  });

  it("do not start after the turn was stopped, refused, or hit a defect", async () => {
    const stopped = await run(20);
    stopped.controller.abort();
    expect(await stopped.results).toBeNull();
    expect(stopped.ids()).toHaveLength(AT_ONCE);
    expect(stopped.journal.outcomes).toEqual([]);

    const refused = await run(20, (entry) => entry !== "result 1");
    await refused.end("1", "2");
    await refused.end("3", "4", "5", "6", "7", "8");
    expect(await refused.results).toBeNull();
    expect(refused.ids()).toHaveLength(AT_ONCE);

    const broken = await run(20, (entry) => entry !== "result 1" || Promise.reject(new Error("defect")));
    await broken.end("1", "2");
    await expect(broken.results).rejects.toThrow("defect");
    expect(broken.ids()).toHaveLength(AT_ONCE);
  });

  it("run after their start is stored if unsafe: the first ones together, later ones with a result", async () => {
    const kept = Promise.withResolvers<boolean>();
    const hold = (entry: string) => (entry.startsWith("start") ? kept.promise : true);
    const trial = await run(10, hold, { effect: "unsafe", phase: "allowed" });
    expect(trial.ids()).toEqual([]);
    kept.resolve(true);
    await round();
    expect(trial.ids()).toHaveLength(AT_ONCE);
    await trial.end("2");
    await trial.end("9", "1");
    await trial.end("3", "4", "5", "6", "7", "8", "10");
    expect((await trial.results)?.size).toBe(10);
    expect(trial.journal.entries.slice(0, 4)).toEqual([
      "start 1 2 3 4 5 6 7 8",
      "result 2 start 9",
      "result 9 start 10",
      "result 1",
    ]);
    expect(trial.journal.entries).toHaveLength(11);
  });

  it("need no write except their results if they are safe or started with their step", async () => {
    const allowed = await run(9, () => true, { effect: "idempotent", phase: "allowed" });
    const placed = await run(AT_ONCE, () => true, { effect: "unsafe" });
    for (const { end, ids, journal } of [allowed, placed]) {
      expect(ids()).toHaveLength(AT_ONCE);
      await end("1");
      expect(journal.entries).toEqual(["result 1"]);
    }
  });

  it("do not start if they are unsafe and their start is refused or the turn is already stopped", async () => {
    const unsafe = { effect: "unsafe", phase: "allowed" } as const;
    const refused = await run(9, (entry) => !entry.startsWith("start"), unsafe);
    expect(await refused.results).toBeNull();
    expect(refused.ids()).toEqual([]);

    const clock = new ManualClock();
    const turn = startedTurn();
    const journal = new RecordingJournal(turn);
    const signal = AbortSignal.abort();
    const tools = await fixedTools({ default: [] }).open(turn, signal);
    const call = { id: "1", name: "t", arguments: {}, status: "running", step: 1, ...unsafe } as const;
    const outputs = new OutputBudget(turn.agentMessage);
    const given = { turn, tools, outputs, clock, timeoutMs: TIMEOUT_MS, signal, onProgress: () => undefined };
    expect(await runToolCalls([call], journal, given)).toBeNull();
    expect(journal.entries).toEqual([]);

    // The result with which the ninth call would start is refused.
    const last = await run(11, (entry) => !entry.startsWith("result 1"), unsafe);
    await last.end("1", "2");
    await last.end("3", "4", "5", "6", "7", "8");
    expect(await last.results).toBeNull();
    expect(last.ids()).toHaveLength(AT_ONCE);
    expect(last.journal.entries.slice(1)).toEqual([
      "result 1 start 9",
      "result 2 start 10",
      ...["3", "4", "5", "6", "7", "8"].map((id) => `result ${id}`),
    ]);
  });

  it("may be empty", async () => {
    const { results } = await run(0);
    expect(await results).toEqual(new Map());
  });
});

describe("calls of a new step", () => {
  it("start with it up to the number of slots, not counting calls that wait for a decision", () => {
    const calls = Array.from({ length: 11 }, (_, index): ToolCallRecord => {
      return {
        id: `${index}`,
        name: "tool",
        arguments: {},
        status: "running",
        effect: "unsafe",
        step: 1,
      };
    });
    const placed = assignSlots(calls, new Set(["0", "10"]));
    expect(placed.map(({ id }) => id)).toEqual(calls.map(({ id }) => id));
    expect(placed.map(({ phase }) => phase)).toEqual([
      ...Array<undefined>(AT_ONCE + 1).fill(undefined),
      "allowed",
      undefined,
    ]);
  });
});

describe("callKey", () => {
  it("stays the same when the call runs again", () => {
    const again = startedTurn({ attempt: 2, epoch: 7, sessionKey: 9 });
    expect(callKey(again, "call_0")).toBe(callKey(startedTurn(), "call_0"));
  });

  it.each([
    ["another session", { sessionId: "00000000-0000-4000-8000-000000000002" }, "call_0"],
    ["another incarnation of the session", { incarnation: "other" }, "call_0"],
    ["another turn", { number: 2 }, "call_0"],
    ["another call", {}, "call_1"],
  ])("differs for %s", (_case, turn, id) => {
    expect(callKey(startedTurn(turn), id)).not.toBe(callKey(startedTurn(), "call_0"));
  });

  it("is a valid header value for any model's call id", () => {
    expect(callKey(startedTurn(), `\u2603 \n${"x".repeat(10_000)}`)).toMatch(/^[0-9a-f]{64}$/);
  });
});

describe("decideCalls", () => {
  it("gives an action the time of its client tool, or else the general one", async () => {
    const asking = (name: string, timeoutMs?: number): Tool => ({
      name,
      description: "",
      inputSchema: { type: "object" },
      effect: "unsafe",
      ask: () => ({
        kind: "client_tool",
        request: { tool: name, input: {} },
        repeatable: false,
        ...(timeoutMs !== undefined && { timeoutMs }),
      }),
      execute: () => Promise.reject(new Error("It runs in the client.")),
    });
    const { signal } = new AbortController();
    const tools = await fixedTools({ default: [asking("short", 5_000), asking("usual")] }).open(
      toolTurn(),
      signal,
    );
    const calls = ["short", "usual"].map((name): ToolCallRecord => {
      return { id: name, name, arguments: {}, effect: "unsafe", status: "running", step: 1 };
    });
    const decided = await decideCalls(calls, { tools, signal, onProgress: () => undefined }, 600_000);
    expect(decided?.actions.map(({ callId, validMs }) => [callId, validMs])).toEqual([
      ["short", 5_000],
      ["usual", 600_000],
    ]);
  });
});
