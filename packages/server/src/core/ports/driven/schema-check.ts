import type { JsonObject, JsonValue } from "../../json.ts";

/**
 * Checks clients' JSON Schemas, and answers against them. Both take bounded time and never reject.
 * Implemented by `SchemaChecker`.
 */
export interface SchemaCheck {
  /** Returns the problem of a schema; `null` if it is valid. */
  problem(schema: JsonObject): Promise<string | null>;
  /** Returns how a value differs from a schema, for the model; `null` if it does not. */
  mismatch(schema: JsonObject, value: JsonValue): Promise<string | null>;
}
