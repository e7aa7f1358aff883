// Converts a server's call result for a model: text and JSON as they are, everything else as a description.

import type { CallToolResult, ContentBlock } from "@modelcontextprotocol/client";
import type { JsonValue } from "../../core/json.ts";

const MAX_BLOCKS = 200;

/** A result that the server marks as an error, with the server's message. */
class McpToolError extends Error {
  constructor(message: string) {
    super(message);
    this.name = "McpToolError";
  }
}

/** Returns the violations of the tool's announced output schema; `null` for none. */
export type AnnouncedOutput = (value: unknown) => readonly string[] | null;

/**
 * Returns the value to show to the model. Structured content takes precedence over content blocks, which then
 * only repeat it as text; a single text block becomes a string.
 *
 * @param announced `null` for a tool without an output schema.
 * @throws McpToolError for a result marked as an error, and for structured content that is missing or
 *   violates the announced schema.
 */
export function readResult(result: CallToolResult, announced: AnnouncedOutput | null): unknown {
  const described = describeContent(result.content);
  const text = typeof described === "string" ? described : JSON.stringify(described);
  if (result.isError === true) throw new McpToolError(text);
  const { structuredContent } = result;
  if (structuredContent === undefined && announced === null) return described;
  const issues =
    structuredContent === undefined ? ["there is no structured content"] : announced?.(structuredContent);
  if (issues === null || issues === undefined) return structuredContent;
  throw new McpToolError(
    `The tool ran, but its answer is not what it has announced (${issues.join("; ")}). It said: ${text}`,
  );
}

function describeContent(content: readonly ContentBlock[]): JsonValue {
  const [only] = content;
  if (only === undefined) return null;
  if (content.length === 1 && only.type === "text") return only.text;
  const blocks: JsonValue[] = content.slice(0, MAX_BLOCKS).map(describeBlock);
  if (content.length > MAX_BLOCKS) blocks.push(`[Cut: ${content.length - MAX_BLOCKS} more parts.]`);
  return blocks;
}

function describeBlock(block: ContentBlock): JsonValue {
  switch (block.type) {
    case "text":
      return block.text;
    case "image":
    case "audio":
      return { type: block.type, mime_type: block.mimeType, bytes: bytesOf(block.data), shown: false };
    case "resource_link": {
      const { uri, name, description = null, mimeType = null } = block;
      return { type: "resource_link", uri, name, description, mime_type: mimeType };
    }
    case "resource": {
      const { uri, mimeType = null } = block.resource;
      const about = { type: "resource", uri, mime_type: mimeType };
      return "text" in block.resource
        ? { ...about, text: block.resource.text }
        : { ...about, bytes: bytesOf(block.resource.blob), shown: false };
    }
  }
}

/** Returns the decoded size of base64. */
function bytesOf(base64: string): number {
  return Math.floor((base64.length * 3) / 4);
}
