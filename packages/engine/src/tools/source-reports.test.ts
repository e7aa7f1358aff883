import { beforeEach, describe, expect, it } from "vitest";
import { ManualClock } from "../../../server/test/manual-clock.ts";
import { AppTools } from "./toolset.ts";
import { createStandIn, type SourceTool, type UnavailableTools, type ToolSource } from "./tool-source.ts";
import { recordingLogger } from "./testing/recording-logger.ts";
import { toolTurn } from "./testing/tool-turn.ts";

const settings = {
  tools: { builtIn: [], own: {}, sources: [], wallet: null, effects: {}, approvals: {} },
  secrets: [],
};
const UNUSED = { name: "mcp weather", state: "unused", tools: null, problem: null, seen_at: null };

let clock: ManualClock;
let toolset: AppTools;
/** The result of the source's next `list`. */
let list: () => Promise<readonly SourceTool[]>;

beforeEach(() => {
  clock = new ManualClock();
  const source: ToolSource = {
    label: "mcp weather",
    list: () => list(),
    close: () => Promise.resolve(),
  };
  const plan = () => [source];
  toolset = new AppTools({ default: settings }, { clock, logger: recordingLogger(), vault: null, plan });
});

const report = () => toolset.sources("default");
const timeText = () => new Date(clock.now()).toISOString();

/** Opens a turn in which the source's `list` returns `found`. */
async function look(found: typeof list, signal = new AbortController().signal): Promise<void> {
  list = found;
  await clock.advance(1_000);
  await toolset.open(toolTurn(), signal);
}

const tools = (...names: readonly string[]) =>
  Promise.resolve(
    names.map(
      (name): SourceTool => ({
        name,
        description: "",
        inputSchema: { type: "object" },
        effect: "read",
        execute: async () => name,
      }),
    ),
  );
const standIn = (why: Omit<UnavailableTools, "prefix">) =>
  Promise.resolve([createStandIn({ prefix: "weather_", look: () => Promise.resolve(), ...why })]);

describe("the report on a tool source", () => {
  it("is `unused` before a turn has listed the source, and empty for an unknown App", () => {
    expect(report()).toEqual([UNUSED]);
    expect(toolset.sources("nobody")).toEqual([]);
  });

  it("is `working` with the number of tools last listed", async () => {
    const working = { ...UNUSED, state: "working" };
    await look(() => tools("weather_now", "weather_soon"));
    expect(report()).toEqual([{ ...working, tools: 2, seen_at: timeText() }]);
    await look(() => tools("weather_now"));
    expect(report()).toEqual([{ ...working, tools: 1, seen_at: timeText() }]);
  });

  it("is `failing` with the reason while a stand-in replaces the tools", async () => {
    await look(() => tools("weather_now"));
    await look(() => standIn({ reason: "The server does not answer." }));
    const problem = "The server does not answer.";
    expect(report()).toEqual([{ ...UNUSED, state: "failing", tools: 0, problem, seen_at: timeText() }]);
    await look(() => tools("weather_now"));
    expect(report()).toMatchObject([{ state: "working", tools: 1, problem: null }]);
  });

  it("is `failing` without details of the error when `list` rejects", async () => {
    await look(() => Promise.reject(new Error("https://user:password@example.com is down")));
    const problem = "Its tools cannot be listed. The log says why.";
    expect(report()).toEqual([{ ...UNUSED, state: "failing", tools: 0, problem, seen_at: timeText() }]);
  });

  it("ignores problems of one client and turns that were cancelled", async () => {
    await look(() => standIn({ reason: "A secret cannot be sent.", isClientSpecific: true }));
    expect(report()).toEqual([UNUSED]);
    await look(() => standIn({ reason: "It was stopped." }), AbortSignal.abort());
    expect(report()).toEqual([UNUSED]);
  });

  it("describes a refresh before any turn", async () => {
    list = () => standIn({ reason: "The server does not answer." });
    await toolset.refresh("default");
    expect(report()).toMatchObject([{ state: "failing" }]);
  });
});
