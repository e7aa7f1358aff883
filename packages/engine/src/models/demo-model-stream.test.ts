import { getEventListeners } from "node:events";
import type { LanguageModelV4StreamPart } from "@ai-sdk/provider";
import { generateText, streamText } from "ai";
import { describe, expect, it } from "vitest";
import { ManualClock } from "../../../server/test/manual-clock.ts";
import { createDemoModel } from "./demo-model.ts";

describe("counting", () => {
  it("streams twenty numbers per second, each in its own delta", async () => {
    const clock = new ManualClock();
    const result = streamText({ model: createDemoModel(clock), prompt: "Count to 5, please" });
    const heard: Array<{ text: string; at: number }> = [];
    const reading = (async () => {
      for await (const part of result.stream) {
        if (part.type === "text-delta") heard.push({ text: part.text, at: clock.monotonic() });
      }
    })();
    await clock.advance(199);
    expect(heard).toEqual([
      { text: "1", at: 0 },
      { text: " 2", at: 50 },
      { text: " 3", at: 100 },
      { text: " 4", at: 150 },
    ]);
    await clock.advance(1);
    await reading;
    expect(heard.map(({ text }) => text).join("")).toBe("1 2 3 4 5");
    expect(clock.timers).toBe(0);
  });

  it("stops at once on abort, and leaves no timer", async () => {
    const clock = new ManualClock();
    const stop = new AbortController();
    const result = streamText({
      model: createDemoModel(clock),
      prompt: "count to 10,000",
      abortSignal: stop.signal,
    });
    const types: string[] = [];
    const reading = (async () => {
      for await (const part of result.stream) types.push(part.type);
    })();
    await clock.advance(120);
    stop.abort();
    await reading;
    expect(types.at(-1)).toBe("abort");
    expect(types.filter((type) => type === "text-delta")).toHaveLength(3);
    expect(clock.timers).toBe(0);
  });
});

describe("stream", () => {
  async function open(prompt: string, abortSignal?: AbortSignal) {
    const clock = new ManualClock();
    const { stream } = await createDemoModel(clock).doStream({
      prompt: [{ role: "user", content: [{ type: "text", text: prompt }] }],
      ...(abortSignal !== undefined && { abortSignal }),
    });
    return { clock, reader: stream.getReader() };
  }

  it("errors with the signal's reason whenever it is aborted", async () => {
    for (let parts = 0; parts < 6; parts += 1) {
      const stop = new AbortController();
      const { clock, reader } = await open("count to 9", stop.signal);
      for (let read = 0; read < parts; read += 1) {
        const next = reader.read();
        await clock.advance(50);
        await next;
      }
      const pending = reader.read();
      const reason = new Error("enough");
      stop.abort(reason);
      // Parts that were ready before the abort may still arrive, but none after it.
      const last = await pending.catch((error: unknown) => error);
      if (last !== reason) await expect(reader.read()).rejects.toBe(reason);
      expect(clock.timers).toBe(0);
    }
  });

  it("does not start if already aborted", async () => {
    const reason = new Error("too late");
    await expect(open("count to 9", AbortSignal.abort(reason))).rejects.toBe(reason);
    const model = createDemoModel(new ManualClock());
    await expect(generateText({ model, prompt: "hi", abortSignal: AbortSignal.abort() })).rejects.toThrow(
      "aborted",
    );
  });

  it("leaves no timer when its reader cancels", async () => {
    const { clock, reader } = await open("count to 9");
    for (let read = 0; read < 4; read += 1) await reader.read();
    const pending = reader.read();
    await clock.advance(10);
    expect(clock.timers).toBe(1);
    await reader.cancel();
    expect(await pending).toEqual({ done: true, value: undefined });
    expect(clock.timers).toBe(0);
  });

  it("removes its abort listener however it ends", async () => {
    const { signal } = new AbortController();
    const cancelled = await open("count to 9", signal);
    await cancelled.reader.read();
    expect(getEventListeners(signal, "abort")).toHaveLength(1);
    await cancelled.reader.cancel();
    expect(getEventListeners(signal, "abort")).toHaveLength(0);
    const read = await open("hi", signal);
    while (!(await read.reader.read()).done);
    expect(getEventListeners(signal, "abort")).toHaveLength(0);
  });

  it("is deterministic, and equals the non-streaming answer", async () => {
    const read = async (prompt: string): Promise<LanguageModelV4StreamPart[]> => {
      const { clock, reader } = await open(prompt);
      const parts: LanguageModelV4StreamPart[] = [];
      for (;;) {
        const next = reader.read();
        await clock.advance(50);
        const { done, value } = await next;
        if (done)
          return parts.map((part) => ("timestamp" in part ? { ...part, timestamp: new Date(0) } : part));
        parts.push(value);
      }
    };
    for (const prompt of ["hello", "count to 4", "tell me a joke"]) {
      const parts = await read(prompt);
      expect(await read(prompt)).toEqual(parts);
      const text = parts.map((part) => (part.type === "text-delta" ? part.delta : "")).join("");
      const whole = await generateText({ model: createDemoModel(new ManualClock()), prompt });
      expect(whole.text).toBe(text);
      expect(parts.at(-1)).toMatchObject({
        type: "finish",
        usage: { outputTokens: { total: whole.usage.outputTokens } },
      });
    }
  });
});
