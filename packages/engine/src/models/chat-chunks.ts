// Normalizes chunks of the Chat Completions API. Servers deviate from the API in details, and the provider package
// rejects unexpected fields, so each chunk is rebuilt from the known fields.

import { isJsonObject, type JsonObject, type JsonValue } from "../core/json.ts";

/** Maps the finish reasons of all servers, in lower case, to OpenAI's. */
const FINISH_REASONS: Readonly<Record<string, string>> = {
  stop: "stop",
  eos: "stop",
  eos_token: "stop",
  end_turn: "stop",
  stop_sequence: "stop",
  complete: "stop",
  completed: "stop",
  finish: "stop",
  length: "length",
  max_tokens: "length",
  max_length: "length",
  model_length: "length",
  tool_calls: "tool_calls",
  tool_call: "tool_calls",
  tool_use: "tool_calls",
  function_call: "function_call",
  content_filter: "content_filter",
  safety: "content_filter",
  sensitive: "content_filter",
};

/** Fields that contain reasoning, by server. */
const REASONING_FIELDS = ["reasoning_content", "reasoning", "reasoning_text", "thinking"];

/** Maximum distinct calls per answer: twice the number that is stored. */
const MAX_CALLS = 1_024;

interface Call {
  readonly index: number;
  readonly wireIndex: number | null;
  id: string;
  name: string;
  /** Arguments received so far. */
  input: string;
  readonly end: JsonEnd;
  /** Arguments received before the name. */
  unsent: string;
}

/** A delta of a call. `id`, `name` and `input` are empty if absent. */
interface CallDelta {
  readonly index: number | null;
  readonly id: string;
  readonly name: string;
  readonly input: string;
}

/** Normalizes the chunks of one response, in order. */
export class ChatChunks {
  readonly #calls: Call[] = [];

  /** Returns the chunk in OpenAI's format; `null` if it is empty. */
  normalize(chunk: JsonObject): JsonObject | null {
    const choice = firstChoice(chunk);
    const usage = usageOf(chunk, choice);
    const { delta, finishReason } = choice === null ? NO_CHOICE : this.#readChoice(choice);
    if (usage === null && finishReason === null && Object.keys(delta).length === 0) return null;
    const choices = choice === null ? [] : [{ index: 0, delta, finish_reason: finishReason }];
    return {
      ...(typeof chunk["id"] === "string" && { id: chunk["id"] }),
      ...(typeof chunk["model"] === "string" && { model: chunk["model"] }),
      choices,
      ...(usage !== null && { usage }),
    };
  }

  /** Returns the finish reason for a server that sends none. */
  get impliedFinishReason(): string {
    return this.#calls.some(({ name }) => name !== "") ? "tool_calls" : "stop";
  }

