// The bounded content of a model step: its text and calls, assembled from streamed parts. Each result of a
// call stores an event with the whole message, so without bounds a model that repeats large calls would fill
// the disk.

import type { Source } from "@colloquy/protocol";
import { cleanJson, cleanText, isJsonObject, type JsonObject, type JsonValue } from "../core/json.ts";
import type { ToolCallRecord } from "../core/message.ts";

/** Maximum JSON bytes of the arguments of one call, of all calls of a step, and of all calls of an answer. */
const MAX_CALL_BYTES = 64 * 1_024;
const MAX_STEP_BYTES = 256 * 1_024;
const MAX_ANSWER_BYTES = 1_024 * 1_024;
/** Size of arguments, text and reasoning together after which a response is cut off. Only a malfunctioning model sends so much. */
const MAX_RECEIVED_BYTES = 4 * 1_024 * 1_024;
/** Maximum stored calls of a step, including refused ones. */
const MAX_STORED_CALLS = 512;
/** Maximum stored characters of a name or id. Tool names have at most 64. */
const MAX_NAME = 128;
/** Maximum stored characters of a source's title and of its URL. Sources with longer URLs are not stored. */
const MAX_TITLE = 256;
const MAX_ADDRESS = 2_048;
/** Maximum stored sources of a step. */
const MAX_SOURCES = 50;

interface OpenPart {
  readonly type: "text" | "reasoning";
  text: string;
  metadata: JsonObject | undefined;
}

/** A call requested by the model. */
export interface RequestedCall {
  readonly id: string;
  readonly name: string;
  readonly input: JsonValue;
  /** The model's error result if the arguments were too large and not stored; `null` otherwise. */
  readonly refusal: string | null;
}

/**
 * The content of one assistant message as it is stored and sent back verbatim, with provider metadata such as
 * reasoning signatures.
 */
export class StepContent {
  readonly calls: RequestedCall[] = [];
  /** Web pages that the provider used. */
  readonly sources: Source[] = [];
  /** Parts in the order of their start. */
  readonly #parts: (OpenPart | JsonObject)[] = [];
  readonly #open = new Map<string, OpenPart>();
  readonly #usedCallIds: Set<string>;
  readonly #arguments: ArgumentBudget;
  /** Started but incomplete calls, by the provider's ids. */
  readonly #begun = new Map<string, { readonly name: string; bytes: number }>();
  #receivedBytes = 0;

  /**
   * `usedCallIds` are the conversation's ids so far: some providers reuse ids in each step or turn, and
   * others reject a history with duplicates. `argumentBytes` is the size of the answer's stored arguments so
   * far.
   */
  constructor(usedCallIds: Iterable<string>, argumentBytes: number) {
    this.#usedCallIds = new Set(usedCallIds);
    this.#arguments = new ArgumentBudget(argumentBytes);
  }

  begin(type: OpenPart["type"], id: string, metadata: unknown): OpenPart {
    const part: OpenPart = { type, text: "", metadata: jsonObject(metadata) };
    this.#open.set(`${type} ${id}`, part);
    this.#parts.push(part);
    return part;
  }

  /** Appends to a part. Starts it if the provider did not, because its text was already shown. */
  grow(type: OpenPart["type"], id: string, text: string, metadata: unknown): void {
    const part = this.#open.get(`${type} ${id}`) ?? this.begin(type, id, undefined);
    part.text += text;
    this.#receivedBytes += text.length;
    part.metadata = jsonObject(metadata) ?? part.metadata;
  }

