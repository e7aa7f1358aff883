// Parses the messages of a Chat Completions request.

import { invalid, unsupported } from "./errors.ts";
import { isJsonObject, type JsonValue } from "./json.ts";
import { contentOf, outputOf, textOf, userContentOf } from "./response-input.ts";
import type { Entry } from "./transcript.ts";

/** Parses `messages`. Throws a `ServiceError` 400 with the name of the invalid field. */
export function readMessages(messages: JsonValue): Entry[] {
  if (!Array.isArray(messages) || messages.length === 0)
    throw invalid("messages", "must be an array with at least one message");
  return messages.flatMap((message, index) => readMessage(message, `messages[${index}]`));
}

function readMessage(message: JsonValue, field: string): Entry[] {
  if (!isJsonObject(message)) throw invalid(field, "must be an object");
  const { role = null, content = null } = message;
  if (role === "user") return [{ kind: "user", ...userContentOf(content ?? "", `${field}.content`) }];
  if (role === "tool")
    return [outputOf(textOf(message, "tool_call_id", field), content ?? "", `${field}.content`)];
  const text = content === null ? "" : contentOf(content, `${field}.content`);
  switch (role) {
    case "system":
    case "developer":
      return [{ kind: "instructions", text }];
    case "assistant": {
      const texts: Entry[] = text === "" ? [] : [{ kind: "assistant", text }];
      return [...texts, ...readCalls(message["tool_calls"] ?? null, `${field}.tool_calls`)];
    }
    default:
      throw invalid(`${field}.role`, "must be user, assistant, tool, system or developer");
  }
}

function readCalls(calls: JsonValue, field: string): Entry[] {
  if (calls === null) return [];
  if (!Array.isArray(calls)) throw invalid(field, "must be an array");
  return calls.map((call, index) => {
    const at = `${field}[${index}]`;
    if (!isJsonObject(call)) throw invalid(at, "must be an object");
    const { function: called = null } = call;
    if (!isJsonObject(called)) throw unsupported(`${at}.type`, "Send only function calls.");
    return {
      kind: "call",
      id: textOf(call, "id", at),
      name: textOf(called, "name", `${at}.function`),
      arguments: textOf(called, "arguments", `${at}.function`),
    };
  });
}
