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

/** 16 bytes in base64url, whose last character has two significant bits. */
const HANDLE = "h_[A-Za-z0-9_-]{21}[AQgw]";
const HANDLE_SHAPE = new RegExp(`^${HANDLE}$`);

/** Stands for a session in the log, and for operators who may only read. It does not open the session. */
export const SessionHandle = z
  .string()
  .regex(HANDLE_SHAPE)
  .meta({
    description: "Handle of the session: only reads of the admin API accept it",
    pattern: `^${HANDLE}$`,
  });

/** Names a session in reads of the admin API. */
export const SessionIdOrHandle = z
  .string()
  .transform((text, context) => {
    const named = HANDLE_SHAPE.test(text) ? text : parseSessionId(text);
    if (named !== null) return named;
    context.addIssue({ code: "custom", message: "must be the UUID or the handle of a session" });
    return z.NEVER;
  })
  .meta({ description: "UUID or handle of the session", pattern: `(${PATTERN})|(^${HANDLE}$)` });

/** A session in a response of the admin API. */
export const ShownSessionId = z.union([AnySessionId, SessionHandle]).meta({
  description:
    "Id of the session, spelled as by the client that created it; for callers without `admin:write` its handle",
});
