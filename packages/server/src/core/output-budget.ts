import type { JsonValue } from "./json.ts";
import type { MessageRecord } from "./message.ts";

/** Maximum bytes of all outputs of an answer, more than most models accept. */
const MAX_OUTPUT_BYTES = 1_024 * 1_024;
/** Maximum size of outputs that are always kept, such as a number or an error. */
const SHORT_OUTPUT_BYTES = 256;

/** Tracks the remaining bytes for an answer's outputs. */
export class OutputBudget {
  #bytes: number;

  constructor({ toolResults }: Pick<MessageRecord, "toolResults">) {
    this.#bytes = toolResults.reduce((sum, { output, told = output }) => sum + byteLength(told), 0);
  }

  /** Returns the output, or a sentence about its size if it is too large. */
  fit(output: JsonValue): JsonValue {
    const bytes = byteLength(output);
    const fits = bytes <= SHORT_OUTPUT_BYTES || this.#bytes + bytes <= MAX_OUTPUT_BYTES;
    const kept = fits
      ? output
      : `[Left out: the call was made, and its output had ${bytes} bytes. All outputs of one answer may have ${MAX_OUTPUT_BYTES} together. Answer with what there is.]`;
    this.#bytes += byteLength(kept);
    return kept;
  }
}

function byteLength(value: JsonValue): number {
  return Buffer.byteLength(JSON.stringify(value));
}
