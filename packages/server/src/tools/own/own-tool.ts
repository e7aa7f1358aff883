// Adapts an AI SDK `tool()`: the SDK's schema checks and transforms the input, and `execute` gets the tool
// context.

import type { Schema } from "ai";
import type * as Sdk from "ai";
import type { OwnTool } from "../../core/app-settings.ts";
import type { ToolContext } from "../../core/ports/driven/tool.ts";
import { createInputCheck, describeMisfit } from "../input-check.ts";
import type { SourceTool } from "../tool-source.ts";
import { readOwnSchema } from "./own-schema.ts";

const MAX_ISSUES = 5;

/** `execute` as it is called: with the AI SDK's second parameter, and the tool context in its `context`. */
type Execute = (
  input: unknown,
  options: {
    readonly toolCallId: string;
    readonly messages: readonly never[];
    readonly abortSignal: AbortSignal;
    readonly context: ToolContext;
  },
) => unknown;

/** Reads a tool and its schema. Rejects if the schema is invalid or cannot be described to a model. */
export async function readOwnTool(
  name: string,
  tool: OwnTool,
  sdk: Pick<typeof Sdk, "asSchema">,
): Promise<SourceTool> {
  const { schema, jsonSchema: inputSchema } = await readOwnSchema(name, tool.inputSchema, sdk);
  const check = schema.validate === undefined ? createInputCheck({ name, inputSchema }) : null;
  const needsApproval = (tool as { readonly needsApproval?: unknown }).needsApproval;
  if (needsApproval !== undefined && needsApproval !== false) {
    throw new TypeError(
      `Say who approves the tool ${name} in the App's "approvals", not in "needsApproval".`,
    );
  }
  return {
    name,
    description: describe(tool),
    inputSchema,
    effect: "unsafe",
    checkInput: check ?? ((input) => readInput(name, schema, input)),
    execute: async (input, context) => {
      const execute = tool.execute as Execute;
      const options = { toolCallId: context.callId, messages: [], abortSignal: context.signal, context };
      const result = await execute.call(tool, input, options);
      return isAsyncIterable(result) ? await lastOf(result, context) : result;
    },
  };
}

function describe({ description }: OwnTool): string {
  if (typeof description !== "function") return description ?? "";
  return (description as (options: object) => string)({ context: {} });
}

async function readInput(
  name: string,
  schema: Schema,
  input: unknown,
): Promise<string | { readonly value: unknown }> {
  const validated = await validate(schema, input);
  return validated.success ? { value: validated.value } : describeMisfit(name, issuesOf(validated.error));
}

/** Returns the `issues` of a Standard Schema error, whose own message is hard to read. */
function issuesOf(error: Error): readonly string[] {
  const issues: unknown = "issues" in error ? error.issues : (error.cause as { issues?: unknown })?.issues;
  if (!Array.isArray(issues) || issues.length === 0) return [error.message];
  return issues.slice(0, MAX_ISSUES).map((issue: { readonly message?: unknown; readonly path?: unknown }) => {
    const path = Array.isArray(issue.path) ? issue.path.map(stepName).join(".") : "";
    return path === "" ? String(issue.message) : `${path}: ${String(issue.message)}`;
  });
}

/** Formats a step of a Standard Schema path: a key, or an object with a `key`. */
function stepName(step: unknown): string {
  return String(typeof step === "object" && step !== null && "key" in step ? step.key : step);
}

async function validate(
  schema: Schema,
  input: unknown,
): Promise<{ success: true; value: unknown } | { success: false; error: Error }> {
  return schema.validate === undefined ? { success: true, value: input } : await schema.validate(input);
}

function isAsyncIterable(value: unknown): value is AsyncIterable<unknown> {
  return typeof value === "object" && value !== null && Symbol.asyncIterator in value;
}

/** As in the AI SDK: reports each value as progress, and returns the last one as the result. */
async function lastOf(values: AsyncIterable<unknown>, context: ToolContext): Promise<unknown> {
  let last: { readonly value: unknown } | null = null;
  for await (const value of values) {
    // Stop consuming an endless generator after an abort.
    context.signal.throwIfAborted();
    if (last !== null) context.progress(last.value);
    last = { value };
  }
  return last?.value;
}
