import { PassThrough } from "node:stream";
import { setImmediate } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { KeyReader } from "./key-reader.ts";
import { LineEditor } from "./line-editor.ts";

/** Creates an editor and a function that types keys and resolves when they are processed. */
function typewriter() {
  const keys = new KeyReader({ onInterrupt: () => undefined, onSuspend: () => undefined });
  const screen = Object.assign(new PassThrough(), { columns: 80, rows: 24, isTTY: true });
  screen.resume();
  const editor = new LineEditor(keys, screen as unknown as NodeJS.WriteStream);
  const type = async (text: string): Promise<void> => {
    await setImmediate();
    keys.take(Buffer.from(text));
    await setImmediate();
  };
  const ask = (isMessage: boolean, signal = new AbortController().signal) =>
    editor.ask({ prompt: "? ", isMessage, signal });
  return { editor, type, ask };
}

describe("a question", () => {
  it("drops its input when withdrawn, so that it does not answer the next question", async () => {
    const { type, ask } = typewriter();
    const withdrawal = new AbortController();
    const first = ask(false, withdrawal.signal);
    await type("y");
    withdrawal.abort();
    expect(await first).toEqual({ kind: "withdrawn" });
    const second = ask(false);
    await type("\r");
    expect(await second).toEqual({ kind: "line", text: "" });
  });

  it("keeps its input while other output is written above it", async () => {
    const { editor, type, ask } = typewriter();
    const asked = ask(false);
    await type("ye");
    editor.hide();
    editor.show();
    await type("s\r");
    expect(await asked).toEqual({ kind: "line", text: "yes" });
  });

  it("is interrupted by Ctrl-C even with input", async () => {
    const { type, ask } = typewriter();
    const asked = ask(false);
    await type("y\u0003");
    expect(await asked).toEqual({ kind: "interrupt" });
  });
});

describe("a message", () => {
  it("keeps its text when withdrawn and restores it at the next prompt", async () => {
    const { type, ask } = typewriter();
    const withdrawal = new AbortController();
    const first = ask(true, withdrawal.signal);
    await type("half a thou");
    withdrawal.abort();
    await first;
    const question = ask(false);
    await type("y\r");
    expect(await question).toEqual({ kind: "line", text: "y" });
    const second = ask(true);
    await type("ght\r");
    expect(await second).toEqual({ kind: "line", text: "half a thought" });
  });

  it("is cleared by Ctrl-C, and the next Ctrl-C interrupts", async () => {
    const { type, ask } = typewriter();
    const asked = ask(true);
    await type("half");
    await type("\u0003");
    await type("whole\r");
    expect(await asked).toEqual({ kind: "line", text: "whole" });
    const again = ask(true);
    await type("half");
    await type("\u0003");
    await type("\u0003");
    expect(await again).toEqual({ kind: "interrupt" });
  });
});
