import { getEventListeners } from "node:events";
import { describe, expect, it } from "vitest";
import { ManualClock } from "../../../server/test/manual-clock.ts";
import type { JsonValue } from "../core/json.ts";
import {
  SecretMissing,
  type Tool,
  type ToolCallOptions,
  type ToolContext,
  type ToolEffect,
} from "../core/ports/driven/tool.ts";
import { callTool, type CallScope } from "./call-tool.ts";
import { Beginning } from "./scrubbed-beginning.ts";
import { createInputCheck } from "./input-check.ts";
import { createScrubber } from "./scrub.ts";
import { toolTurn } from "./testing/tool-turn.ts";

function toolThat(execute: Tool["execute"], effect: ToolEffect = "read"): Tool {
  return {
    name: "probe",
    description: "A tool under test.",
    inputSchema: { type: "object" },
    effect,
    execute,
  };
}

const openScope: CallScope = {
  turn: toolTurn(),
  secret: (name) => {
    if (name === "EMPTY") throw new SecretMissing(name);
    return "s3cret-value";
  },
  scrub: createScrubber(["s3cret-value"]),
};

function call(tool: Tool, options: Partial<ToolCallOptions> = {}, input: unknown = {}) {
  const callable = { tool, effect: tool.effect, checkInput: createInputCheck(tool) };
  return callTool(callable, input, openScope, {
    callId: "call-1",
    timeoutMs: 60_000,
    signal: new AbortController().signal,
    clock: new ManualClock(),
    ...options,
  });
}

function answer(value: unknown) {
  return call(toolThat(async () => value));
}

const never = (): Promise<never> => new Promise(() => undefined);

describe("callTool", () => {
  it("returns what the tool returned", async () => {
    const tool = toolThat(async (input, context) => ({ input, callId: context.callId }));
    expect(await call(tool, {}, { a: [1, "b", null] })).toEqual({
      output: { input: { a: [1, "b", null] }, callId: "call-1" },
      isError: false,
    });
  });

  it("returns the message of an error thrown before or after the first await", async () => {
    const later = toolThat(async () => {
      await Promise.resolve();
      throw new Error("The ledger is closed.");
    });
    const atOnce = toolThat(() => {
      throw new Error("The ledger is closed.");
    });
    const closed = { output: "The ledger is closed.", isError: true, shown: "The tool probe failed." };
    expect(await call(later)).toEqual(closed);
    expect(await call(atOnce)).toEqual(closed);
  });

  it.each([
    ["a string", "no", "no"],
    ["undefined", undefined, "undefined"],
    ["an error without a message", new Error(""), "The tool probe failed without saying why."],
    [
      "an error with an odd message",
      Object.assign(new Error("x"), { message: { deep: 1 } }),
      "[object Object]",
    ],
    [
      "a value that cannot be converted to a string",
      Object.create(null),
      "The tool probe failed without saying why.",
    ],
  ])("returns a readable error when the tool threw %s", async (_case, thrown: unknown, output) => {
    const tool = toolThat(async () => {
      throw thrown;
    });
    expect(await call(tool)).toMatchObject({ output, isError: true });
  });

  it("rejects invalid input without running the tool", async () => {
    let runs = 0;
    const tool: Tool = {
      ...toolThat(async () => {
        runs += 1;
      }),
      inputSchema: {
        type: "object",
        properties: { amount: { type: "integer", minimum: 1 } },
        required: ["amount"],
        additionalProperties: false,
      },
    };
    const { output, isError } = await call(tool, {}, { amount: 0, to: "Ada" });
    expect(isError).toBe(true);
    expect(output).toMatch(/^The input does not fit the tool probe: .*amount.*to/);
    for (const input of [null, undefined, "x", [], { amount: "1" }]) {
      expect((await call(tool, {}, input)).isError).toBe(true);
    }
    expect(runs).toBe(0);
    expect((await call(tool, {}, { amount: 1 })).isError).toBe(false);
  });
});

