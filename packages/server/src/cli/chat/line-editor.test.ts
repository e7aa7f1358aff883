import { emitKeypressEvents } from "node:readline";
import { PassThrough } from "node:stream";
import { setImmediate } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { LineEditor } from "./line-editor.ts";

/** Creates an editor, a function that types keys, and one that types and resolves when they are processed. */
function typewriter() {
  const calls: string[] = [];
  const screen = Object.assign(new PassThrough(), { columns: 80, rows: 24, isTTY: true });
  screen.resume();
  const editor = new LineEditor(screen as unknown as NodeJS.WriteStream, {
    onInterrupt: () => calls.push("interrupt"),
    onSuspend: () => calls.push("suspend"),
  });
  const input = new PassThrough();
  emitKeypressEvents(input);
  input.on("keypress", editor.take);
  const send = (bytes: Buffer | string): void => void input.emit("data", Buffer.from(bytes));
  const type = async (text: string): Promise<void> => {
    await setImmediate();
    send(text);
    await setImmediate();
  };
  const ask = (isMessage: boolean, signal = new AbortController().signal) =>
    editor.ask({ prompt: "? ", isMessage, signal });
  return { calls, editor, send, type, ask };
}

describe("a question", () => {
  it("drops its input when withdrawn, so that the input does not answer the next question", async () => {
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

  it("can be recalled with the arrow keys, unlike an answer to a question", async () => {
    const { type, ask } = typewriter();
    for (const text of ["one", "two"]) {
      const asked = ask(true);
      await type(`${text}\r`);
      await asked;
    }
    const question = ask(false);
    await type("\u001B[A\r");
    expect(await question).toEqual({ kind: "line", text: "" });
    const again = ask(true);
    await type("\u001B[A\u001B[A\r");
    expect(await again).toEqual({ kind: "line", text: "one" });
  });

  it("has a line end for Alt-Enter", async () => {
    const { type, ask } = typewriter();
    const asked = ask(true);
    await type("one\u001B\rtwo\u001B");
    await type("\nthree\r");
    expect(await asked).toEqual({ kind: "line", text: "one\ntwo\nthree" });
  });
});

describe("keys", () => {
  it("answer one message after the other when typed ahead", async () => {
    const { type, ask } = typewriter();
    await type("one\rtwo\r");
    expect(await ask(true)).toEqual({ kind: "line", text: "one" });
    expect(await ask(true)).toEqual({ kind: "line", text: "two" });
  });

  it("are buffered without a line, except Ctrl-C and Ctrl-Z", async () => {
    const { calls, type, ask } = typewriter();
    await type("before\r\u0003af");
    await type("\u001Ater\r");
    expect(calls).toEqual(["interrupt", "suspend"]);
    expect(await ask(true)).toEqual({ kind: "line", text: "after" });
  });

  it("do not answer a question that appeared after they were typed", async () => {
    const { type, ask } = typewriter();
    await type("y\r");
    const asked = ask(false);
    await type("n\r");
    expect(await asked).toEqual({ kind: "line", text: "n" });
  });

  it("are reassembled from split characters and escape sequences", async () => {
    const bytes = Buffer.from("é漢👍x\u001B[D\u001B[D!\r");
    for (let at = 1; at < bytes.length; at += 1) {
      const { send, ask } = typewriter();
      const asked = ask(true);
      send(bytes.subarray(0, at));
      send(bytes.subarray(at));
      expect(await asked).toEqual({ kind: "line", text: "é漢!👍x" });
    }
  });
});

describe("pasted text", () => {
  const PASTE = "\u001B[200~one\r\ntwo\tthree\u0003\u001B[31m\u001B\r\u001B\u001B[200~\u009B\u001B[201~";
  const LINE = { kind: "line", text: "aone\ntwo\tthree[31m\n[200~b" };

  it("is one text without keys, however it is split", async () => {
    for (let at = 1; at < PASTE.length; at += 1) {
      const { send, ask } = typewriter();
      const asked = ask(true);
      send(`a${PASTE.slice(0, at)}`);
      send(`${PASTE.slice(at)}b\r`);
      expect(await asked).toEqual(LINE);
    }
  });

  it("is buffered without a line, and Ctrl-C in it does not interrupt", async () => {
    const { calls, type, ask } = typewriter();
    await type(`a${PASTE}b\r`);
    expect(calls).toEqual([]);
    expect(await ask(true)).toEqual(LINE);
  });
});
