import { expect, it } from "vitest";
import { reasoningIn } from "../core/turn.ts";
import { StreamedReasoning } from "./model-step.ts";
import { StepContent } from "./step-content.ts";

const PIECES = ["", " ", "\n\n", "one", " two ", "\n three", "😀", "\ud83d", "\ude00", "\0", "four\n\n"];

/** Returns the streamed reasoning of parts, and the stored one. */
function bothOf(parts: readonly (readonly string[])[]): [streamed: string, stored: string] {
  const reasoning = new StreamedReasoning();
  const content = new StepContent([], 0);
  let streamed = "";
  for (const [id, pieces] of parts.entries()) {
    content.begin("reasoning", String(id), undefined);
    for (const piece of pieces) {
      content.grow("reasoning", String(id), piece, undefined);
      streamed += reasoning.push(String(id), piece);
    }
  }
  return [streamed, reasoningIn(content.toParts())];
}

it("streams the reasoning that is stored, however its parts are cut", () => {
  let state = 7;
  const random = (below: number): number => {
    state = (state * 1_103_515_245 + 12_345) % 2 ** 31;
    return Math.floor((state / 2 ** 31) * below);
  };
  const differing = Array.from({ length: 2_000 }, () =>
    Array.from({ length: random(4) }, () =>
      Array.from({ length: random(6) }, () => PIECES[random(PIECES.length)] ?? ""),
    ),
  ).filter((parts) => {
    const [streamed, stored] = bothOf(parts);
    // A high surrogate at the end of a part may be held back for a rest that never comes.
    const endsCut = (pieces: readonly string[]): boolean =>
      pieces.join("").replaceAll("\0", "").trimEnd().endsWith("\ud83d");
    return streamed !== stored && !parts.some(endsCut);
  });
  expect(differing).toEqual([]);
});

it("holds back space until more of the part follows", () => {
  const reasoning = new StreamedReasoning();
  const pieces: [part: string, text: string][] = [
    ["a", "one "],
    ["a", " two\n"],
    ["b", " three"],
  ];
  expect(pieces.map(([part, text]) => reasoning.push(part, text))).toEqual(["one", "  two", "\n\nthree"]);
});
