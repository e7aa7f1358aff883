// Adapts a tool that an MCP server lists.

import type { Tool as ListedTool, CallToolResult, ContentBlock } from "@modelcontextprotocol/client";
import {
  checkableSchema,
  cleanJson,
  cleanText,
  isJsonObject,
  type JsonValue,
  mismatchWith,
  type PluginTool,
  type SchemaCheck,
  type Scrubber,
  scrubText,
  type ToolContext,
  type ToolEffect,
} from "@colloquy/engine/tool-source";
import { readBeginning } from "./cut-answer.ts";
import type { McpConnection } from "./mcp-connection.ts";
import { McpCut } from "./mcp-failure.ts";

const MAX_DESCRIPTION = 4_000;

export interface McpToolOptions {
  /** Returns the connection for the call's turn. */
  readonly connect: (context: ToolContext) => McpConnection;
  /** Removes the server's own keys from its tool definitions. */
  readonly scrub: Scrubber;
  readonly schemas: SchemaCheck;
}

/** Adapts a tool from the server's list. */
export function readMcpTool(listed: ListedTool, { connect, scrub, schemas }: McpToolOptions): PluginTool {
  const name = scrubText(scrub, listed.name);
  const inputSchema = scrub(cleanJson(listed.inputSchema as JsonValue));
  const announced = announcedOutput(listed, schemas);
  const title = listed.title ?? listed.annotations?.title;
  return {
    name,
    title: title === undefined ? undefined : scrubText(scrub, title),
    description: cut(scrubText(scrub, cleanText(listed.description ?? listed.title ?? ""))),
    inputSchema,
    effect: effectOf(listed),
    scrub,
    async execute(input: unknown, context: ToolContext) {
      const call = {
        tool: listed,
        input: isJsonObject(input) ? input : {},
        effect: context.effect,
        callId: context.callId,
        signal: context.signal,
        onProgress: (progress: object) => context.progress(progress),
      };
      try {
        return await readResult(await connect(context).call(call), announced);
      } catch (error) {
        if (error instanceof McpCut) return await readBeginning(error.head);
        throw error;
      }
    },
  };
}

/** Returns the effect declared by the server's annotations; `unsafe` by default. */
function effectOf({ annotations }: ListedTool): ToolEffect {
  if (annotations?.readOnlyHint === true) return "read";
  return annotations?.idempotentHint === true ? "idempotent" : "unsafe";
}

/** Returns a validator for the tool's output schema; `null` if it declares none. */
function announcedOutput({ outputSchema }: ListedTool, schemas: SchemaCheck): AnnouncedOutput | null {
  if (outputSchema === undefined) return null;
  const checkable = checkableSchema(outputSchema as JsonValue);
  return (value) => mismatchWith(checkable, value, schemas);
}

function cut(description: string): string {
  return description.length > MAX_DESCRIPTION
    ? `${description.slice(0, MAX_DESCRIPTION).toWellFormed()}…`
    : description;
}

const MAX_BLOCKS = 200;

/** Returns how a value violates the tool's output schema; `null` if it is valid. */
type AnnouncedOutput = (value: JsonValue) => Promise<string | null>;

/**
 * Returns the value to show to the model. Structured content takes precedence over content blocks, which only
 * repeat it as text. A single text block becomes a string.
 *
 * @param announced `null` for a tool without an output schema.
 * @throws Error for a result marked as an error, and for structured content that is missing or
 *   violates the announced schema.
 */
async function readResult(result: CallToolResult, announced: AnnouncedOutput | null): Promise<unknown> {
  const described = describeContent(result.content);
  const text = typeof described === "string" ? described : JSON.stringify(described);
  if (result.isError === true) throw new Error(text);
  const { structuredContent } = result;
  if (structuredContent === undefined && announced === null) return described;
  const issues =
    structuredContent === undefined
      ? "there is no structured content"
      : ((await announced?.(structuredContent as JsonValue)) ?? null);
  if (issues === null) return structuredContent;
  throw new Error(`The tool ran, but its answer is not what it has announced (${issues}). It said: ${text}`);
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
