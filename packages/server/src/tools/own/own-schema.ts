// The input schema of an own tool, in the two forms that are needed: as the SDK checks with it, and as a model is told it.

import type { JSONSchema7 } from "@ai-sdk/provider";
import type { Schema } from "ai";
import type * as Sdk from "ai";

export interface OwnSchema {
  readonly schema: Schema;
  readonly told: JSONSchema7;
}

/** Rejects with a TypeError that names the tool when the schema is none, or cannot be told to a model. */
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
    throw complain("is none: give it one of zod, another Standard Schema, or jsonSchema().", error);
  }
  let told: JSONSchema7;
  try {
    told = await schema.jsonSchema;
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw complain(`cannot be told to a model, which sends JSON: ${reason}.`, error);
  }
  // Providers refuse every turn with a tool that takes anything else.
  if (told.type !== undefined && told.type !== "object") {
    throw complain(`must be one of an object, not of ${JSON.stringify(told.type)}.`);
  }
  return { schema, told };
}
