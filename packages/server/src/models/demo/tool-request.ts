import { isJsonObject, type JsonObject } from "../../core/json.ts";

/**
 * An explicit tool request such as `call lookup_order {"id": 7}`, for trying out tools without a real model.
 */
export interface ToolRequest {
  readonly tool: string;
  /** `null` if the text after the name is not a JSON object. */
  readonly input: JsonObject | null;
}

const requestPattern =
  /^(?:please\s+)?(?:call|use|run)\s+(?:the\s+tool\s+)?([a-zA-Z0-9_-]{1,64})(?:\s+with)?(?:\s+(\{.*\}))?[\s.!]*$/is;

/** Returns `null` unless the message names an offered tool; other messages are quoted. */
export function readToolRequest(message: string, tools: ReadonlySet<string>): ToolRequest | null {
  const [, tool, written] = requestPattern.exec(message.trim()) ?? [];
  if (tool === undefined || !tools.has(tool)) return null;
  return { tool, input: written === undefined ? {} : readObject(written) };
}

function readObject(written: string): JsonObject | null {
  try {
    const value: unknown = JSON.parse(written);
    return isJsonObject(value) ? value : null;
  } catch {
    return null;
  }
}
