import fc from "fast-check";
import {
  type LanguageModelV4,
  type LanguageModelV4StreamPart,
  NoContentGeneratedError,
} from "@ai-sdk/provider";
import { describe, expect, it } from "vitest";
import { ScriptedModel } from "../../test/scripted-model.ts";
import type { Tool } from "../core/ports/driven/tool.ts";
import { ModelCaller, type ModelStep, StreamedText } from "./model-step.ts";
import { cleanText } from "../core/json.ts";

const caller = new ModelCaller();
const calculator: Tool = {
  name: "calculator",
  description: "Calculates",
  inputSchema: { type: "object", properties: { expression: { type: "string" } } },
  effect: "read",
  execute: () => Promise.reject(new Error("The step must not run tools")),
};
const tools = [calculator];

interface Asked {
  readonly model: ScriptedModel;
  readonly step: Promise<ModelStep>;
  readonly heard: string[];
  readonly controller: AbortController;
  progress: number;
}

function ask(
  options: { usedCallIds?: readonly string[]; argumentBytes?: number; model?: LanguageModelV4 } = {},
): Asked {
  const model = new ScriptedModel();
  const controller = new AbortController();
  const heard: string[] = [];
  const step = caller.call({
    model: options.model ?? model,
    instructions: "Be brief.",
    messages: [{ role: "user", content: "Hello" }],
    tools,
    usedCallIds: options.usedCallIds ?? [],
    argumentBytes: options.argumentBytes ?? 0,
    signal: controller.signal,
    onText: (text) => heard.push(text),
    onProgress: () => void (asked.progress += 1),
  });
  const asked: Asked = { model, step, heard, controller, progress: 0 };
  return asked;
}

/** Runs a step whose model sends exactly these parts. */
async function stepOf(...said: readonly (LanguageModelV4StreamPart | { readonly argumentBytes: number })[]) {
  const parts = said.filter((part) => "type" in part);
  const asked = ask(said.find((part) => "argumentBytes" in part));
  const call = await asked.model.next();
  call.emit(...parts).finish();
  const step = await asked.step;
  if (step.kind !== "finished") throw new Error(`The step ${step.kind}`);
  return { step, heard: asked.heard };
}

function callPart(toolCallId: string, input: object, toolName = "calculator"): LanguageModelV4StreamPart {
  return { type: "tool-call", toolCallId, toolName, input: JSON.stringify(input) };
}

function textParts(id: string, ...deltas: readonly string[]): LanguageModelV4StreamPart[] {
  return [
    { type: "text-start", id },
    ...deltas.map((delta) => ({ type: "text-delta" as const, id, delta })),
    { type: "text-end", id },
  ];
}

