import fc from "fast-check";
import { type LanguageModelV4, NoContentGeneratedError } from "@ai-sdk/provider";
import { describe, expect, it } from "vitest";
import { ScriptedModel } from "@colloquy/testing/internal/models/scripted-model";
import { StreamedText } from "./model-step.ts";
import { cleanText } from "../core/json.ts";
import { ask, caller, stepOf, textParts, tools } from "./testing/asked-step.ts";

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

  it("joins a character split between deltas, and replaces a lone surrogate", async () => {
    const { step, heard } = await stepOf(...textParts("t", "a\ud83d", "\ude00b\ude00", "c\ud83d"));
    expect(heard.join("")).toBe("a😀b\ufffdc\ufffd");
    expect(heard.every((piece) => piece.isWellFormed())).toBe(true);
    expect(step.text).toBe("a😀b\ufffdc\ufffd");
    expect(step.parts).toEqual([{ type: "text", text: "a😀b\ufffdc\ufffd" }]);
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
  it.each(["error", "interrupted"] as const)("fails if the answer ended as %s", async (unified) => {
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

  it("is noticed at any time between the opening of the stream and its first part", async () => {
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
