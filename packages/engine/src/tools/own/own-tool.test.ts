import { tool, jsonSchema } from "ai";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { ManualClock } from "../../../../server/test/manual-clock.ts";
import type { OwnTool } from "../../core/app-settings.ts";
import type { JsonValue } from "../../core/json.ts";
import type { ToolContext } from "../../core/ports/driven/tool.ts";
import { AppTools } from "../toolset.ts";
import { recordingLogger } from "../testing/recording-logger.ts";
import { toolTurn } from "../testing/tool-turn.ts";
import { ownToolSource } from "./own-tool.ts";

const clock = new ManualClock();
const { signal } = new AbortController();

function open(own: Record<string, unknown>, logger = recordingLogger()) {
  const tools = {
    builtIn: [],
    own: own as Record<string, OwnTool>,
    sources: [],
    wallet: null,
    effects: {},
    approvals: {},
  };
  const plan = () => [ownToolSource(tools.own, logger)];
  const toolset = new AppTools({ default: { tools, secrets: [] } }, { clock, logger, vault: null, plan });
  return toolset.open(toolTurn(), signal);
}

async function call(own: unknown, input: unknown, heard: JsonValue[] = [], stop = signal) {
  const onProgress = (value: JsonValue): void => void heard.push(value);
  const options = { callId: "call-7", timeoutMs: 1_000, signal: stop, clock, onProgress };
  return await (await open({ probe: own })).call("probe", input, options);
}

describe("a tool of the configuration file", () => {
  it("is described to the model as in the SDK, and is unsafe by default", async () => {
    const weather = tool({
      title: " Current\nweather ",
      description: "Tells the weather.",
      inputSchema: z.object({ city: z.string().describe("Name of the city.") }),
      execute: async () => "sunny",
    });
    const { definitions } = await open({ weather });
    expect(definitions).toEqual([
      {
        name: "weather",
        title: "Current weather",
        description: "Tells the weather.",
        inputSchema: expect.objectContaining({
          type: "object",
          properties: { city: { type: "string", description: "Name of the city." } },
          required: ["city"],
        }),
        effect: "unsafe",
      },
    ]);
  });

  it("receives the parsed input, the call's id, the signal and the tool context", async () => {
    let given: { toolCallId: string; abortSignal?: AbortSignal; messages: unknown; context: ToolContext };
    const probe = tool({
      inputSchema: z.object({ amount: z.string().transform(Number).default(5) }),
      execute: async (input, options) => {
        given = options as unknown as typeof given;
        return input;
      },
    });
    expect(await call(probe, { amount: "12" })).toEqual({ output: { amount: 12 }, isError: false });
    expect(given!).toMatchObject({ toolCallId: "call-7", messages: [] });
    expect(given!.abortSignal).toBeInstanceOf(AbortSignal);
    expect(given!.context).toMatchObject({ callId: "call-7", turn: { app: "default" } });
    expect((await call(probe, {})).output).toEqual({ amount: 5 });
  });

  it("rejects invalid input with the schema's errors, without running", async () => {
    let runs = 0;
    const probe = tool({
      inputSchema: z.object({ to: z.email(), nested: z.object({ n: z.number() }) }),
      execute: async () => (runs += 1),
    });
    const { output, isError } = await call(probe, { to: "nobody", nested: { n: "1" } });
    expect(isError).toBe(true);
    expect(output).toMatch(/^The input does not fit the tool probe: to: .*email.*; nested\.n: .*number/);
    expect(runs).toBe(0);
  });

  it("accepts a plain JSON Schema, and checks it", async () => {
    const probe = tool({
      inputSchema: jsonSchema<{ n: number }>({
        type: "object",
        properties: { n: { type: "number" } },
        required: ["n"],
      }),
      execute: async ({ n }) => n + 1,
    });
    expect(await call(probe, { n: 1 })).toEqual({ output: 2, isError: false });
    expect((await call(probe, { n: "1" })).output).toContain("does not fit the tool probe");
  });

  it("reports yielded values as progress, and returns the last one", async () => {
    const heard: JsonValue[] = [];
    const probe = tool({
      inputSchema: z.object({}),
      async *execute() {
        yield "a";
        yield { b: 1 };
        yield "done";
      },
    });
    expect(await call(probe, {}, heard)).toEqual({ output: "done", isError: false });
    expect(heard).toEqual(["a", { b: 1 }, "done"]);
  });

  it("returns a generator's return value, and stops the generator after an abort", async () => {
    const stop = new AbortController();
    const seen: string[] = [];
    const probe = tool({
      inputSchema: z.object({ fail: z.boolean().default(false) }),
      async *execute({ fail }) {
        try {
          yield "half";
          if (fail) stop.abort();
          yield "whole";
          seen.push("after the abort");
          return fail ? null : { rows: 2 };
        } finally {
          seen.push("closed");
        }
      },
    });
    const heard: JsonValue[] = [];
    expect(await call(probe, {}, heard)).toEqual({ output: { rows: 2 }, isError: false });
    expect(heard).toEqual(["half", "whole"]);
    seen.length = 0;
    await call(probe, { fail: true }, [], stop.signal);
    await expect.poll(() => seen).toEqual(["closed"]);
  });

  it("reports progress and reads secrets through the context", async () => {
    const heard: JsonValue[] = [];
    const probe = tool({
      inputSchema: z.object({}),
      execute: async (_input, options) => {
        const context = options.context as unknown as ToolContext;
        context.progress({ percent: 50 });
        return context.secret("KEY");
      },
    });
    expect(await call(probe, {}, heard)).toMatchObject({ isError: true });
    expect(heard).toEqual([{ percent: 50 }]);
  });

  it("is skipped if it is invalid, without affecting the others", async () => {
    const logger = recordingLogger();
    const fine = tool({ inputSchema: z.object({}), execute: async () => 1 });
    const asking = { inputSchema: z.object({}), needsApproval: true, execute: async () => 1 };
    const { definitions } = await open({ none: { execute: () => 1, inputSchema: 5 }, asking, fine }, logger);
    expect(definitions.map(({ name }) => name)).toEqual(["fine"]);
    expect(logger.lines.map(({ level }) => level)).toEqual(["error", "error"]);
  });
});
