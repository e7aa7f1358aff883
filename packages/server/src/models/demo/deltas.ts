import type { DemoAnswer } from "./answer.ts";

/** A piece of an answer's text. */
export interface Delta {
  readonly text: string;
  /** How long after the piece before it, in milliseconds. */
  readonly waitMs: number;
}

/** Twenty numbers a second (contract section 4). */
const countIntervalMs = 50;
/** Word by word, but a long quotation in not many more pieces than a real model takes for its answer. */
const maximumTextDeltas = 64;

/** The text of an answer in the pieces in which it streams; none for a tool call. */
export function* deltasOf(answer: DemoAnswer): Generator<Delta> {
  if (answer.kind === "count") {
    yield { text: "1", waitMs: 0 };
    for (let number = 2; number <= answer.to; number += 1)
      yield { text: ` ${number}`, waitMs: countIntervalMs };
  }
  if (answer.kind === "text") {
    const words = answer.text.match(/\s*\S+\s*/g) ?? [];
    const size = Math.ceil(words.length / maximumTextDeltas);
    for (let index = 0; index < words.length; index += size) {
      yield { text: words.slice(index, index + size).join(""), waitMs: 0 };
    }
  }
}
