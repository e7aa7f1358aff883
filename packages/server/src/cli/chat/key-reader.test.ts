import { describe, expect, it } from "vitest";
import { inLine, KeyReader, typedText } from "./key-reader.ts";

/** Creates a reader, a log of its calls, and a function that edits a line until it is entered. */
function keyboard() {
  const calls: string[] = [];
  const reader = new KeyReader({
    onInterrupt: () => calls.push("interrupt"),
    onSuspend: () => calls.push("suspend"),
  });
  /** Edits one line; resolves when all buffered keys are delivered. */
  const edit = async (): Promise<void> => {
    const end = reader.edit({
      onKeys: (text) => {
        calls.push(`keys ${JSON.stringify(text)}`);
        if (text.endsWith("\r")) end();
      },
      onText: (text) => calls.push(`text ${JSON.stringify(text)}`),
    });
    await Promise.resolve();
  };
  const type = (text: string): void => reader.take(Buffer.from(text));
  return { reader, calls, edit, type };
}

describe("while editing a line", () => {
  it("delivers keys line by line, because each line may end editing", async () => {
    const { calls, edit, type } = keyboard();
    await edit();
    type("one\rtwo\r");
    expect(calls).toEqual(['keys "one\\r"']);
    await edit();
    expect(calls).toEqual(['keys "one\\r"', 'keys "two\\r"']);
  });

  it("delivers Ctrl-C to the line", async () => {
    const { calls, edit, type } = keyboard();
    await edit();
    type("ab\u0003");
    expect(calls).toEqual(['keys "ab"', 'keys "\\u0003"']);
  });

  it("reassembles multi-byte characters", async () => {
    const bytes = Buffer.from("é漢👍");
    for (let at = 1; at < bytes.length; at += 1) {
      const { reader, calls, edit } = keyboard();
      await edit();
      reader.take(bytes.subarray(0, at));
      reader.take(bytes.subarray(at));
      expect(calls.map((one) => /"(.*)"/.exec(one)?.[1]).join("")).toBe("é漢👍");
    }
  });

  it("keeps editing when the end function of an earlier line is called", async () => {
    const { reader, calls, edit, type } = keyboard();
    const end = reader.edit({ onKeys: () => calls.push("the earlier one"), onText: () => undefined });
    await edit();
    end();
    type("now");
    expect(calls).toEqual(['keys "now"']);
  });
});

describe("without a line to edit", () => {
  it("handles Ctrl-C and Ctrl-Z at once and buffers other keys", async () => {
    const { calls, edit, type } = keyboard();
    type("next\u001A");
    expect(calls).toEqual(["suspend"]);
    await edit();
    expect(calls).toEqual(["suspend", 'keys "next"']);
  });

  it("drops keys before Ctrl-C and keeps those after it", async () => {
    const { calls, edit, type } = keyboard();
    type("before\r\u0003after");
    expect(calls).toEqual(["interrupt"]);
    await edit();
    expect(calls).toEqual(["interrupt", 'keys "after"']);
  });

  it("drops buffered keys on forget", async () => {
    const { reader, calls, edit, type } = keyboard();
    type("y\r");
    reader.forget();
    await edit();
    type("n\r");
    expect(calls).toEqual(['keys "n\\r"']);
  });
});

describe("pasted text", () => {
  const PASTE = "\u001B[200~one\r\ntwo\u0003\u001B[31m\u001B[201~";

  it("is delivered as one text without keys, however it is split", async () => {
    for (let at = 1; at < PASTE.length; at += 1) {
      const { calls, edit, type } = keyboard();
      await edit();
      type(`a${PASTE.slice(0, at)}`);
      type(`${PASTE.slice(at)}b`);
      expect(calls).toEqual(['keys "a"', 'text "one␤two[31m"', 'keys "b"']);
    }
  });

  it("is buffered without a line to edit, and Ctrl-C in it does not interrupt", async () => {
    const { calls, edit, type } = keyboard();
    type(PASTE);
    expect(calls).toEqual([]);
    await edit();
    expect(calls).toEqual(['text "one␤two[31m"']);
  });

  it("ends only at the end marker", async () => {
    const { calls, edit, type } = keyboard();
    await edit();
    type("\u001B[200~one\u001B\r\u001B\u001B[200~two\r\u001B[201~");
    expect(calls).toEqual(['text "one␤[200~two␤"']);
  });
});

it("treats Alt-Enter as a line end within the message", async () => {
  const { calls, edit, type } = keyboard();
  await edit();
  type("one\u001B\rtwo\u001B");
  type("\nthree");
  expect(calls).toEqual(['keys "one"', 'text "␤"', 'keys "two"', 'text "␤"', 'keys "three"']);
});

it("delivers other escape sequences, whole or in pieces", async () => {
  const { calls, edit, type } = keyboard();
  await edit();
  for (const piece of ["\u001B[A", "\u001B", "b", "\u001B[", "B"]) type(piece);
  expect(calls).toEqual(['keys "\\u001b[A"', 'keys "\\u001bb"', 'keys "\\u001b[B"']);
});

it("shows line ends in a line as symbols and restores them in the message", () => {
  expect(inLine("one\r\ntwo\rthree\nfour\tfive\u001B[A\u009B\u007F")).toBe("one␤two␤three␤four\tfive[A");
  expect(typedText(inLine("one\r\ntwo\nthree"))).toBe("one\ntwo\nthree");
});