  addCall(call: Omit<RequestedCall, "refusal">, metadata: unknown): void {
    const input = cleanJson(call.input);
    const bytes = byteLength(input);
    const refusal = this.#arguments.take(bytes);
    if (!this.#begun.delete(call.id)) this.#receivedBytes += bytes;
    this.#keepCall({ ...call, input: refusal === null ? input : omitted(bytes), refusal }, metadata);
  }

  /** Adds a source if a client may link to it. */
  addSource({
    id,
    url,
    title,
  }: {
    readonly id: string;
    readonly url: string;
    readonly title?: string;
  }): void {
    const parsed = URL.parse(url);
    const isWeb = parsed?.protocol === "https:" || parsed?.protocol === "http:";
    if (!isWeb || parsed.href.length > MAX_ADDRESS || this.sources.length === MAX_SOURCES) return;
    const shown = cleanText((title ?? "").slice(0, MAX_TITLE)).trim();
    this.sources.push({ id: cleanName(id), url: parsed.href, ...(shown !== "" && { title: shown }) });
  }

  /** Starts a call whose arguments arrive in pieces before the complete call. */
  beginCall(id: string, name: string): void {
    this.#begun.set(id, { name, bytes: 0 });
  }

  growCall(id: string, piece: string): void {
    const begun = this.#begun.get(id);
    if (begun !== undefined) begun.bytes += piece.length;
    this.#receivedBytes += piece.length;
  }

  /** True if what arrived exceeds the limit at which the response is cut off. */
  get isOverLimit(): boolean {
    return this.#receivedBytes > MAX_RECEIVED_BYTES;
  }

  /** Ends the step early. Incomplete calls get a result that tells the model that they were not made. */
  cutOff(): void {
    const refusal = `This call was not made: it was not heard to its end, because the calls of this step were far too large. One call may have ${MAX_CALL_BYTES} bytes of JSON at most, and all of a step ${MAX_STEP_BYTES}.`;
    for (const [id, { name, bytes }] of this.#begun) {
      this.#keepCall({ id, name, input: omitted(bytes), refusal }, undefined);
    }
    this.#begun.clear();
  }

  #keepCall(call: RequestedCall, metadata: unknown): void {
    if (this.calls.length === MAX_STORED_CALLS) return;
    const id = this.#uniqueCallId(cleanName(call.id));
    const name = cleanName(call.name);
    const { input, refusal } = call;
    this.calls.push({ id, name, input, refusal });
    this.#parts.push({
      type: "tool-call",
      toolCallId: id,
      toolName: name,
      input: isJsonObject(input) ? input : {},
      ...withMetadata(jsonObject(metadata)),
    });
  }

  /** Returns the clean text of the message. */
  text(): string {
    return cleanText(
      this.#parts.map((part) => (isOpenPart(part) && part.type === "text" ? part.text : "")).join(""),
    );
  }

  /** Returns AI SDK `AssistantContent`. Omits empty text; keeps empty reasoning with provider metadata. */
  toParts(): JsonObject[] {
    return this.#parts.flatMap((part) => {
      if (!isOpenPart(part)) return [part];
      if (part.text === "" && part.metadata === undefined) return [];
      return [{ type: part.type, text: cleanText(part.text), ...withMetadata(part.metadata) }];
    });
  }

  #uniqueCallId(id: string): string {
    let unique = id;
    for (let n = 2; this.#usedCallIds.has(unique); n += 1) unique = `${id}-${n}`;
    this.#usedCallIds.add(unique);
    return unique;
  }
}

/** Tracks the remaining bytes for the arguments of one step's calls. */
class ArgumentBudget {
  readonly #answerBytes: number;
  #stepBytes = 0;

  constructor(answerBytes: number) {
    this.#answerBytes = answerBytes;
  }

  /** Takes the bytes of a call's arguments. Returns the refusal of a call that does not fit, `null` otherwise. */
  take(bytes: number): string | null {
    if (bytes > MAX_CALL_BYTES) {
      return `This call was not made: its arguments had ${bytes} bytes of JSON, and one call may have ${MAX_CALL_BYTES} at most. Make it with less, or in several parts.`;
    }
    if (this.#answerBytes + this.#stepBytes + bytes > MAX_ANSWER_BYTES) {
      return `This call was not made: all calls of one answer may have ${MAX_ANSWER_BYTES} bytes of arguments together at most. Make calls with shorter arguments only, or answer with what there is.`;
    }
    if (this.#stepBytes + bytes > MAX_STEP_BYTES) {
      return `This call was not made: the calls of one step may have ${MAX_STEP_BYTES} bytes of arguments together at most. Make it again in the next step.`;
    }
    this.#stepBytes += bytes;
    return null;
  }
}

/** Returns the bytes of the calls' stored arguments. */
export function argumentBytes(calls: readonly Pick<ToolCallRecord, "arguments">[]): number {
  return calls.reduce((sum, call) => sum + byteLength(call.arguments), 0);
}

function cleanName(name: string): string {
  return cleanText(name.slice(0, MAX_NAME));
}

/**
 * Returns the replacement of arguments that are too large: an object, because providers reject anything else.
 */
function omitted(bytes: number): JsonObject {
  return { left_out: `${bytes} bytes of arguments, which is more than is kept` };
}

function byteLength(value: JsonValue): number {
  return Buffer.byteLength(JSON.stringify(value));
}

function isOpenPart(part: OpenPart | JsonObject): part is OpenPart {
  return part["type"] === "text" || part["type"] === "reasoning";
}

function jsonObject(value: unknown): JsonObject | undefined {
  return isJsonObject(value) ? (cleanJson(value) as JsonObject) : undefined;
}

function withMetadata(metadata: JsonObject | undefined): JsonObject {
  return metadata === undefined ? {} : { providerOptions: metadata };
}
