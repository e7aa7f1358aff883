import { describe, expect, it } from "vitest";
import { StepContent } from "./step-content.ts";
import { ask, callPart, stepOf, textParts } from "./testing/asked-step.ts";

describe("content of a step", () => {
  it("keeps parts in the order of their start, whatever the order of their ends", async () => {
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

  it("keeps provider metadata verbatim, and the last of several", async () => {
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

  it("returns calls of unknown tools or with invalid JSON, so that the model gets an error", async () => {
    const { step } = await stepOf(
      { type: "tool-call", toolCallId: "c1", toolName: "teleport", input: '{"to":"moon"}' },
      { type: "tool-call", toolCallId: "c2", toolName: "calculator", input: '{"expression":' },
    );
    expect(step.calls).toMatchObject([
      { id: "c1", name: "teleport", input: { to: "moon" } },
      { id: "c2", name: "calculator", input: '{"expression":' },
    ]);
    // Providers require the input of a call to be an object.
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

  it("ends with the calls so far if arguments exceed the limit", async () => {
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

  it("ends if a call's arguments never end, and refuses that call", async () => {
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

  it.each(["text", "reasoning"] as const)(
    "ends if its %s never ends, and keeps what has arrived",
    async (type) => {
      const asked = ask();
      const call = await asked.model.next();
      call.emit({ type: `${type}-start`, id: "p1" });
      const delta = "x".repeat(1_024 * 1_024);
      for (let n = 0; n < 5; n += 1) call.emit({ type: `${type}-delta`, id: "p1", delta });
      expect(await asked.step).toMatchObject({
        kind: "finished",
        finishReason: "length",
        parts: [{ type, text: delta.repeat(5) }],
      });
    },
  );

  it("limits the number of stored calls, and the length of names", async () => {
    const many = Array.from({ length: 600 }, (_, n) => callPart(`c${n}`, {}));
    const { step } = await stepOf(callPart("i".repeat(500), {}, "n".repeat(500)), ...many);
    expect(step.calls).toHaveLength(512);
    expect(step.parts).toHaveLength(512);
    expect(step.calls[0]).toMatchObject({ id: "i".repeat(128), name: "n".repeat(128) });
  });
});

describe("sources", () => {
  const sources = (...sent: { id?: string; url: string; title?: string }[]) => {
    const content = new StepContent([], 0);
    for (const { id = "1", ...source } of sent) content.addSource({ id, ...source });
    return content.sources;
  };

  it("are pages of the web only, with clean and bounded fields", () => {
    expect(
      sources(
        { url: "HTTPS://Example.com/a b", title: " A\0 page " },
        { url: "http://example.com", title: "" },
        { url: "javascript:alert(1)", title: "x" },
        { url: "data:text/html,x" },
        { url: "/path" },
        { url: `https://example.com/${"a".repeat(2_048)}` },
        { id: "i".repeat(200), url: "https://example.com/b", title: "t".repeat(300) },
      ),
    ).toEqual([
      { id: "1", url: "https://example.com/a%20b", title: "A page" },
      { id: "1", url: "http://example.com/" },
      { id: "i".repeat(128), url: "https://example.com/b", title: "t".repeat(256) },
    ]);
  });

  it("are 50 at most", () => {
    const many = Array.from({ length: 60 }, (_, n) => ({ url: `https://example.com/${n}` }));
    expect(sources(...many)).toHaveLength(50);
  });
});
