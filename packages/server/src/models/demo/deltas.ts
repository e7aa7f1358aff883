import type { DemoAnswer } from "./answer.ts";

/** A piece of an answer's text. */
export interface Delta {
  readonly text: string;
  /** Delay after the previous piece, in milliseconds. */
  readonly waitMs: number;
}

/** Twenty numbers per second (contract section 4). */
const countIntervalMs = 50;
/** Text streams word by word, but a long quotation in not many more deltas than a real model sends. */
const maximumTextDeltas = 64;

/** Yields the answer's text in deltas; nothing for a tool call. */
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
