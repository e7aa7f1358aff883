import type { StandardSchemaWithJSON } from "@modelcontextprotocol/server";
import { z } from "zod";

const LEFT_OUT: ReadonlySet<string> = new Set(["$schema", "additionalProperties", "propertyNames"]);

/**
 * Returns a schema whose JSON Schema omits `$schema`, which validators of older dialects reject, and keywords that
 * some model providers reject. Converts it only once, because every message lists the tools.
 */
export function portable(schema: z.ZodObject): StandardSchemaWithJSON {
  const json = withoutUnsupported(z.toJSONSchema(schema)) as Record<string, unknown>;
  const jsonSchema = { input: () => json, output: () => json };
  const validate = (value: unknown) => schema["~standard"].validate(withoutNulls(value));
  return { "~standard": { version: 1, vendor: "colloquy", validate, jsonSchema } };
}

/** Removes fields that are `null`: models send `null` in place of omitting an argument. */
function withoutNulls(value: unknown): unknown {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).filter(([, inner]) => inner !== null));
}

function withoutUnsupported(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutUnsupported);
  if (typeof value !== "object" || value === null) return value;
  const kept = Object.entries(value).filter(([name]) => !LEFT_OUT.has(name));
  return Object.fromEntries(kept.map(([name, inner]) => [name, withoutUnsupported(inner)]));
}
