// Bounds the outputs of all calls of an answer together: each result announces the whole message again, so a
// model that reads a large file a hundred times would fill the disk.

import type { JsonValue } from "../core/json.ts";
import type { MessageRecord } from "../core/message.ts";

/** Maximum bytes of all outputs of an answer, more than most models accept. */
const MAX_OUTPUT_BYTES = 1_024 * 1_024;
/** Outputs up to this size are always kept: a number, or an error. */
const SHORT_BYTES = 256;

/** Tracks the remaining bytes for an answer's outputs. */
export class OutputBudget {
  #bytes: number;

  constructor({ toolResults }: Pick<MessageRecord, "toolResults">) {
    this.#bytes = toolResults.reduce((sum, { output }) => sum + byteLength(output), 0);
  }

  /** Returns the output, or if it is too large a sentence that says so. */
  fit(output: JsonValue): JsonValue {
    const bytes = byteLength(output);
    const fits = bytes <= SHORT_BYTES || this.#bytes + bytes <= MAX_OUTPUT_BYTES;
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
