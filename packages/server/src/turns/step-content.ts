// Puts the parts that a model streams together into the content of one assistant message, in the form in which it is stored and sent
// back to a model word for word: provider metadata included, which carries signatures of reasoning.

import type { JsonObject, JsonValue } from "../core/json.ts";
import { isJsonObject } from "../core/json.ts";
import { cleanText } from "../core/text.ts";
import { cleanJson } from "./clean-json.ts";

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
}

export class StepContent {
  readonly calls: RequestedCall[] = [];
  /** Parts in the order in which they began. */
  readonly #parts: (OpenPart | JsonObject)[] = [];
  readonly #open = new Map<string, OpenPart>();
  readonly #usedCallIds: Set<string>;

  /** `usedCallIds` of the conversation so far: some providers count calls anew in each step or turn, others refuse a history with doubles. */
  constructor(usedCallIds: Iterable<string>) {
    this.#usedCallIds = new Set(usedCallIds);
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

  addCall(call: RequestedCall, metadata: unknown): void {
    const id = this.#uniqueCallId(cleanText(call.id));
    const name = cleanText(call.name);
    const input = cleanJson(call.input);
    this.calls.push({ id, name, input });
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
