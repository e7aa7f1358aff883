// The input schema of an own tool, in two forms: the SDK's for checking input, and JSON Schema for the model.

import type { JSONSchema7 } from "@ai-sdk/provider";
import type { Schema } from "ai";
import type * as Sdk from "ai";

export interface OwnSchema {
  readonly schema: Schema;
  readonly jsonSchema: JSONSchema7;
}

/** Rejects with a TypeError naming the tool if the schema is invalid or has no JSON Schema for the model. */
export async function readOwnSchema(
  name: string,
  written: unknown,
  { asSchema }: Pick<typeof Sdk, "asSchema">,
): Promise<OwnSchema> {
  const complain = (reason: string, cause?: unknown): TypeError =>
    new TypeError(`The input schema of the tool ${name} ${reason}`, { cause });
  let schema: Schema;
  try {
    schema = asSchema(written as Parameters<typeof asSchema>[0]);
  } catch (error) {
    throw complain("is invalid. Give it one of zod, another Standard Schema, or jsonSchema().", error);
  }
  let jsonSchema: JSONSchema7;
  try {
    jsonSchema = await schema.jsonSchema;
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw complain(`cannot be converted to JSON Schema for the model: ${reason}.`, error);
  }
  // Providers reject every request that contains a tool with another type of input.
  if (jsonSchema.type !== undefined && jsonSchema.type !== "object") {
    throw complain(`must be of an object, not of ${JSON.stringify(jsonSchema.type)}.`);
  }
  return { schema, jsonSchema };
}