describe("the output of a tool", () => {
  it("is null for undefined", async () => {
    expect(await answer(undefined)).toEqual({ output: null, isError: false });
  });

  it("contains no NUL and no lone surrogate, in values, keys and errors", async () => {
    expect(await answer({ "a\0": ["b\0c", "\ud800x", "😀"] })).toEqual({
      output: { a: ["bc", "\ufffdx", "😀"] },
      isError: false,
    });
    const failing = toolThat(async () => {
      throw new Error("bad\0 \udc00");
    });
    expect(await call(failing)).toMatchObject({ output: "bad \ufffd", isError: true });
  });

  it("uses toJSON and omits undefined properties, as JSON.stringify does", async () => {
    const value = { at: new Date(0), missing: undefined, nothing: null };
    expect(await answer(value)).toEqual({
      output: { at: "1970-01-01T00:00:00.000Z", nothing: null },
      isError: false,
    });
  });

  it("keeps a key named __proto__", async () => {
    const { output } = await answer(JSON.parse('{"__proto__": {"a": 1}}'));
    expect(JSON.stringify(output)).toBe('{"__proto__":{"a":1}}');
  });

  const loop: Record<string, unknown> = {};
  loop["self"] = loop;
  const throwing = {
    get trap(): number {
      throw new Error("no entry");
    },
  };
  it.each([
    ["a function", { run: () => 1 }, "output.run is of the type function"],
    ["a bigint", [1n], "output[0] is of the type bigint"],
    ["a symbol", Symbol("s"), "output is of the type symbol"],
    ["NaN", { a: { b: Number.NaN } }, "output.a.b is NaN"],
    ["infinity", Number.POSITIVE_INFINITY, "output is Infinity"],
    ["a map", new Map([["a", 1]]), "output is an instance of a class"],
    ["bytes", new Uint8Array(2), "output is an instance of a class"],
    ["a loop", loop, "nested deeper than 64 levels"],
    ["a getter that throws", throwing, "no entry"],
  ])("is an error if it contains %s", async (_case, value: unknown, reason) => {
    const { output, isError } = await answer(value);
    expect(isError).toBe(true);
    expect(output).toContain("The tool probe finished, but its answer is not JSON");
    expect(output).toContain(reason);
  });

  it.each([
    ["a string", "x".repeat(200_000)],
    ["a string of four-byte characters", "😀".repeat(50_000)],
    ["a string that JSON escapes", '\u0001\n"'.repeat(50_000)],
    ["an object", { rows: Array.from({ length: 20_000 }, (_, row) => ({ row, name: `name "${row}"` })) }],
  ])("is cut above 64 KiB with a note: %s", async (_case, value: unknown) => {
    const { output, isError } = await answer(value);
    const size = Buffer.byteLength(JSON.stringify(value));
    expect(isError).toBe(false);
    if (typeof output !== "string") throw new TypeError("a cut output must be a string");
    expect(output.endsWith(`\n[Cut: this is the beginning of ${size} bytes.]`)).toBe(true);
    const beginning = output.slice(0, output.lastIndexOf("\n[Cut"));
    expect((typeof value === "string" ? value : JSON.stringify(value)).startsWith(beginning)).toBe(true);
    const bytes = Buffer.byteLength(JSON.stringify(output));
    expect(bytes).toBeLessThanOrEqual(65_536);
    expect(bytes).toBeGreaterThan(65_520);
  });

  it("is not cut at exactly 64 KiB", async () => {
    const value = "x".repeat(65_534);
    expect(await answer(value)).toEqual({ output: value, isError: false });
    expect((await answer(`${value}x`)).output).not.toBe(`${value}x`);
  });
});

