import { z } from "zod";
import type { Tool } from "../core/ports/tool.ts";

/** What is wrong with an input, as a sentence for the model; `null` when it fits. */
export type InputCheck = (input: unknown) => string | null;

const maximumIssues = 5;

/**
 * How calls of a tool are checked against its input schema (JSON Schema, draft 7).
 *
 * @throws TypeError naming the tool when its schema cannot be checked (an unknown type, an external `$ref`, ...).
 */
export function createInputCheck(tool: Tool): InputCheck {
  const schema = readSchema(tool);
  return (input) => {
    const result = schema.safeParse(input);
    if (result.success) return null;
    const issues = result.error.issues.slice(0, maximumIssues).map((issue) => {
      const path = issue.path.map(String).join(".");
      return path === "" ? issue.message : `${path}: ${issue.message}`;
    });
    return `The input does not fit the tool ${tool.name}: ${issues.join("; ")}.`;
  };
}

function readSchema(tool: Tool): z.ZodType {
  try {
    // The two libraries type the same drafts differently.
    return z.fromJSONSchema(tool.inputSchema as z.core.JSONSchema.JSONSchema, { defaultTarget: "draft-7" });
  } catch (cause) {
    throw new TypeError(`The input schema of the tool ${tool.name} cannot be checked.`, { cause });
  }
}
