import { describe, expect, it } from "vitest";
import { inLine, KeyReader, typedText } from "./key-reader.ts";

/** A reader, what it has told, and a line that is edited until its end is entered. */
function keyboard() {
  const told: string[] = [];
  const reader = new KeyReader({
    onInterrupt: () => told.push("interrupt"),
    onSuspend: () => told.push("suspend"),
  });
  /** Edits lines until one is entered; answers when nothing waits for it any more. */
  const edit = async (): Promise<void> => {
    const end = reader.edit({
      onKeys: (text) => {
        told.push(`keys ${JSON.stringify(text)}`);
        if (text.endsWith("\r")) end();
      },
      onText: (text) => told.push(`text ${JSON.stringify(text)}`),
    });
    await Promise.resolve();
  };
  const type = (text: string): void => reader.take(Buffer.from(text));
  return { reader, told, edit, type };
}

describe("while a line is edited", () => {
  it("hands on what is typed, line by line, because each may be the end of editing", async () => {
    const { told, edit, type } = keyboard();
    await edit();
    type("one\rtwo\r");
    expect(told).toEqual(['keys "one\\r"']);
    await edit();
    expect(told).toEqual(['keys "one\\r"', 'keys "two\\r"']);
  });

  it("leaves Ctrl-C to the line", async () => {
    const { told, edit, type } = keyboard();
    await edit();
    type("ab\u0003");
    expect(told).toEqual(['keys "ab"', 'keys "\\u0003"']);
  });

  it("hands on keys of several bytes whole, wherever they are broken", async () => {
    const bytes = Buffer.from("é漢👍");
    for (let at = 1; at < bytes.length; at += 1) {
      const { reader, told, edit } = keyboard();
      await edit();
      reader.take(bytes.subarray(0, at));
      reader.take(bytes.subarray(at));
      expect(told.map((one) => /"(.*)"/.exec(one)?.[1]).join("")).toBe("é漢👍");
    }
  });

  it("goes on with it, whenever an earlier one is said to have ended", async () => {
    const { reader, told, edit, type } = keyboard();
    const end = reader.edit({ onKeys: () => told.push("the earlier one"), onText: () => undefined });
    await edit();
    end();
    type("now");
    expect(told).toEqual(['keys "now"']);
  });
});

describe("while no line is edited", () => {
  it("hears Ctrl-C and Ctrl-Z at once, and keeps what is typed for the next line", async () => {
    const { told, edit, type } = keyboard();
    type("next\u001A");
    expect(told).toEqual(["suspend"]);
    await edit();
    expect(told).toEqual(["suspend", 'keys "next"']);
  });

  it("Ctrl-C drops what was typed before it, and not what comes after", async () => {
    const { told, edit, type } = keyboard();
    type("before\r\u0003after");
    expect(told).toEqual(["interrupt"]);
    await edit();
    expect(told).toEqual(["interrupt", 'keys "after"']);
  });

  it("forgets what was typed, when a question comes that it was not meant for", async () => {
    const { reader, told, edit, type } = keyboard();
    type("y\r");
    reader.forget();
    await edit();
    type("n\r");
    expect(told).toEqual(['keys "n\\r"']);
  });
});

describe("what is pasted", () => {
  const PASTE = "\u001B[200~one\r\ntwo\u0003\u001B[31m\u001B[201~";

  it("is one text without keys, wherever it is broken", async () => {
    for (let at = 1; at < PASTE.length; at += 1) {
      const { told, edit, type } = keyboard();
      await edit();
      type(`a${PASTE.slice(0, at)}`);
      type(`${PASTE.slice(at)}b`);
      expect(told).toEqual(['keys "a"', 'text "one␤two[31m"', 'keys "b"']);
    }
  });

  it("waits like anything else while no line is edited, and its Ctrl-C interrupts nothing", async () => {
    const { told, edit, type } = keyboard();
    type(PASTE);
    expect(told).toEqual([]);
    await edit();
    expect(told).toEqual(['text "one␤two[31m"']);
  });

  it("ends where the terminal says, whatever is in it", async () => {
    const { told, edit, type } = keyboard();
    await edit();
    type("\u001B[200~one\u001B\r\u001B\u001B[200~two\r\u001B[201~");
    expect(told).toEqual(['text "one␤[200~two␤"']);
  });
});

it("takes Alt-Enter for a line end within the message", async () => {
  const { told, edit, type } = keyboard();
  await edit();
  type("one\u001B\rtwo\u001B");
  type("\nthree");
  expect(told).toEqual(['keys "one"', 'text "␤"', 'keys "two"', 'text "␤"', 'keys "three"']);
});

it("hands on other keys that begin with an escape, whole or in pieces", async () => {
  const { told, edit, type } = keyboard();
  await edit();
  for (const piece of ["\u001B[A", "\u001B", "b", "\u001B[", "B"]) type(piece);
  expect(told).toEqual(['keys "\\u001b[A"', 'keys "\\u001bb"', 'keys "\\u001b[B"']);
});

it("shows line ends in a line as signs, which are line ends again in the message", () => {
  expect(inLine("one\r\ntwo\rthree\nfour\tfive\u001B[A\u009B\u007F")).toBe("one␤two␤three␤four\tfive[A");
  expect(typedText(inLine("one\r\ntwo\nthree"))).toBe("one\ntwo\nthree");
});
