// Assembles streamed parts into the content of one assistant message, in the form in which it is stored and
// sent back verbatim, including provider metadata such as reasoning signatures.

import type { JsonObject, JsonValue } from "../core/json.ts";
import { isJsonObject } from "../core/json.ts";
import { cleanText } from "../core/text.ts";
import { cleanJson } from "./clean-json.ts";
import { ArgumentBudget, cleanName, type StoredArguments, MAX_STORED_CALLS } from "./step-arguments.ts";

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
  /** The refusal of a call with oversized arguments; `null` otherwise. */
  readonly refusal: string | null;
}

export class StepContent {
  readonly calls: RequestedCall[] = [];
  /** Parts in the order of their start. */
  readonly #parts: (OpenPart | JsonObject)[] = [];
  readonly #open = new Map<string, OpenPart>();
  readonly #usedCallIds: Set<string>;
  readonly #arguments: ArgumentBudget;
  /** Started but incomplete calls, by the provider's ids. */
  readonly #begun = new Map<string, { readonly name: string; bytes: number }>();

  /**
   * `usedCallIds` are the conversation's ids so far: some providers restart counting in each step or turn,
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

  /**
   * Appends to a part, or starts it if the provider did not: its text was already shown, so it must be kept.
   */
  grow(type: OpenPart["type"], id: string, text: string, metadata: unknown): void {
    const part = this.#open.get(`${type} ${id}`) ?? this.begin(type, id, undefined);
    part.text += text;
    part.metadata = jsonObject(metadata) ?? part.metadata;
  }

  addCall(call: Omit<RequestedCall, "refusal">, metadata: unknown): void {
    const kept = this.#arguments.take(call.input);
    if (!this.#begun.delete(call.id)) this.#arguments.count(kept.bytes);
    this.#keepCall(call, kept, metadata);
  }

  /** Starts a call whose arguments arrive in pieces before the complete call. */
  beginCall(id: string, name: string): void {
    this.#begun.set(id, { name, bytes: 0 });
  }

  growCall(id: string, piece: string): void {
    const begun = this.#begun.get(id);
    if (begun !== undefined) begun.bytes += piece.length;
    this.#arguments.count(piece.length);
  }

  /** True if so many arguments arrived that the response should be cut off. */
  get isOverLimit(): boolean {
    return this.#arguments.isOverLimit;
  }

  /** Ends the step early: incomplete calls are reported to the model as not made. */
  cutOff(): void {
    for (const [id, { name, bytes }] of this.#begun) {
      this.#keepCall({ id, name }, this.#arguments.cut(bytes), undefined);
    }
    this.#begun.clear();
  }

  #keepCall(
    call: Pick<RequestedCall, "id" | "name">,
    { input, refusal }: StoredArguments,
    metadata: unknown,
  ): void {
    if (this.calls.length === MAX_STORED_CALLS) return;
    const id = this.#uniqueCallId(cleanName(call.id));
    const name = cleanName(call.name);
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
    return cleanText(this.#parts.map((part) => (isText(part) ? part.text : "")).join(""));
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

function isOpenPart(part: OpenPart | JsonObject): part is OpenPart {
  return part["type"] === "text" || part["type"] === "reasoning";
}

function isText(part: OpenPart | JsonObject): part is OpenPart {
  return part["type"] === "text";
}

function jsonObject(value: unknown): JsonObject | undefined {
  return isJsonObject(value) ? (cleanJson(value) as JsonObject) : undefined;
}

function withMetadata(metadata: JsonObject | undefined): JsonObject {
  return metadata === undefined ? {} : { providerOptions: metadata };
}
