// What a server's answer to a call comes to for a model: texts and JSON as they are, everything else described.

import type { CallToolResult, ContentBlock } from "@modelcontextprotocol/client";
import type { JsonValue } from "../../core/json.ts";

const MAX_BLOCKS = 200;

/** A tool's answer that its server calls an error; the message is what the server says. */
class McpToolError extends Error {
  constructor(message: string) {
    super(message);
    this.name = "McpToolError";
  }
}

/** What is wrong with structured content under the schema that the tool has announced; `null` for nothing. */
export type AnnouncedOutput = (value: unknown) => readonly string[] | null;

/**
 * The value that a model is shown. Structured content goes before the blocks, which then only repeat it as text; a single text is a text.
 *
 * @param announced `null` for a tool that announces no structured content.
 * @throws McpToolError for a result that says it is an error, and for structured content that is not what the tool has announced, or is
 *   not there.
 */
export function readResult(result: CallToolResult, announced: AnnouncedOutput | null): unknown {
  const said = describeContent(result.content);
  const text = typeof said === "string" ? said : JSON.stringify(said);
  if (result.isError === true) throw new McpToolError(text);
  const { structuredContent } = result;
  if (structuredContent === undefined && announced === null) return said;
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

/** Size of what base64 holds. */
function bytesOf(base64: string): number {
  return Math.floor((base64.length * 3) / 4);
}