describe("the timeout of a tool call", () => {
  it.each([
    ["read", "The tool probe took longer than 60 s and was stopped."],
    ["idempotent", "The tool probe took longer than 60 s and was stopped."],
    ["unsafe", "The tool probe took longer than 60 s and was stopped. Its outcome is unknown: "],
  ] as const)("aborts a tool with the effect %s and reports the timeout", async (effect, message) => {
    const clock = new ManualClock();
    let context: ToolContext | undefined;
    const outcome = call(
      toolThat((_input, given) => {
        context = given;
        return never();
      }, effect),
      { clock },
    );
    await clock.advance(59_999);
    expect(context?.signal.aborted).toBe(false);
    await clock.advance(1);
    const { output, isError } = await outcome;
    expect(isError).toBe(true);
    expect(JSON.stringify(output).startsWith(`"${message}`)).toBe(true);
    expect(context?.signal.aborted).toBe(true);
  });

  it("leaves no timer and no listener after the tool has finished in time", async () => {
    const clock = new ManualClock();
    const { signal } = new AbortController();
    await call(
      toolThat(async () => 1),
      { clock, signal },
    );
    await call(
      toolThat(() => Promise.reject(new Error("no"))),
      { clock, signal },
    );
    expect(clock.timers).toBe(0);
    expect(getEventListeners(signal, "abort")).toHaveLength(0);
  });
});

describe("aborting a tool call", () => {
  it.each([
    ["read", "interrupted"],
    ["idempotent", "interrupted"],
    ["unsafe", "outcome unknown"],
  ] as const)(
    "returns at once for a tool with the effect %s that ignores the signal",
    async (effect, output) => {
      const stop = new AbortController();
      const clock = new ManualClock();
      let signal: AbortSignal | undefined;
      const outcome = call(
        toolThat((_input, context) => {
          signal = context.signal;
          return never();
        }, effect),
        { signal: stop.signal, clock },
      );
      const reason = new Error("The person stopped it.");
      stop.abort(reason);
      expect(await outcome).toEqual({ output, isError: true });
      expect(signal?.reason).toBe(reason);
      expect(clock.timers).toBe(0);
    },
  );

  it("does not run the tool if aborted before the start, whatever its effect", async () => {
    let runs = 0;
    const tool = toolThat(async () => {
      runs += 1;
    }, "unsafe");
    expect(await call(tool, { signal: AbortSignal.abort() })).toEqual({
      output: "interrupted",
      isError: true,
    });
    expect(runs).toBe(0);
  });

  it("ignores a late result or rejection of the tool", async () => {
    const stop = new AbortController();
    const gate = Promise.withResolvers<never>();
    const outcome = call(
      toolThat(() => gate.promise),
      { signal: stop.signal },
    );
    stop.abort();
    const before = await outcome;
    gate.reject(new Error("too late"));
    await new Promise((resolve) => setImmediate(resolve)); // an unhandled rejection would fail the run
    expect(before).toEqual({ output: "interrupted", isError: true });
  });
});

describe("progress", () => {
  it("is reported as clean JSON while the tool runs, and ignored afterwards", async () => {
    const heard: JsonValue[] = [];
    let context: ToolContext | undefined;
    const tool = toolThat(async (_input, given) => {
      context = given;
      given.progress({ step: "a\0" });
      given.progress("x".repeat(10_000));
      given.progress(10n);
    });
    await call(tool, { onProgress: (value) => void heard.push(value) });
    context?.progress("late");
    expect(heard).toHaveLength(3);
    expect(heard[0]).toEqual({ step: "a" });
    expect(Buffer.byteLength(JSON.stringify(heard[1]))).toBeLessThanOrEqual(4_096);
    expect(heard[2]).toBe("Progress that is not JSON: output is of the type bigint, which JSON cannot hold.");
  });

  it("is optional for the caller", async () => {
    const tool = toolThat(async (_input, context) => {
      context.progress(1);
      return "done";
    });
    expect(await call(tool)).toEqual({ output: "done", isError: false });
  });
});