describe("finished step", () => {
  it("sends the instructions, messages and tools to the model, and runs no tool", async () => {
    const { model, step } = ask();
    const call = await model.next();
    expect(call.prompt).toEqual(["system: Be brief.", 'user: [{"type":"text","text":"Hello"}]']);
    expect(call.options.tools).toMatchObject([{ type: "function", name: "calculator" }]);
    call.callTool("calculator", { expression: "1" }, "c1").finish("tool-calls");
    expect(await step).toMatchObject({
      kind: "finished",
      calls: [{ id: "c1", name: "calculator", input: { expression: "1" } }],
      finishReason: "tool-calls",
    });
  });

  it("streams text as it arrives, and reports progress for every part", async () => {
    const asked = ask();
    const call = await asked.model.next();
    call
      .emit({ type: "reasoning-start", id: "r" }, { type: "reasoning-delta", id: "r", delta: "hm" })
      .say("Hel", "lo")
      .finish();
    expect(await asked.step).toMatchObject({ kind: "finished", text: "Hello", finishReason: "stop" });
    expect(asked.heard).toEqual(["Hel", "lo"]);
    expect(asked.progress).toBeGreaterThanOrEqual(6);
  });

  it("keeps parts in the order of their start, whatever order they end in", async () => {
    const { step } = await stepOf(
      { type: "reasoning-start", id: "a" },
      { type: "text-start", id: "a" },
      { type: "text-delta", id: "a", delta: "said" },
      { type: "reasoning-delta", id: "a", delta: "thought" },
      { type: "tool-call", toolCallId: "c1", toolName: "calculator", input: "{}" },
      { type: "text-end", id: "a" },
      { type: "reasoning-end", id: "a" },
      ...textParts("b", "more"),
    );
    expect(step.parts).toEqual([
      { type: "reasoning", text: "thought" },
      { type: "text", text: "said" },
      { type: "tool-call", toolCallId: "c1", toolName: "calculator", input: {} },
      { type: "text", text: "more" },
    ]);
    expect(step.text).toBe("saidmore");
  });

  it("keeps provider metadata verbatim, the last of several", async () => {
    const sealed = { openai: { itemId: "rs_1", reasoningEncryptedContent: "gAAA+/= é\n" } };
    const { step } = await stepOf(
      { type: "reasoning-start", id: "r", providerMetadata: { anthropic: {} } },
      {
        type: "reasoning-delta",
        id: "r",
        delta: "",
        providerMetadata: { anthropic: { signature: "Eq+/==" } },
      },
      { type: "reasoning-end", id: "r" },
      { type: "reasoning-start", id: "empty", providerMetadata: sealed },
      { type: "reasoning-end", id: "empty" },
      { type: "reasoning-start", id: "nothing" },
      { type: "reasoning-end", id: "nothing" },
      { type: "text-start", id: "t" },
      { type: "text-delta", id: "t", delta: "x" },
      { type: "text-end", id: "t", providerMetadata: { google: { thoughtSignature: "sig" } } },
      {
        type: "tool-call",
        toolCallId: "c1",
        toolName: "calculator",
        input: "{}",
        providerMetadata: { google: { thoughtSignature: "call" } },
      },
    );
    expect(step.parts).toEqual([
      { type: "reasoning", text: "", providerOptions: { anthropic: { signature: "Eq+/==" } } },
      { type: "reasoning", text: "", providerOptions: sealed },
      { type: "text", text: "x", providerOptions: { google: { thoughtSignature: "sig" } } },
      {
        type: "tool-call",
        toolCallId: "c1",
        toolName: "calculator",
        input: {},
        providerOptions: { google: { thoughtSignature: "call" } },
      },
    ]);
  });

  it("joins a character split between deltas, and replaces a lone surrogate", async () => {
    const { step, heard } = await stepOf(...textParts("t", "a\ud83d", "\ude00b\ude00", "c\ud83d"));
    expect(heard.join("")).toBe("a😀b\ufffdc\ufffd");
    expect(heard.every((piece) => piece.isWellFormed())).toBe(true);
    expect(step.text).toBe("a😀b\ufffdc\ufffd");
    expect(step.parts).toEqual([{ type: "text", text: "a😀b\ufffdc\ufffd" }]);
  });

  it("removes NUL from text and calls", async () => {
    const { step, heard } = await stepOf(...textParts("t", "\0a\ud83d\0", "\ude00\0", "\0"), {
      type: "tool-call",
      toolCallId: "c\0",
      toolName: "calculator\0",
      input: String.raw`{"expression":"1\u0000+\ud83d","a\u0000":[["\u0000"]],"big":1e400}`,
    });
    expect(heard.join("")).toBe("a😀");
    expect(step.text).toBe("a😀");
    expect(step.calls[0]).toMatchObject({
      id: "c",
      name: "calculator",
      input: { expression: "1+\ufffd", a: [[""]], big: null },
    });
    expect(JSON.stringify(step)).not.toMatch(/\\u0000|\\ud83d/);
  });

  it("keeps text of a part that was never started, because it has been shown", async () => {
    const { step, heard } = await stepOf({ type: "text-delta", id: "lost", delta: "here" });
    expect(heard).toEqual(["here"]);
    expect(step.text).toBe("here");
    expect(step.parts).toEqual([{ type: "text", text: "here" }]);
  });

  it("returns calls of unknown tools or with invalid JSON, so that the model is told", async () => {
    const { step } = await stepOf(
      { type: "tool-call", toolCallId: "c1", toolName: "teleport", input: '{"to":"moon"}' },
      { type: "tool-call", toolCallId: "c2", toolName: "calculator", input: '{"expression":' },
    );
    expect(step.calls).toMatchObject([
      { id: "c1", name: "teleport", input: { to: "moon" } },
      { id: "c2", name: "calculator", input: '{"expression":' },
    ]);
    // Input that is sent back to a model must be an object.
    expect(step.parts).toMatchObject([{ input: { to: "moon" } }, { input: {} }]);
  });

  it("makes duplicate call ids unique", async () => {
    const asked = ask({ usedCallIds: ["call_0", "call_0-2"] });
    const call = await asked.model.next();
    call.callTool("calculator", {}, "call_0").callTool("calculator", {}, "call_0").finish("tool-calls");
    const step = await asked.step;
    expect(step).toMatchObject({ calls: [{ id: "call_0-3" }, { id: "call_0-4" }] });
    expect(step).toMatchObject({ parts: [{ toolCallId: "call_0-3" }, { toolCallId: "call_0-4" }] });
  });

  it("refuses arguments that are too large for one call", async () => {
    const { step } = await stepOf(
      callPart("c1", { text: "x".repeat(64 * 1_024) }),
      callPart("c2", { text: "x".repeat(64 * 1_024 - 11) }),
    );
    expect(step.calls).toEqual([
      {
        id: "c1",
        name: "calculator",
        input: { left_out: "65547 bytes of arguments, which is more than is kept" },
        refusal: expect.stringMatching(
          /^This call was not made: its arguments had 65547 bytes.* in several parts/,
        ),
      },
      { id: "c2", name: "calculator", input: { text: expect.any(String) }, refusal: null },
    ]);
    expect(step.parts).toMatchObject(step.calls.map(({ input }) => ({ type: "tool-call", input })));
  });

  it("refuses arguments beyond the limits of the step and of the answer", async () => {
    const parts = ["c1", "c2", "c3", "c4", "c5"].map((id) => callPart(id, { text: "x".repeat(60_000) }));
    const first = await stepOf(...parts);
    expect(first.step.calls.map(({ refusal }) => refusal)).toEqual([
      null,
      null,
      null,
      null,
      expect.stringContaining("Make it again in the next step"),
    ]);
    const later = await stepOf({ argumentBytes: 1_024 * 1_024 - 130_000 }, ...parts);
    expect(later.step.calls.map(({ refusal }) => refusal)).toEqual([
      null,
      null,
      ...Array.from({ length: 3 }, () => expect.stringContaining("all calls of one answer")),
    ]);
  });

  it("ends with the calls so far when arguments exceed the limit", async () => {
    const asked = ask();
    const call = await asked.model.next();
    const large = JSON.stringify({ text: "x".repeat(1_024 * 1_024) });
    for (const id of ["c1", "c2", "c3", "c4", "c5"]) {
      call.emit({ type: "tool-call", toolCallId: id, toolName: "calculator", input: large });
    }
    expect(await asked.step).toMatchObject({
      kind: "finished",
      finishReason: "length",
      calls: ["c1", "c2", "c3", "c4"].map((id) => ({ id, refusal: expect.any(String) })),
    });
  });

  it("ends when a call's arguments never end, and refuses that call", async () => {
    const asked = ask();
    const call = await asked.model.next();
    call.emit({ type: "tool-input-start", id: "c1", toolName: "calculator" });
    const delta = "x".repeat(1_024 * 1_024);
    for (let n = 0; n < 5; n += 1) call.emit({ type: "tool-input-delta", id: "c1", delta });
    expect(await asked.step).toMatchObject({
      kind: "finished",
      finishReason: "length",
      calls: [{ id: "c1", name: "calculator", refusal: expect.stringContaining("not heard to its end") }],
      parts: [{ type: "tool-call", toolCallId: "c1", input: { left_out: expect.any(String) } }],
    });
  });

  it("limits the number of stored calls, and the length of names", async () => {
    const many = Array.from({ length: 600 }, (_, n) => callPart(`c${n}`, {}));
    const { step } = await stepOf(callPart("i".repeat(500), {}, "n".repeat(500)), ...many);
    expect(step.calls).toHaveLength(512);
    expect(step.parts).toHaveLength(512);
    expect(step.calls[0]).toMatchObject({ id: "i".repeat(128), name: "n".repeat(128) });
  });

  it("returns the usage, or zeros if the provider reports none", async () => {
    const asked = ask();
    const call = await asked.model.next();
    const usage = {
      inputTokens: { total: 100, noCache: 60, cacheRead: 40, cacheWrite: 0 },
      outputTokens: { total: 30, text: 10, reasoning: 20 },
    };
    call.emit({ type: "finish", finishReason: { unified: "stop", raw: "stop" }, usage });
    expect(await asked.step).toMatchObject({
      usage: {
        inputTokens: 100,
        outputTokens: 30,
        totalTokens: 130,
        reasoningTokens: 20,
        cachedInputTokens: 40,
      },
    });
    const silent = ask();
    const none = { total: undefined, noCache: undefined, cacheRead: undefined, cacheWrite: undefined };
    const nothing = {
      inputTokens: none,
      outputTokens: { total: undefined, text: undefined, reasoning: undefined },
    };
    (await silent.model.next()).emit({
      type: "finish",
      finishReason: { unified: "stop", raw: undefined },
      usage: nothing,
    });
    expect(await silent.step).toMatchObject({ usage: { inputTokens: 0, outputTokens: 0, totalTokens: 0 } });
  });
});

