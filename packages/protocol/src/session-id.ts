import { z } from "zod";

const SHAPE = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;
const NIL = "00000000-0000-0000-0000-000000000000";
const MAX = "ffffffff-ffff-ffff-ffff-ffffffffffff";
/** A single expression without flags, as OpenAPI documents require. */
const PATTERN =
  "^(?!0{8}-0{4}-0{4}-0{4}-0{12}$)(?![fF]{8}-[fF]{4}-[fF]{4}-[fF]{4}-[fF]{12}$)" +
  "[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}$";

/**
 * Returns the session id in canonical form (lower case), or `null` if `text` is not one: `8-4-4-4-12`
 * hexadecimal digits of any UUID version, but not the nil or the max UUID (contract section 1).
 */
export function parseSessionId(text: string): string | null {
  if (!SHAPE.test(text)) return null;
  const id = text.toLowerCase();
  return id === NIL || id === MAX ? null : id;
}

export const SessionId = z
  .string()
  .regex(SHAPE, "must be a UUID (8-4-4-4-12 hexadecimal digits), for example from crypto.randomUUID()")
  .transform((text) => text.toLowerCase())
  .refine((id) => id !== NIL && id !== MAX, "must not be the nil or the max UUID")
  .meta({ description: "UUID of the session, chosen by the client", format: "uuid", pattern: PATTERN });

/** A session id in a response; any UUID version, because the client chose it. */
export const AnySessionId = z
  .guid()
  .meta({ description: "Id of the session, spelled as by the client that created it" });
