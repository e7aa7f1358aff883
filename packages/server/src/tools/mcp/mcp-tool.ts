// Adapts a tool that an MCP server lists.

import type { JSONSchema7 } from "@ai-sdk/provider";
import type { Tool as ListedTool } from "@modelcontextprotocol/client";
import { isJsonObject, type JsonValue } from "../../core/json.ts";
import type { ToolContext, ToolEffect } from "../../core/ports/driven/tool.ts";
import { cleanText } from "../../core/text.ts";
import { createInputCheck, createSchemaCheck } from "../input-check.ts";
import type { Scrubber } from "../scrub.ts";
import type { SourceTool } from "../tool-source.ts";
import { readResult, type AnnouncedOutput } from "./call-result.ts";
import { checkableSchema } from "./checkable-schema.ts";
import { readBeginning } from "./cut-answer.ts";
import type { McpConnection } from "./mcp-connection.ts";
import { McpCut } from "./mcp-failure.ts";
import { toolNameOf } from "./mcp-names.ts";
import { sanitizeSchema } from "./sanitize-schema.ts";

const DIALECT = "draft-2020-12";
const MAX_DESCRIPTION = 4_000;

export interface McpToolOptions {
  /** Returns the connection for the call's turn. */
  readonly connect: (context: ToolContext) => McpConnection;
  /** Removes the keys that the server is sent: the server may have put them into its tool definitions. */
  readonly scrub: Scrubber;
  /** Configured effects by the tool name that the model sees. */
  readonly effects: Readonly<Record<string, ToolEffect>>;
}

/**
 * Reads a server's tool.
 *
 * @throws TypeError if its input schema cannot be checked.
 */
export function readMcpTool(
  server: string,
  listed: ListedTool,
  { connect, scrub, effects }: McpToolOptions,
): SourceTool {
  const name = toolNameOf(server, textOf(scrub(listed.name)));
  const inputSchema = scrub(sanitizeSchema(listed.inputSchema as JsonValue)) as JSONSchema7;
  const checkable = checkableSchema(listed.inputSchema as JsonValue) as JSONSchema7;
  const announced = announcedOutput(listed);
  const claimed = effectOf(listed);
  const effect = (Object.hasOwn(effects, name) ? effects[name] : undefined) ?? claimed;
  return {
    name,
    description: cut(textOf(scrub(cleanText(listed.description ?? listed.title ?? "")))),
    inputSchema,
    effect: claimed,
    scrub,
    checkInput: createInputCheck({ name, inputSchema: checkable }, DIALECT),
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
        return readResult(await connect(context).call(call), announced);
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

/** Skips the check if the schema is unreadable: the tool's output is shown anyway. */
function announcedOutput({ outputSchema }: ListedTool): AnnouncedOutput | null {
  if (outputSchema === undefined) return null;
  try {
    return createSchemaCheck(checkableSchema(outputSchema as JsonValue), DIALECT);
  } catch {
    return () => null;
  }
}

function textOf(value: JsonValue): string {
  return typeof value === "string" ? value : "";
}

function cut(description: string): string {
  return description.length > MAX_DESCRIPTION
    ? `${description.slice(0, MAX_DESCRIPTION).toWellFormed()}…`
    : description;
}
