// A model may send any amount of arguments. What is kept of them stands in the message, which every result of a call announces again: so
// what one call, the calls of a step and those of a whole answer may bring is bounded before anything of it is stored.

import type { JsonObject, JsonValue } from "../core/json.ts";
import type { ToolCallRecord } from "../core/message.ts";
import { cleanText } from "../core/text.ts";
import { cleanJson } from "./clean-json.ts";

/** Bytes of JSON that one call may bring: as many as its output may have. */
const MAX_CALL_BYTES = 64 * 1_024;
/** Bytes that all calls of a step may bring together. */
const MAX_STEP_BYTES = 256 * 1_024;
/** Bytes that all calls of an answer may bring together. */
const MAX_ANSWER_BYTES = 1_024 * 1_024;
/** Bytes of arguments after which a model is not listened to any more: only a model that is out of its mind sends them. */
const MAX_HEARD_BYTES = 4 * 1_024 * 1_024;
/** Calls of a step that are kept at all; those that are never made among them tell the model so. */
export const MAX_KEPT_CALLS = 512;
/** Characters of a name or an id that are kept. Tools have names of at most 64. */
const MAX_NAME = 128;

/** Arguments as they are kept. */
export interface KeptArguments {
  readonly input: JsonValue;
  /** What the model reads of the call in place of a result, where its arguments are not kept; `null` where they are. */
  readonly refusal: string | null;
  /** How many bytes of JSON they had. */
  readonly bytes: number;
}

/** What is left for the arguments of the calls of one step. */
export class ArgumentBudget {
  readonly #answerBytes: number;
  #stepBytes = 0;
  #heardBytes = 0;

  /** `answerBytes`: what the calls of the answer's steps before this one have brought. */
  constructor(answerBytes: number) {
    this.#answerBytes = answerBytes;
  }

  /** Bytes of arguments have come, of one call or another. */
  hear(bytes: number): void {
    this.#heardBytes += bytes;
  }

  /** Whether so much has come that the rest of the answer is not worth the time of reading it. */
  get isFlooded(): boolean {
    return this.#heardBytes > MAX_HEARD_BYTES;
  }

  /** The clean arguments of the next call, or what stands in their place: an object, because providers take nothing else in a history. */
  take(input: JsonValue): KeptArguments {
    const clean = cleanJson(input);
    const bytes = byteLength(clean);
    const refusal = this.#refusal(bytes);
    if (refusal === null) this.#stepBytes += bytes;
    return { input: refusal === null ? clean : leftOut(bytes), refusal, bytes };
  }

  /** As `take`, for a call of which only so many bytes were heard. */
  cut(bytes: number): KeptArguments {
    return {
      input: leftOut(bytes),
      bytes,
      refusal: `This call was not made: it was not heard to its end, because the calls of this step were far too large. One call may have ${MAX_CALL_BYTES} bytes of JSON at most, and all of a step ${MAX_STEP_BYTES}.`,
    };
  }

  #refusal(bytes: number): string | null {
    if (bytes > MAX_CALL_BYTES) {
      return `This call was not made: its arguments had ${bytes} bytes of JSON, and one call may have ${MAX_CALL_BYTES} at most. Make it with less, or in several parts.`;
    }
    if (this.#answerBytes + this.#stepBytes + bytes > MAX_ANSWER_BYTES) {
      return `This call was not made: all calls of one answer may have ${MAX_ANSWER_BYTES} bytes of arguments together at most. Make calls with shorter arguments only, or answer with what there is.`;
    }
    if (this.#stepBytes + bytes > MAX_STEP_BYTES) {
      return `This call was not made: the calls of one step may have ${MAX_STEP_BYTES} bytes of arguments together at most. Make it again in the next step.`;
    }
    return null;
  }
}

/** Bytes of the arguments of calls as they are kept. */
export function argumentBytes(calls: readonly Pick<ToolCallRecord, "arguments">[]): number {
  return calls.reduce((sum, call) => sum + byteLength(call.arguments), 0);
}

/** A name or id, clean and no longer than any that means something. */
export function cleanName(name: string): string {
  return cleanText(name.slice(0, MAX_NAME));
}

function leftOut(bytes: number): JsonObject {
  return { left_out: `${bytes} bytes of arguments, which is more than is kept` };
}

function byteLength(value: JsonValue): number {
  return Buffer.byteLength(JSON.stringify(value));
}
