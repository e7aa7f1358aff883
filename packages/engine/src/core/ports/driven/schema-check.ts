import type { JsonObject, JsonValue } from "../../json.ts";

/**
 * Why a schema cannot be used, or a value does not pass: it is `wrong`; it is `unchecked`, because it exceeds a
 * bound of size, time or memory; or the checker is `busy`.
 */
export interface SchemaProblem {
  readonly kind: "wrong" | "unchecked" | "busy";
  /** The problem, phrased to follow a colon. */
  readonly text: string;
}

/**
 * Checks JSON Schemas that the operator did not write, and values against them. Both take bounded time and
 * memory, do not block other requests, and never reject.
 */
export interface SchemaCheck {
  /** Returns the problem of a schema; `null` if it is valid. */
  problem(schema: JsonObject): Promise<SchemaProblem | null>;
  /** Returns how a value differs from a schema, for the model; `null` if it does not. */
  mismatch(schema: JsonObject, value: JsonValue): Promise<SchemaProblem | null>;
}

/** The checks of all Apps, which take turns. Implemented by `SchemaChecker`. */
export interface SchemaChecks {
  of(app: string): SchemaCheck;
}

/** For tools that are listed and never called. */
export const NEVER_CHECKED: SchemaChecks = {
  of: () => ({ problem: () => Promise.resolve(null), mismatch: () => Promise.resolve(null) }),
};