describe("failed step", () => {
  it.each(["error", "interrupted"] as const)("fails when the answer ended as %s", async (unified) => {
    const asked = ask();
    const call = await asked.model.next();
    call.say("half").emit({
      type: "finish",
      finishReason: { unified, raw: undefined },
      usage: { inputTokens: {} as never, outputTokens: {} as never },
    });
    const step = await asked.step;
    expect(step).toMatchObject({ kind: "failed", hasStreamed: true });
    expect(step.kind === "failed" && NoContentGeneratedError.isInstance(step.error)).toBe(true);
  });

  it("fails when the stream breaks off", async () => {
    const asked = ask();
    (await asked.model.next()).breakOff();
    const step = await asked.step;
    expect(step).toMatchObject({ kind: "failed", hasStreamed: false });
    expect(step.kind === "failed" && NoContentGeneratedError.isInstance(step.error)).toBe(true);
  });

  it("returns the error that the provider sent, and stops reading", async () => {
    const asked = ask();
    const error = new Error("overloaded");
    const call = await asked.model.next();
    call.emit({ type: "error", error }).say("text after the error");
    expect(await asked.step).toMatchObject({ kind: "failed", hasStreamed: false });
    expect(asked.heard).toEqual([]);
  });

  it("returns the error of a broken connection, and whether text was streamed", async () => {
    const error = new TypeError("terminated");
    const asked = ask();
    const call = await asked.model.next();
    call.say("so far");
    while (asked.heard.length === 0) await turnOfTheLoop();
    call.fail(error);
    expect(await asked.step).toMatchObject({ kind: "failed", error, hasStreamed: true });
  });

  it("returns the error of a call that never started", async () => {
    const error = new Error("no route");
    const model: LanguageModelV4 = Object.assign(new ScriptedModel(), {
      doStream: () => Promise.reject(error),
    });
    expect(await ask({ model }).step).toMatchObject({ kind: "failed", error, hasStreamed: false });
  });
});

