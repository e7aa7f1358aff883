// Bounds the arguments of tool calls before anything is stored: per call, per step and per answer. A model
// may send any amount, and every result of a call announces the whole message again, with all stored
// arguments.

import type { JsonObject, JsonValue } from "../core/json.ts";
import type { ToolCallRecord } from "../core/message.ts";
import { cleanText } from "../core/text.ts";
import { cleanJson } from "./clean-json.ts";

/** Maximum bytes of JSON of one call's arguments, as for its output. */
const MAX_CALL_BYTES = 64 * 1_024;
/** Maximum bytes of all calls of a step together. */
const MAX_STEP_BYTES = 256 * 1_024;
/** Maximum bytes of all calls of an answer together. */
const MAX_ANSWER_BYTES = 1_024 * 1_024;
/** Bytes of arguments after which the response is cut off: only a malfunctioning model sends as many. */
const MAX_RECEIVED_BYTES = 4 * 1_024 * 1_024;
/** Maximum stored calls of a step, including those that are never made and tell the model so. */
export const MAX_STORED_CALLS = 512;
/** Maximum stored characters of a name or id. Tool names have at most 64. */
const MAX_NAME = 128;

/** Arguments as stored. */
export interface StoredArguments {
  readonly input: JsonValue;
  /** The model's error result if the arguments were not stored; `null` if they were. */
  readonly refusal: string | null;
  /** Bytes of JSON of the original arguments. */
  readonly bytes: number;
}

/** Tracks the remaining bytes for the arguments of one step's calls. */
export class ArgumentBudget {
  readonly #answerBytes: number;
  #stepBytes = 0;
  #receivedBytes = 0;

  /** `answerBytes` is the size of the arguments stored by the answer's previous steps. */
  constructor(answerBytes: number) {
    this.#answerBytes = answerBytes;
  }

  /** Counts received bytes of any call. */
  count(bytes: number): void {
    this.#receivedBytes += bytes;
  }

  /** True if so much was received that the response should be cut off. */
  get isOverLimit(): boolean {
    return this.#receivedBytes > MAX_RECEIVED_BYTES;
  }

  /**
   * Cleans the next call's arguments, or replaces them if too large: by an object, because providers reject
   * anything else.
   */
  take(input: JsonValue): StoredArguments {
    const clean = cleanJson(input);
    const bytes = byteLength(clean);
    const refusal = this.#refusal(bytes);
    if (refusal === null) this.#stepBytes += bytes;
    return { input: refusal === null ? clean : omitted(bytes), refusal, bytes };
  }

  /** Like `take`, for a call that was cut off after this many bytes. */
  cut(bytes: number): StoredArguments {
    return {
      input: omitted(bytes),
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

/** Returns the bytes of the calls' stored arguments. */
export function argumentBytes(calls: readonly Pick<ToolCallRecord, "arguments">[]): number {
  return calls.reduce((sum, call) => sum + byteLength(call.arguments), 0);
}

/** Cleans and truncates a name or id. */
export function cleanName(name: string): string {
  return cleanText(name.slice(0, MAX_NAME));
}

function omitted(bytes: number): JsonObject {
  return { left_out: `${bytes} bytes of arguments, which is more than is kept` };
}

function byteLength(value: JsonValue): number {
  return Buffer.byteLength(JSON.stringify(value));
}
