import { z } from "zod";

type JsonSchema = ReturnType<typeof z.json>;

/**
 * Any JSON value. All that is validated here was read from JSON, so nothing else can be there; `z.json()` would look again, and as it refers
 * to itself, generators of OpenAPI documents leave references that lead nowhere.
 */
export const Json = z
  .unknown()
  .refine((value) => value !== undefined, "must be there") as unknown as JsonSchema;