  #readChoice(choice: JsonObject): { readonly delta: JsonObject; readonly finishReason: string | null } {
    const { finish_reason: reason } = choice;
    const trimmed = typeof reason === "string" ? reason.trim() : "";
    const finishReason = trimmed === "" ? null : (FINISH_REASONS[trimmed.toLowerCase()] ?? trimmed);
    const sent = [choice["delta"], choice["message"]].find(isJsonObject) ?? {};
    const content = contentOf(sent["content"] ?? choice["text"]);
    const reasoning = reasoningOf(sent);
    const calls = this.#readCalls(sent);
    const { refusal } = sent;
    return {
      finishReason,
      delta: {
        ...(content !== null && { content }),
        ...(reasoning !== "" && { reasoning_content: reasoning }),
        ...(typeof refusal === "string" && refusal !== "" && { refusal }),
        ...(calls.length > 0 && { tool_calls: calls }),
      },
    };
  }

  #readCalls(delta: JsonObject): JsonObject[] {
    const { tool_calls: calls, function_call: call } = delta;
    const legacy: JsonValue[] = isJsonObject(call) ? [{ index: 0, function: call }] : [];
    const all: JsonValue[] = isJsonObject(calls) ? [calls] : Array.isArray(calls) ? calls : legacy;
    return all
      .slice(0, MAX_CALLS)
      .filter(isJsonObject)
      .map((one) => this.#readCall(one))
      .filter((piece) => piece !== null);
  }

  /** Returns the next piece of a call; `null` until its name is known. */
  #readCall(sent: JsonObject): JsonObject | null {
    const inner = isJsonObject(sent["function"]) ? sent["function"] : sent;
    const name = nameOf(inner["name"]);
    const id = textOf(sent["id"]).trim();
    const input = argumentsOf(inner["arguments"] ?? inner["parameters"]);
    const index = numberOf(sent["index"]);
    if (this.#repeats({ index, id, name, input })) return null;
    const call = this.#callOf({ index, id, name, input });
    if (call === null) return null;
    call.id ||= id;
    const isNew = call.name === "" && name !== "";
    if (isNew) call.name = name;
    call.input += input;
    call.end.read(input);
    call.unsent += input;
    if (call.name === "") return null;
    const piece = call.unsent;
    call.unsent = "";
    if (!isNew && piece === "") return null;
    return {
      index: call.index,
      ...(isNew && call.id !== "" && { id: call.id }),
      type: "function",
      function: { ...(isNew && { name: call.name }), arguments: piece },
      ...(isJsonObject(sent["extra_content"]) && { extra_content: signatureOf(sent["extra_content"]) }),
    };
  }

  /** Returns true for a complete call that was already received: some servers repeat calls at the end. */
  #repeats({ index, id, name, input }: CallDelta): boolean {
    return (
      name !== "" &&
      isComplete(input) &&
      this.#calls.some(
        (call) =>
          call.name === name &&
          call.input === input &&
          call.wireIndex === index &&
          call.id === id &&
          (id !== "" || index !== null),
      )
    );
  }

  /**
   * Returns the call that a delta continues, or a new call; `null` at the maximum. Servers may omit or repeat indexes and
   * ids.
   */
  #callOf({ index, id, name, input }: CallDelta): Call | null {
    const match = this.#calls.findLast(
      (call) =>
        (index !== null && call.wireIndex === index) || (index === null && id !== "" && call.id === id),
    );
    const last = this.#calls.at(-1);
    // Some servers increment the index with each delta of the same call.
    const mayContinueLast = (id === "" && (index === null || name === "")) || (index === null && name === "");
    const candidate = match ?? (mayContinueLast ? last : undefined);
    if (candidate !== undefined && !startsNewCall(candidate, { id, name, input })) return candidate;
    if (this.#calls.length === MAX_CALLS) return null;
    const initial = { name: "", input: "", end: new JsonEnd(), unsent: "" };
    const call = { index: this.#calls.length, wireIndex: index, id, ...initial };
    this.#calls.push(call);
    return call;
  }
}

/** Returns true if a delta with a name must start a new call. */
function startsNewCall(call: Call, { id, name, input }: Omit<CallDelta, "index">): boolean {
  if (name === "" || call.name === "") return false;
  if (id !== "" && call.id !== "" && id !== call.id) return true;
  if (name !== call.name) return true;
  return input.trimStart().startsWith("{") && call.end.isReached;
}

/** Detects the end of a streamed JSON object or array in linear time. */
class JsonEnd {
  #depth = 0;
  #isText = false;
  #isEscaped = false;
  #hasBegun = false;

  get isReached(): boolean {
    return this.#hasBegun && this.#depth === 0;
  }

