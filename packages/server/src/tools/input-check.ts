import { z } from "zod";
import type { Tool } from "../core/ports/tool.ts";

/**
 * Checks an input: what is wrong with it, as a sentence for the model; `null` when it fits; where it fits and the schema makes something
 * else of it, the value that the tool gets instead.
 */
export type InputCheck = (input: unknown) => CheckedInput | Promise<CheckedInput>;
type CheckedInput = string | null | { readonly value: unknown };

/** Versions of JSON Schema that a schema may be meant in, where it does not say so itself. */
export type SchemaDialect = "draft-7" | "draft-2020-12";

const maximumIssues = 5;
/** Levels of lists and objects in an input. What is shown to a person and stored may have 64, and is the input with something around it. */
const maximumDepth = 60;

/**
 * How calls of a tool are checked against its input schema.
 *
 * @throws TypeError naming the tool when its schema cannot be checked (an unknown type, an external `$ref`, ...).
 */
export function createInputCheck(
  tool: Pick<Tool, "name" | "inputSchema">,
  dialect: SchemaDialect = "draft-7",
): (input: unknown) => string | null {
  const findIssues = readSchema(tool, dialect);
  return (input) => {
    const issues = findIssues(input);
    return issues === null ? null : describeMisfit(tool.name, issues);
  };
}

/** The sentence about an input of more levels than can be shown to a person; `null` for any other. */
export function complaintOfDepth(tool: string, input: unknown): string | null {
  if (!isDeeperThan(maximumDepth, input)) return null;
  return describeMisfit(tool, [`it is nested deeper than ${maximumDepth} levels`]);
}

function isDeeperThan(levels: number, value: unknown): boolean {
  if (typeof value !== "object" || value === null) return false;
  return levels === 0 || Object.values(value).some((item) => isDeeperThan(levels - 1, item));
}

/** The sentence for a model whose input does not fit. */
export function describeMisfit(tool: string, issues: readonly string[]): string {
  return `The input does not fit the tool ${tool}: ${issues.join("; ")}.`;
}

/**
 * What is wrong with a value under a JSON Schema: some short texts, `null` when it fits.
 *
 * @throws Error when the schema cannot be checked.
 */
export function createSchemaCheck(
  schema: object,
  dialect: SchemaDialect,
): (value: unknown) => string[] | null {
  // The two libraries type the same drafts differently.
  const type = z.fromJSONSchema(schema as z.core.JSONSchema.JSONSchema, { defaultTarget: dialect });
  return (value) => {
    const result = type.safeParse(value);
    if (result.success) return null;
    return result.error.issues.slice(0, maximumIssues).map((issue) => {
      const path = issue.path.map(String).join(".");
      return path === "" ? issue.message : `${path}: ${issue.message}`;
    });
  };
}

function readSchema(
  tool: Pick<Tool, "name" | "inputSchema">,
  dialect: SchemaDialect,
): ReturnType<typeof createSchemaCheck> {
  try {
    return createSchemaCheck(tool.inputSchema, dialect);
  } catch (cause) {
    throw new TypeError(`The input schema of the tool ${tool.name} cannot be checked.`, { cause });
  }
}
