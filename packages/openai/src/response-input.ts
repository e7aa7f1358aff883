// Parses the items of a Responses request (https://www.openresponses.org/specification, "Items").

import { invalid, unsupported } from "./errors.ts";
import { assertFileCount, type InputFile, readFilePart } from "./input-files.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "./json.ts";
import type { Entry } from "./transcript.ts";

const SEND_TEXT =
  "Send text; messages of the user and outputs of functions may also have images, files and audio.";
const TEXT_PARTS: ReadonlySet<JsonValue> = new Set(["input_text", "output_text", "text"]);

/**
 * Parses `input` of a response or `items` of a conversation. Throws a `ServiceError` 400 with the name of the
 * invalid field.
 */
export function readItems(input: JsonValue, field: string): Entry[] {
  if (typeof input === "string") return [{ kind: "user", text: input, files: [] }];
  if (!Array.isArray(input)) throw invalid(field, "must be a string or an array of items");
  return input.flatMap((item, index) => readItem(item, `${field}[${index}]`));
}

function readItem(item: JsonValue, field: string): Entry[] {
  if (!isJsonObject(item)) throw invalid(field, "must be an object");
  const { type = "message" } = item;
  switch (type) {
    case "message":
      return readMessage(item, field);
    case "function_call":
      return [
        {
          kind: "call",
          id: textOf(item, "call_id", field),
          name: textOf(item, "name", field),
          arguments: textOf(item, "arguments", field),
        },
      ];
    case "function_call_output":
      return [outputOf(textOf(item, "call_id", field), item["output"] ?? null, `${field}.output`)];
    case "mcp_approval_response": {
      const { approve } = item;
      if (typeof approve !== "boolean") throw invalid(`${field}.approve`, "must be true or false");
      return [{ kind: "decision", requestId: textOf(item, "approval_request_id", field), approve }];
    }
    // A call that this service ran, with its output. `OpenAIConversationsSession` removes the id.
    case "mcp_call": {
      const id = item["id"] === undefined ? "mcp_call" : textOf(item, "id", field);
      const { output = null, error = null } = item;
      const name = textOf(item, "name", field);
      const call = { kind: "call", id, name, arguments: textOf(item, "arguments", field) } as const;
      const result = output ?? error;
      if (result === null) return [call];
      const text = typeof result === "string" ? result : JSON.stringify(result);
      return [call, { kind: "output", callId: id, output: text }];
    }
    // Ignored: the service has stored these itself.
    case "reasoning":
    case "item_reference":
    case "mcp_approval_request":
    case "mcp_list_tools":
      return [];
    default:
      throw unsupported(`${field}.type`, "Send messages, function calls, outputs and approvals.");
  }
}

function readMessage(item: JsonObject, field: string): Entry[] {
  const { role = null, content = null } = item;
  const at = `${field}.content`;
  switch (role) {
    case "user":
      return [{ kind: "user", ...userContentOf(content, at) }];
    case "assistant":
      return [{ kind: "assistant", text: contentOf(content, at) }];
    case "system":
    case "developer":
      return [{ kind: "instructions", text: contentOf(content, at) }];
    default:
      throw invalid(`${field}.role`, "must be user, assistant, system or developer");
  }
}

/** Returns the text and the files of `content`, a string or an array of parts. */
export function userContentOf(
  content: JsonValue,
  field: string,
): { readonly text: string; readonly files: readonly InputFile[] } {
  if (!Array.isArray(content)) return { text: contentOf(content, field), files: [] };
  const files: InputFile[] = [];
  const texts = content.map((part, index) => {
    const at = `${field}[${index}]`;
    const file = isJsonObject(part) ? readFilePart(part, at) : null;
    if (file === null) return partText(part, at);
    files.push(file);
    return "";
  });
  return { text: texts.join(""), files };
}

/** Returns the output of a call, a string or an array of parts. */
export function outputOf(callId: string, content: JsonValue, field: string): Entry {
  const { text, files } = userContentOf(content, field);
  assertFileCount(files);
  return { kind: "output", callId, output: text, ...(files.length > 0 && { files }) };
}

/** Returns the text of `content`, which is a string or an array of text parts. */
export function contentOf(content: JsonValue, field: string): string {
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) throw invalid(field, "must be a string or an array of parts");
  return content.map((part, index) => partText(part, `${field}[${index}]`)).join("");
}

function partText(part: JsonValue, field: string): string {
  if (!isJsonObject(part)) throw invalid(field, "must be an object");
  if (part["type"] === "refusal") return textOf(part, "refusal", field);
  if (!TEXT_PARTS.has(part["type"] ?? null)) throw unsupported(`${field}.type`, SEND_TEXT);
  return textOf(part, "text", field);
}

/** Returns a required string. Throws a `ServiceError` 400 if it is absent or of another type. */
export function textOf(object: JsonObject, name: string, field: string): string {
  const text = object[name];
  if (typeof text !== "string") throw invalid(`${field}.${name}`, "must be a string");
  return text;
}
