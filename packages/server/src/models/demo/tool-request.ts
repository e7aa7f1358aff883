import { isJsonObject, type JsonObject } from "../../core/json.ts";

/** A tool that the message names in so many words, such as `call lookup_order {"id": 7}`, so that tools can be tried without a model. */
export interface ToolRequest {
  readonly tool: string;
  /** `null` when what follows the name is no JSON object. */
  readonly input: JsonObject | null;
}

const requestPattern =
  /^(?:please\s+)?(?:call|use|run)\s+(?:the\s+tool\s+)?([a-zA-Z0-9_-]{1,64})(?:\s+with)?(?:\s+(\{.*\}))?[\s.!]*$/is;

/** Only offered tools are requests: whatever else the words may mean is quoted as any message. */
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
