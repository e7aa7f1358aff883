import type { JsonObject, JsonValue } from "../../json.ts";

/** Checks JSON Schemas of clients, and answers in them. Both take bounded time, and never reject. Implemented by `SchemaChecker`. */
export interface SchemaCheck {
  /** Returns what is wrong with a schema; `null` if answers can be checked with it. */
  problem(schema: JsonObject): Promise<string | null>;
  /** Returns how a value differs from a schema, for the model; `null` if it does not. */
  mismatch(schema: JsonObject, value: JsonValue): Promise<string | null>;
}
