// Each result announces the whole message again, with all results before it: what the calls of one answer bring together is bounded too,
// or a model that has a large file read a hundred times would fill the disk.

import type { JsonValue } from "../core/json.ts";
import type { MessageRecord } from "../core/message.ts";

/** Bytes of JSON that the outputs of all calls of an answer may have together. More than most models can be sent. */
const MAX_OUTPUT_BYTES = 1_024 * 1_024;
/** Bytes of an output that is kept in any case: a number, or what went wrong. */
const SHORT_BYTES = 256;

/** What is left for the outputs of an answer. */
export class OutputBudget {
  #bytes: number;

  constructor({ toolResults }: Pick<MessageRecord, "toolResults">) {
    this.#bytes = toolResults.reduce((sum, { output }) => sum + byteLength(output), 0);
  }

  /** The output, or where it is too large a sentence in its place, which says that the call was made. */
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