  read(piece: string): void {
    for (let at = 0; at < piece.length; at += 1) {
      const character = piece[at];
      if (this.#isEscaped) this.#isEscaped = false;
      else if (this.#isText) {
        if (character === "\\") this.#isEscaped = true;
        else if (character === '"') this.#isText = false;
      } else if (character === '"') this.#isText = true;
      else if (character === "{" || character === "[") {
        this.#depth += 1;
        this.#hasBegun = true;
      } else if (character === "}" || character === "]") this.#depth -= 1;
    }
  }
}

/** Strips the control tokens that gpt-oss may append to a tool name, as in `weather<|channel|>commentary`. */
function nameOf(value: JsonValue | undefined): string {
  const name = textOf(value).trim();
  const end = name.indexOf("<|");
  return end > 0 ? name.slice(0, end).trim() : name;
}

function isComplete(input: string): boolean {
  if (input === "") return false;
  try {
    JSON.parse(input);
    return true;
  } catch {
    return false;
  }
}

const NO_CHOICE = { delta: {}, finishReason: null };

function firstChoice({ choices }: JsonObject): JsonObject | null {
  const all = isJsonObject(choices) ? [choices] : Array.isArray(choices) ? choices : [];
  return all.find(isJsonObject) ?? null;
}

function contentOf(content: JsonValue | undefined): JsonValue | null {
  if (typeof content === "string") return content === "" ? null : content;
  if (Array.isArray(content)) {
    const parts = content.flatMap(partOf);
    return parts.length === 0 ? null : parts;
  }
  if (isJsonObject(content)) {
    const parts = partOf(content);
    return parts.length > 0 ? parts : JSON.stringify(content);
  }
  return typeof content === "number" ? String(content) : null;
}

/** Converts a part of a content array to Mistral's format, which the package supports. */
function partOf(part: JsonValue): JsonObject[] {
  if (typeof part === "string") return part === "" ? [] : [{ type: "text", text: part }];
  if (!isJsonObject(part)) return [];
  const { type, text, thinking, reasoning } = part;
  const thought = [thinking, reasoning, type === "reasoning" || type === "thinking" ? text : null].find(
    (value) => (typeof value === "string" && value !== "") || Array.isArray(value),
  );
  if (thought !== undefined) {
    const texts = Array.isArray(thought) ? thought.flatMap(partOf) : [{ type: "text", text: thought }];
    return [{ type: "thinking", thinking: texts }];
  }
  return typeof text === "string" && text !== "" ? [{ type: "text", text }] : [];
}

function reasoningOf(delta: JsonObject): string {
  for (const field of REASONING_FIELDS) {
    const value = delta[field];
    const text = isJsonObject(value) ? textOf(value["content"] ?? value["text"]) : textOf(value);
    if (text !== "") return text;
  }
  const { reasoning_details: details } = delta;
  if (!Array.isArray(details)) return "";
  return details
    .filter(isJsonObject)
    .map(({ text, summary }) => textOf(text) || textOf(summary))
    .join("");
}

function argumentsOf(value: JsonValue | undefined): string {
  if (typeof value === "string") return value;
  return isJsonObject(value) || Array.isArray(value) ? JSON.stringify(value) : "";
}

function signatureOf({ google }: JsonObject): JsonObject {
  const signature = isJsonObject(google) ? google["thought_signature"] : null;
  return typeof signature === "string" ? { google: { thought_signature: signature } } : {};
}

const COUNTS = ["prompt_tokens", "completion_tokens", "total_tokens"];
const DETAILS: Readonly<Record<string, string>> = {
  prompt_tokens_details: "cached_tokens",
  completion_tokens_details: "reasoning_tokens",
};

/** Returns the token usage. Moonshot sends it in the choice, Groq in `x_groq`. */
function usageOf(chunk: JsonObject, choice: JsonObject | null): JsonObject | null {
  const { x_groq: groq } = chunk;
  const sent = [chunk["usage"], choice?.["usage"], isJsonObject(groq) ? groq["usage"] : null].find(
    isJsonObject,
  );
  if (sent === undefined) return null;
  const usage: JsonObject = {};
  for (const name of COUNTS) {
    const count = numberOf(sent[name]);
    if (count !== null) usage[name] = count;
  }
  for (const [name, field] of Object.entries(DETAILS)) {
    const details = sent[name];
    const count = isJsonObject(details) ? numberOf(details[field]) : null;
    if (count !== null) usage[name] = { [field]: count };
  }
  return Object.keys(usage).length === 0 ? null : usage;
}

/** Parses a non-negative integer, which some servers send as a string. */
function numberOf(value: JsonValue | undefined): number | null {
  const number = typeof value === "string" && value.trim() !== "" ? Number(value) : value;
  return typeof number === "number" && Number.isSafeInteger(number) && number >= 0 ? number : null;
}

function textOf(value: JsonValue | undefined): string {
  return typeof value === "string" ? value : "";
}
