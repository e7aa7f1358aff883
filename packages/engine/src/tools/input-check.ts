import { z } from "zod";
import type { Tool } from "../core/ports/driven/tool.ts";
import { isDeeperThan } from "../core/json.ts";

/**
 * Checks an input. Returns an error message for the model, `null` if the input is valid, or the value that
 * the tool gets instead if the schema transforms the input.
 */
export type InputCheck = (input: unknown) => CheckedInput | Promise<CheckedInput>;
type CheckedInput = string | null | { readonly value: unknown };

const maximumIssues = 5;
/** Maximum depth of an input. Stored and shown JSON may have 64 levels, some of which wrap the input. */
const maximumDepth = 60;

/**
 * Creates the input check of an operator's tool, which runs in this thread. Schemas that others wrote are checked
 * by `SchemaCheck`.
 *
 * @throws TypeError naming the tool if its schema cannot be checked (an unknown type, an external `$ref`,
 *   ...).
 */
export function createInputCheck(
  tool: Pick<Tool, "name" | "inputSchema">,
): (input: unknown) => string | null {
  let findIssues: ReturnType<typeof createSchemaCheck>;
  try {
    findIssues = createSchemaCheck(tool.inputSchema);
  } catch (cause) {
    throw new TypeError(`The input schema of the tool ${tool.name} cannot be checked.`, { cause });
  }
  return (input) => {
    const issues = findIssues(input);
    return issues === null ? null : describeMisfit(tool.name, issues);
  };
}

/** Returns an error message if the input is nested too deep to be shown to a person; `null` otherwise. */
export function depthProblem(tool: string, input: unknown): string | null {
  if (!isDeeperThan(maximumDepth, input)) return null;
  return describeMisfit(tool, [`it is nested deeper than ${maximumDepth} levels`]);
}

/** Formats validation issues as an error message for the model. */
export function describeMisfit(tool: string, issues: readonly string[]): string {
  return `The input does not fit the tool ${tool}: ${issues.join("; ")}.`;
}

/** Creates a check that returns short error texts, or `null`. @throws Error for an unusable schema. */
export function createSchemaCheck(schema: object): (value: unknown) => string[] | null {
  // json-schema and zod declare different types for the same drafts.
  const type = z.fromJSONSchema(schema as z.core.JSONSchema.JSONSchema, { defaultTarget: "draft-7" });
  return (value) => {
    const result = type.safeParse(value);
    if (result.success) return null;
    return result.error.issues.slice(0, maximumIssues).map((issue) => {
      const path = issue.path.map(String).join(".");
      return path === "" ? messageOf(issue) : `${path}: ${messageOf(issue)}`;
    });
  };
}

/**
 * Returns the message of an issue. zod parses a numeric enum as a union and reports only "Invalid input";
 * this lists the allowed values.
 */
function messageOf(issue: z.core.$ZodIssue): string {
  if (issue.code !== "invalid_union") return issue.message;
  const values = issue.errors.flatMap(([first, ...others]) =>
    first?.code === "invalid_value" && others.length === 0 ? first.values : [null],
  );
  return values.length === 0 || values.includes(null)
    ? issue.message
    : `Invalid input: expected one of ${values.join(", ")}`;
}
