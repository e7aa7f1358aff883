import { z } from "zod";

type JsonSchema = ReturnType<typeof z.json>;

/**
 * Any JSON value. Everything validated here was parsed from JSON, so no check is needed. `z.json()` would
 * check again, and because it refers to itself, OpenAPI generators leave dangling references.
 */
export const Json = z
  .unknown()
  .refine((value) => value !== undefined, "is required") as unknown as JsonSchema;
