// Tools that the operator defines in the configuration file with the AI SDK's `tool()`: the SDK's schema checks and
// transforms the input, and `execute` gets the tool context.

import type { Schema } from "ai";
import type { JSONSchema7 } from "@ai-sdk/provider";
import type * as Sdk from "ai";
import type { OwnTool } from "../../core/app-settings.ts";
import type { ToolContext } from "../../core/ports/driven/tool.ts";
import { loadOnce } from "../../core/load-once.ts";
import type { Logger } from "../../core/ports/driven/logger.ts";
import { messageOf } from "../call-tool.ts";
import { createInputCheck, describeMisfit, type InputCheck } from "../input-check.ts";
import type { SourceTool, ToolSource } from "../tool-source.ts";
import { titleOf } from "../tool-title.ts";

const MAX_ISSUES = 5;

/**
 * The type of `execute` at run time: it gets the AI SDK's second parameter, with the tool context in
 * `context`.
 */
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
  const input = await readOwnInput(name, tool.inputSchema, sdk);
  const needsApproval = (tool as { readonly needsApproval?: unknown }).needsApproval;
  if (needsApproval !== undefined && needsApproval !== false) {
    throw new TypeError(
      `Set the approval of the tool ${name} in the App's "approvals", not in "needsApproval".`,
    );
  }
  return {
    name,
    ...titleOf(tool.title),
    description: describe(tool),
    ...input,
    effect: "unsafe",
    logsFailures: true,
    execute: async (input, context) => {
      const execute = tool.execute as Execute;
      const options = { toolCallId: context.callId, messages: [], abortSignal: context.signal, context };
      return await resultOf(execute.call(tool, input, options), context);
    },
  };
}

/** Reads a schema of a library. Rejects if it is invalid or cannot be described to a model. */
export async function readOwnInput(
  name: string,
  written: unknown,
  sdk: Pick<typeof Sdk, "asSchema">,
): Promise<Pick<SourceTool, "inputSchema"> & { readonly checkInput: InputCheck }> {
  const { validate, inputSchema } = await readOwnSchema(name, written, sdk);
  if (validate === undefined) return { inputSchema, checkInput: createInputCheck({ name, inputSchema }) };
  return {
    inputSchema,
    checkInput: async (input) => {
      const read = await validate(input);
      return read.success ? { value: read.value } : describeMisfit(name, issuesOf(read.error));
    },
  };
}

function describe({ description }: OwnTool): string {
  if (typeof description !== "function") return description ?? "";
  return (description as (options: object) => string)({ context: {} });
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

/** Returns the result of a call from the value, promise or generator that `execute` has returned. */
export async function resultOf(returned: unknown, context: ToolContext): Promise<unknown> {
  const result = await returned;
  return isAsyncIterable(result) ? await resultOfGenerator(result, context) : result;
}

function isAsyncIterable(value: unknown): value is AsyncIterable<unknown> {
  return typeof value === "object" && value !== null && Symbol.asyncIterator in value;
}

/**
 * Consumes a generator and reports each yielded value as progress. Returns its return value; if that is `undefined`,
 * the last yielded value, like the AI SDK.
 */
async function resultOfGenerator(values: AsyncIterable<unknown>, context: ToolContext): Promise<unknown> {
  let last: unknown;
  let returned: unknown;
  async function* yielded(): AsyncGenerator {
    returned = yield* values;
  }
  for await (const value of yielded()) {
    last = value;
    // Leaving the loop ends an endless generator.
    context.signal.throwIfAborted();
    context.progress(value);
  }
  return returned === undefined ? last : returned;
}

/** Rejects with a TypeError naming the tool if the schema is invalid or has no JSON Schema for the model. */
async function readOwnSchema(
  name: string,
  written: unknown,
  { asSchema }: Pick<typeof Sdk, "asSchema">,
): Promise<{ readonly validate: Schema["validate"]; readonly inputSchema: JSONSchema7 }> {
  const complain = (reason: string, cause?: unknown): TypeError =>
    new TypeError(`The input schema of the tool ${name} ${reason}`, { cause });
  let schema: Schema;
  try {
    schema = asSchema(written as Parameters<typeof asSchema>[0]);
  } catch (error) {
    throw complain("is invalid. Give it one of zod, another Standard Schema, or jsonSchema().", error);
  }
  let inputSchema: JSONSchema7;
  try {
    inputSchema = await schema.jsonSchema;
  } catch (error) {
    throw complain(`cannot be converted to JSON Schema for the model: ${messageOf(error)}.`, error);
  }
  // Providers reject every request that contains a tool with another type of input.
  if (inputSchema.type !== undefined && inputSchema.type !== "object") {
    throw complain(`must be of an object, not of ${JSON.stringify(inputSchema.type)}.`);
  }
  return { validate: schema.validate?.bind(schema), inputSchema };
}

/** Returns one source for all own tools of an App. Imports the SDK, which reads their schemas, on first use. */
export function ownToolSource(tools: Readonly<Record<string, OwnTool>>, logger: Logger): ToolSource {
  const readAll = async (): Promise<readonly SourceTool[]> => {
    const sdk: Pick<typeof Sdk, "asSchema"> = await import("ai");
    const read = Object.entries(tools).map(async ([name, tool]) => {
      try {
        return [await readOwnTool(name, tool, sdk)];
      } catch (error) {
        logger.error({ tool: name, err: error }, "a tool of the configuration file cannot be used");
        return [];
      }
    });
    return (await Promise.all(read)).flat();
  };
  return { label: "own tools", list: loadOnce(readAll) };
}
