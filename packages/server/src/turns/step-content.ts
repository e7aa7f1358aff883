// Puts the parts that a model streams together into the content of one assistant message, in the form in which it is stored and sent
// back to a model word for word: provider metadata included, which carries signatures of reasoning.

import type { JsonObject, JsonValue } from "../core/json.ts";
import { isJsonObject } from "../core/json.ts";
import { cleanText } from "../core/text.ts";
import { cleanJson } from "./clean-json.ts";
import { ArgumentBudget, cleanName, type KeptArguments, MAX_KEPT_CALLS } from "./step-arguments.ts";

interface OpenPart {
  readonly type: "text" | "reasoning";
  text: string;
  metadata: JsonObject | undefined;
}

/** A call that the model asks for. */
export interface RequestedCall {
  readonly id: string;
  readonly name: string;
  readonly input: JsonValue;
  /** Why it is not made, where its arguments were too large to be kept; `null` for one that may be. */
  readonly refusal: string | null;
}

export class StepContent {
  readonly calls: RequestedCall[] = [];
  /** Parts in the order in which they began. */
  readonly #parts: (OpenPart | JsonObject)[] = [];
  readonly #open = new Map<string, OpenPart>();
  readonly #usedCallIds: Set<string>;
  readonly #arguments: ArgumentBudget;
  /** Calls that have begun and not come as a whole, by the ids that the provider gives them. */
  readonly #begun = new Map<string, { readonly name: string; bytes: number }>();

  /**
   * `usedCallIds` of the conversation so far: some providers count calls anew in each step or turn, others refuse a history with doubles.
   * `argumentBytes`: what the calls of the answer so far have brought.
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

  /** A part that was never begun begins here: its text has been shown, so it must be kept. */
  grow(type: OpenPart["type"], id: string, text: string, metadata: unknown): void {
    const part = this.#open.get(`${type} ${id}`) ?? this.begin(type, id, undefined);
    part.text += text;
    part.metadata = jsonObject(metadata) ?? part.metadata;
  }

  addCall(call: Omit<RequestedCall, "refusal">, metadata: unknown): void {
    const kept = this.#arguments.take(call.input);
    if (!this.#begun.delete(call.id)) this.#arguments.hear(kept.bytes);
    this.#keepCall(call, kept, metadata);
  }

  /** A call begins, whose arguments come in pieces before it comes as a whole. */
  beginCall(id: string, name: string): void {
    this.#begun.set(id, { name, bytes: 0 });
  }

  growCall(id: string, piece: string): void {
    const begun = this.#begun.get(id);
    if (begun !== undefined) begun.bytes += piece.length;
    this.#arguments.hear(piece.length);
  }

  /** Whether so many arguments have come that the rest is not worth reading. */
  get isFlooded(): boolean {
    return this.#arguments.isFlooded;
  }

  /** No more is read of the step: calls that have begun are told to the model as calls that were not made. */
  cutOff(): void {
    for (const [id, { name, bytes }] of this.#begun) {
      this.#keepCall({ id, name }, this.#arguments.cut(bytes), undefined);
    }
    this.#begun.clear();
  }

  #keepCall(
    call: Pick<RequestedCall, "id" | "name">,
    { input, refusal }: KeptArguments,
    metadata: unknown,
  ): void {
    if (this.calls.length === MAX_KEPT_CALLS) return;
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

  /** The text that a person reads, clean. */
  text(): string {
    return cleanText(this.#parts.map((part) => (isText(part) ? part.text : "")).join(""));
  }

  /** AI SDK `AssistantContent`. Empty text is left out; reasoning stays even when empty if the provider attached something to it. */
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
