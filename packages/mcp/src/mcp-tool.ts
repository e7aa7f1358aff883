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
  type ToolFile,
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
        const result = await connect(context).call(call);
        const value = await readResult(result, announced);
        for (const block of result.content) {
          const file = fileIn(block);
          if (file !== null) context.attach(file);
        }
        return value;
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
/** Base64 that is long enough not to be a word. */
const BASE64_RUN = /[A-Za-z0-9+/_-]{64,}={0,2}/g;

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
  const described = withoutFiles(describeContent(result.content), result.content);
  const text = typeof described === "string" ? described : JSON.stringify(described);
  if (result.isError === true) throw new Error(text);
  const { structuredContent } = result;
  if (structuredContent === undefined && announced === null) return described;
  const issues =
    structuredContent === undefined
      ? "there is no structured content"
      : ((await announced?.(structuredContent as JsonValue)) ?? null);
  if (issues === null) return withoutFiles(structuredContent as JsonValue, result.content);
  throw new Error(`The tool ran, but its answer is not what it has announced (${issues}). It said: ${text}`);
}

/** Returns the base64 of an image, a recording or a binary resource; `null` for other blocks. */
function base64In(block: ContentBlock): string | null {
  if (block.type === "image" || block.type === "audio") return block.data;
  return block.type === "resource" && "blob" in block.resource ? block.resource.blob : null;
}

function fileIn(block: ContentBlock): ToolFile | null {
  const base64 = base64In(block);
  if (base64 === null) return null;
  const data = Buffer.from(base64, "base64");
  if (block.type !== "resource") return { data, mediaType: "mimeType" in block ? block.mimeType : undefined };
  const [path = ""] = block.resource.uri.split(/[?#]/, 1);
  return { data, mediaType: block.resource.mimeType, name: path.split("/").at(-1) };
}

/**
 * Replaces copies of the base64 of files: servers made with FastMCP repeat it in structured content and in texts. Looks
 * at each run of base64 once, because searching for texts of a server would take quadratic time.
 */
function withoutFiles(value: JsonValue, content: readonly ContentBlock[]): JsonValue {
  const base64 = content.map(base64In).filter((one) => one !== null);
  const files = new Set(base64.map((one) => plain(one.replaceAll(/\s/g, ""))));
  if (files.size === 0) return value;
  const inText = (text: string): string =>
    text.replaceAll(BASE64_RUN, (run) => (files.has(plain(run)) ? `[a file of ${bytesOf(run)} bytes]` : run));
  const replaced = (inner: JsonValue): JsonValue => {
    if (typeof inner === "string") return inText(inner);
    if (Array.isArray(inner)) return inner.map(replaced);
    if (!isJsonObject(inner)) return inner;
    return Object.fromEntries(Object.entries(inner).map(([key, one]) => [inText(key), replaced(one)]));
  };
  return replaced(value);
}

/** Returns base64 of either alphabet in the standard one, without padding. */
function plain(base64: string): string {
  return base64
    .replaceAll("-", "+")
    .replaceAll("_", "/")
    .replace(/={1,2}$/, "");
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
      return { type: block.type, mime_type: block.mimeType, bytes: bytesOf(block.data) };
    case "resource_link": {
      const { uri, name, description = null, mimeType = null } = block;
      return { type: "resource_link", uri, name, description, mime_type: mimeType };
    }
    case "resource": {
      const { uri, mimeType = null } = block.resource;
      const about = { type: "resource", uri, mime_type: mimeType };
      return "text" in block.resource
        ? { ...about, text: block.resource.text }
        : { ...about, bytes: bytesOf(block.resource.blob) };
    }
  }
}

/** Returns the decoded size of base64. */
function bytesOf(base64: string): number {
  return Buffer.byteLength(base64, "base64");
}
