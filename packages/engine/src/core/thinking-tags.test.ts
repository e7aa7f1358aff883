import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type TaggedPiece, ThinkingSplitter, type ThinkingTags, withoutThinking } from "./thinking-tags.ts";

/** Splits a text that arrives in pieces of `size` characters. Returns the reasoning and the answer. */
function split(text: string, tags: ThinkingTags = "detect", size = text.length): readonly [string, string] {
  const splitter = new ThinkingSplitter(tags);
  const pieces: TaggedPiece[] = [];
  for (let start = 0; start < text.length; start += size)
    pieces.push(...splitter.push(text.slice(start, start + size)));
  pieces.push(...splitter.end());
  const of = (wanted: string): string =>
    pieces
      .filter(({ type }) => type === wanted)
      .map((piece) => piece.text)
      .join("");
  return [of("reasoning"), of("text")];
}

const CHANNELS = ["<|channel|>", "analysis", "final", "<|message|>", "<|end|>", "<|start|>assistant"];

describe("ThinkingSplitter", () => {
  it.each<[text: string, reasoning: string, answer: string]>([
    ["<think>a</think>b", "a", "b"],
    [" \n<think>\na\n</think>\n\nb\n", "\na\n", "b\n"],
    ["<THINKING>a</thinking>b", "a", "b"],
    ['<think reason="x" y>a</ think >b', "a", "b"],
    ["<seed:think>a</seed:think>b", "a", "b"],
    ["◁think▷a◁/think▷b", "a", "b"],
    ["[THINK]a[/THINK]b", "a", "b"],
    ["<think>a < b, [x] and </thin</think>c", "a < b, [x] and </thin", "c"],
    ["<think>a</think><think>b</think>c</think>", "ab", "c</think>"],
    ["<think>a", "a", ""],
    ["<think>a</thi", "a</thi", ""],
    ["<think></think>", "", ""],
    ["<think>a</think>\n\n", "a", ""],
    [
      "<|channel|>analysis<|message|>a<|end|><|start|>assistant<|channel|>final<|message|>b < c",
      "a",
      "b < c",
    ],
    ["<|channel|>analysis<|message|>a<|end|><|channel|>final<|message|>b<|return|>", "a", "b"],
    ["<|channel|>final<|message|>b<|return|>", "", "b"],
    ["<|channel|>commentary<|message|>b<|end|><|channel|>final<|message|>c", "", "bc"],
    ["<|channel|>analysis<|message|>a", "a", ""],
    [
      "<|channel|>commentary to=functions.x<|message|>{}",
      "",
      "<|channel|>commentary to=functions.x<|message|>{}",
    ],
    ["<|channel|>", "", "<|channel|>"],
    ["<|", "", "<|"],
    ["b <think>a</think>", "", "b <think>a</think>"],
    ["Use `<think>`; it ends with `</think>`.", "", "Use `<think>`; it ends with `</think>`."],
    ["`<think>` begins it", "", "`<think>` begins it"],
    ["<thinker>a</thinker>", "", "<thinker>a</thinker>"],
    ["</think>b", "", "</think>b"],
    ["<", "", "<"],
    ["\n\n  b", "", "\n\n  b"],
    ["<think", "", "<think"],
    [`${" ".repeat(300)}<think>a</think>`, "", `${" ".repeat(300)}<think>a</think>`],
  ])("splits %j", (text, reasoning, answer) => {
    for (const size of [text.length, 1, 2, 3, 7])
      expect([size, ...split(text, "detect", size)]).toEqual([size, reasoning, answer]);
  });

  it("starts with reasoning if the template contains the opening tag", () => {
    expect(split("a</think>b", "opened", 1)).toEqual(["a", "b"]);
    expect(split("a", "opened")).toEqual(["a", ""]);
  });

  it("parses no tags if the setting is off", () => {
    expect(split("<think>a</think>b", "off", 1)).toEqual(["", "<think>a</think>b"]);
  });

  it("returns text without an opening tag unchanged", () => {
    const piece = fc.constantFrom("<", ">", "think", "/", " ", "\n", "a", "[", "THINK", "]", "◁", "▷");
    fc.assert(
      fc.property(fc.array(piece), fc.integer({ min: 1, max: 4 }), (pieces, size) => {
        const text = `x${pieces.join("")}`;
        expect(split(text, "detect", size)).toEqual(["", text]);
      }),
    );
  });

  it("splits independently of the piece size", () => {
    const piece = fc.constantFrom(
      "<think>",
      "</think>",
      "<",
      "a",
      " ",
      "\n",
      "[THINK]",
      "[/THINK]",
      ...CHANNELS,
    );
    fc.assert(
      fc.property(fc.array(piece), fc.integer({ min: 1, max: 9 }), (pieces, size) => {
        const text = pieces.join("");
        expect(split(text, "detect", size)).toEqual(split(text));
      }),
    );
  });

  it("streams an answer in a channel although it contains brackets", () => {
    const splitter = new ThinkingSplitter("detect");
    const text = "[x] as in the list of a < b, which goes on";
    expect(splitter.push(`<|channel|>final<|message|>${text}`)).toEqual([
      { type: "text", text: "[x] as in the list of a " },
    ]);
    expect(splitter.push(" and on and on without a tag")).toEqual([
      { type: "text", text: "< b, which goes on and on and on without a tag" },
    ]);
  });

  it("finds the longest closing tag in pieces of any size", () => {
    const blanks = " ".repeat(8);
    const text = `<seed:thinking>a<${blanks}/${blanks}seed:thinking${blanks}>b`;
    for (let size = 1; size <= text.length; size += 1)
      expect(split(text, "detect", size)).toEqual(["a", "b"]);
  });

  it("runs in linear time", () => {
    const long = `<think>${"< ".repeat(500_000)}`;
    expect(split(long, "detect", 1_000)[1]).toBe("");
  });
});

describe("withoutThinking", () => {
  it("removes reasoning with or without an opening tag", () => {
    expect(withoutThinking("a\nb</think>c")).toBe("c");
    expect(withoutThinking("<think>a</think>b")).toBe("b");
    expect(withoutThinking("b")).toBe("b");
  });
});
