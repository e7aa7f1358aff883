// Checks answers against the schema that a chat requested. The first answer that does not match becomes a
// rejected step: the model sees it with the reason, the user does not.

import { cleanJson, isDeeperThan, isJsonObject, type JsonObject, type JsonValue } from "../core/json.ts";
import type { SchemaCheck } from "../core/ports/driven/schema-check.ts";
import type { NewStep, StepRecord } from "../core/turn.ts";

/** Maximum characters of an answer, which is stored twice: as text and as data. */
const MAX_CHARACTERS = 256 * 1024;
/** Maximum nesting of an answer. Stored JSON may have 64 levels, some of which wrap the answer. */
const MAX_DEPTH = 60;

/** A last step: `data` if it matches the schema, otherwise the rejected step to store instead. */
export type CheckedAnswer =
  | { readonly kind: "matches"; readonly data: JsonObject }
  | { readonly kind: "rejected"; readonly step: NewStep };

export async function checkAnswer(
  step: NewStep,
  schema: JsonObject,
  schemas: Pick<SchemaCheck, "mismatch">,
): Promise<CheckedAnswer> {
  const value = parse(step.text);
  const issue = typeof value === "string" ? value : ((await schemas.mismatch(schema, value))?.text ?? null);
  if (issue === null && typeof value !== "string") return { kind: "matches", data: value };
  const text = `This answer was rejected: ${issue}. Answer again with JSON that matches the JSON Schema, and with nothing else.`;
  const parts = Array.isArray(step.parts) ? step.parts : [];
  return { kind: "rejected", step: { ...step, text: "", parts: [...parts, { type: "rejection", text }] } };
}

/** Returns the parts of a step, and why they were rejected; `null` if they were not. */
export function splitRejection({ parts }: Pick<StepRecord, "parts">): {
  readonly parts: readonly JsonObject[];
  readonly rejection: string | null;
} {
  const all = (Array.isArray(parts) ? parts : []).filter(isJsonObject);
  const rejection = all.find((part) => part["type"] === "rejection");
  const text = rejection?.["text"];
  return {
    parts: all.filter((part) => part !== rejection),
    rejection: typeof text === "string" ? text : null,
  };
}

/** One code fence around the whole answer, which models write in spite of their instructions. */
const FENCE = /^\s*(`{3,}|~{3,})[^\n`]*\n([\s\S]*)\n[ \t]*\1\s*$/;

/** Returns the sanitized JSON object in a text, or a description of the problem. */
function parse(text: string): JsonObject | string {
  if (text.length > MAX_CHARACTERS) return `it has more than ${MAX_CHARACTERS} characters`;
  let value: JsonValue;
  try {
    value = JSON.parse(FENCE.exec(text)?.[2] ?? text) as JsonValue;
  } catch {
    return "it is not JSON";
  }
  if (!isJsonObject(value)) return "it is not a JSON object";
  if (isDeeperThan(MAX_DEPTH, value)) return `it is nested deeper than ${MAX_DEPTH} levels`;
  return cleanJson(value) as JsonObject;
}