describe("abort", () => {
  it("returns at once while the stream hangs, and cancels it", async () => {
    const asked = ask();
    const call = await asked.model.next();
    call.say("so far");
    while (asked.heard.length === 0) await turnOfTheLoop();
    asked.controller.abort(new Error("stop"));
    expect(await asked.step).toEqual({ kind: "aborted" });
    await turnOfTheLoop();
    expect(() => call.say("too late")).toThrow();
    expect(asked.heard).toEqual(["so far"]);
  });

  it("returns at once before the stream opens, even if the model ignores it, and cancels the late stream", async () => {
    const opened = Promise.withResolvers<void>();
    const open = Promise.withResolvers<void>();
    const cancelled = Promise.withResolvers<unknown>();
    const model: LanguageModelV4 = Object.assign(new ScriptedModel(), {
      doStream: async () => {
        opened.resolve();
        await open.promise;
        return { stream: new ReadableStream({ cancel: (reason) => cancelled.resolve(reason) }) };
      },
    });
    const asked = ask({ model });
    await opened.promise;
    asked.controller.abort(new Error("stop"));
    expect(await asked.step).toEqual({ kind: "aborted" });
    open.resolve();
    expect(await cancelled.promise).toMatchObject({ message: "stop" });
  });

  it("leaves no unhandled rejection when the call fails later", async () => {
    const unhandled: unknown[] = [];
    const listen = (error: unknown): void => void unhandled.push(error);
    process.on("unhandledRejection", listen);
    const opened = Promise.withResolvers<void>();
    const failing = Promise.withResolvers<never>();
    const model: LanguageModelV4 = Object.assign(new ScriptedModel(), {
      doStream: () => {
        opened.resolve();
        return failing.promise;
      },
    });
    const asked = ask({ model });
    await opened.promise;
    asked.controller.abort();
    expect(await asked.step).toEqual({ kind: "aborted" });
    failing.reject(new Error("too late"));
    for (let turn = 0; turn < 3; turn += 1) await turnOfTheLoop();
    process.off("unhandledRejection", listen);
    expect(unhandled).toEqual([]);
  });

  it("calls no model if already aborted", async () => {
    const model = new ScriptedModel();
    const step = await caller.call({
      model,
      instructions: "",
      messages: [{ role: "user", content: "Hello" }],
      tools,
      usedCallIds: [],
      argumentBytes: 0,
      signal: AbortSignal.abort(),
      onText: () => undefined,
      onProgress: () => undefined,
    });
    expect(step).toEqual({ kind: "aborted" });
    await turnOfTheLoop();
    expect(model.waitingCalls).toBe(0);
  });

  it("is noticed at any moment between opening the stream and its first part", async () => {
    for (let moment = 0; moment < 60; moment += 1) {
      const controller = new AbortController();
      const model: LanguageModelV4 = Object.assign(new ScriptedModel(), {
        doStream: async () => {
          void passMoments(moment).then(() => controller.abort());
          return { stream: new ReadableStream() };
        },
      });
      const step = await caller.call({
        model,
        instructions: "",
        messages: [{ role: "user", content: "Hello" }],
        tools,
        usedCallIds: [],
        argumentBytes: 0,
        signal: controller.signal,
        onText: () => undefined,
        onProgress: () => undefined,
      });
      expect(step).toEqual({ kind: "aborted" });
    }
  });
});

/** Waits for this many microtasks. */
async function passMoments(count: number): Promise<void> {
  for (let moment = 0; moment < count; moment += 1) await Promise.resolve();
}

function turnOfTheLoop(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

const unit = fc.constantFrom("a", "\0", "\ud83d", "\ude00", "é", "\ufffd");

it("yields the same clean text however it is split, in clean pieces", () => {
  fc.assert(
    fc.property(fc.array(fc.array(unit, { maxLength: 4 })), (pieces) => {
      const streamed = new StreamedText();
      const texts = pieces.map((units) => units.join(""));
      const out = [...texts.map((text) => streamed.push(text)), streamed.end()];
      expect(out.every((text) => text === cleanText(text))).toBe(true);
      expect(out.join("")).toBe(cleanText(texts.join("")));
    }),
  );
});
