// Adapts a tool that an MCP server lists.

import type { JSONSchema7 } from "@ai-sdk/provider";
import type { Tool as ListedTool, CallToolResult, ContentBlock } from "@modelcontextprotocol/client";
import { isJsonObject, type JsonObject, type JsonValue, cleanText } from "../../core/json.ts";
import type { ToolContext, ToolEffect } from "../../core/ports/driven/tool.ts";
import type { SchemaCheck } from "../../core/ports/driven/schema-check.ts";
import { scrubText, type Scrubber } from "../scrub.ts";
import { checkableSchema, createServerCheck, mismatchWith } from "../server-schema.ts";
import { toolNameOf, type SourceTool } from "../tool-source.ts";
import { sanitizeSchema } from "./sanitize-schema.ts";
import { readBeginning } from "./cut-answer.ts";
import type { McpConnection } from "./mcp-connection.ts";
import { McpCut } from "./mcp-failure.ts";

const MAX_DESCRIPTION = 4_000;

export interface McpToolOptions {
  /** Returns the connection for the call's turn. */
  readonly connect: (context: ToolContext) => McpConnection;
  /** Removes the server's own keys from its tool definitions. */
  readonly scrub: Scrubber;
  /** Configured effects by the tool name that the model sees. */
  readonly effects: Readonly<Record<string, ToolEffect>>;
  readonly schemas: SchemaCheck;
}

/**
 * Reads a server's tool.
 *
 * @throws TypeError if its input schema cannot be checked.
 */
export function readMcpTool(
  server: string,
  listed: ListedTool,
  { connect, scrub, effects, schemas }: McpToolOptions,
): SourceTool {
  const name = toolNameOf(server, scrubText(scrub, listed.name));
  const inputSchema = scrub(sanitizeSchema(listed.inputSchema as JsonValue)) as JSONSchema7;
  const announced = announcedOutput(listed, schemas);
  const claimed = effectOf(listed);
  const effect = (Object.hasOwn(effects, name) ? effects[name] : undefined) ?? claimed;
  return {
    name,
    description: cut(scrubText(scrub, cleanText(listed.description ?? listed.title ?? ""))),
    inputSchema,
    effect: claimed,
    scrub,
    checkInput: createServerCheck(name, listed.inputSchema as JsonValue, schemas),
    async execute(input, context) {
      const call = {
        tool: listed,
        input: isJsonObject(input) ? input : {},
        effect,
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

/** Returns the effect that the server claims; `unsafe` by default. */
function effectOf({ annotations }: ListedTool): ToolEffect {
  if (annotations?.readOnlyHint === true) return "read";
  return annotations?.idempotentHint === true ? "idempotent" : "unsafe";
}

/** Returns the output check, which accepts everything if the schema is unreadable. */
function announcedOutput({ outputSchema }: ListedTool, schemas: SchemaCheck): AnnouncedOutput | null {
  if (outputSchema === undefined) return null;
  let checkable: JsonObject;
  try {
    checkable = checkableSchema(outputSchema as JsonValue);
  } catch {
    return () => Promise.resolve(null);
  }
  return (value) => mismatchWith(checkable, value, schemas);
}

function cut(description: string): string {
  return description.length > MAX_DESCRIPTION
    ? `${description.slice(0, MAX_DESCRIPTION).toWellFormed()}…`
    : description;
}

const MAX_BLOCKS = 200;

/** Returns how a value violates the tool's announced output schema; `null` if it does not. */
type AnnouncedOutput = (value: JsonValue) => Promise<string | null>;

/**
 * Returns the value to show to the model. Structured content takes precedence over content blocks, which then
 * only repeat it as text; a single text block becomes a string.
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