describe("the rate limit of progress reports", () => {
  it("allows a burst, then two reports a second", async () => {
    const clock = new ManualClock();
    const heard: JsonValue[] = [];
    const next = Promise.withResolvers<void>();
    const tool = toolThat(async (_input, { progress }) => {
      for (let count = 0; count < 10_000; count += 1) progress(count);
      await next.promise;
      for (let count = 0; count < 10_000; count += 1) progress(-count);
    });
    const outcome = call(tool, { clock, onProgress: (value) => void heard.push(value) });
    expect(heard).toHaveLength(20);
    await clock.advance(1_000);
    next.resolve();
    await outcome;
    expect(heard).toHaveLength(22);
  });
});

describe("progress of more than 16 KiB", () => {
  it("is replaced by a note without being scrubbed", async () => {
    const heard: JsonValue[] = [];
    const tool = toolThat(async (_input, context) => {
      context.progress("x".repeat(16_382));
      context.progress("x".repeat(16_383));
    });
    await call(tool, { onProgress: (value) => void heard.push(value) });
    expect(heard[0]).toContain("xxx");
    expect(heard[1]).toBe("Progress of 16385 bytes is not shown: at most 16384 are.");
  });
});

describe("secrets of the turn's client", () => {
  it("are removed from output, errors and progress", async () => {
    const heard: JsonValue[] = [];
    const tool = toolThat(async (_input, context) => {
      const value = context.secret("KEY");
      context.progress({ used: value });
      return { header: `Bearer ${value}`, [value]: [Buffer.from(value).toString("base64")] };
    });
    const { output } = await call(tool, { onProgress: (value) => void heard.push(value) });
    expect(output).toEqual({ header: "Bearer [secret]", "[secret]": ["[secret]"] });
    expect(heard).toEqual([{ used: "[secret]" }]);
    const failing = toolThat((_input, { secret }) => Promise.reject(new Error(`bad key ${secret("KEY")}`)));
    expect(await call(failing)).toMatchObject({ output: "bad key [secret]", isError: true });
  });

  it("are removed before the output is cut, so that no partial secret remains", async () => {
    const { output } = await answer(`${"x".repeat(65_480)}s3cret-value${"y".repeat(1_000)}`);
    expect(output).toContain("[Cut:");
    expect(output).not.toContain("s3");
  });

  it("are removed from the beginning of an output that was not read completely", async () => {
    const { output } = await answer(new Beginning(`s3cret-value ${"x".repeat(Beginning.ENOUGH)}`, 5_000_000));
    expect(output).toMatch(/^\[secret\] x/);
  });

  it("are named in the outcome when they are not set", async () => {
    const outcome = await call(toolThat(async (_input, { secret }) => secret("EMPTY")));
    expect(outcome).toMatchObject({ isError: true, missingSecret: "EMPTY" });
    expect(outcome.output).toContain('"EMPTY"');
  });
});

describe("an asynchronous input check", () => {
  it("is awaited before the tool runs, and its failure is reported without running the tool", async () => {
    const ran: string[] = [];
    const tool = toolThat(async () => void ran.push("ran"));
    const gate = Promise.withResolvers<string | null>();
    const callable = { tool, effect: "read" as const, checkInput: () => gate.promise };
    const options = { callId: "1", timeoutMs: 1_000, signal: new AbortController().signal };
    const clock = new ManualClock();
    const outcome = callTool(callable, {}, openScope, { ...options, clock });
    await clock.advance(1);
    expect(ran).toEqual([]);
    gate.resolve(null);
    expect((await outcome).isError).toBe(false);
    expect(ran).toEqual(["ran"]);
    const checkInput = (): never => {
      throw new Error("no such format");
    };
    const failed = await callTool({ ...callable, checkInput }, {}, openScope, { ...options, clock });
    expect(failed.output).toBe("The input of the tool probe could not be checked: no such format.");
    expect(ran).toEqual(["ran"]);
  });
});
