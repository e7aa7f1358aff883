// The error for a value that a schema rejects.

import type { z } from "zod";
import { InvalidRequest } from "./errors.ts";

/** Maximum characters of a path into a body and of zod's own messages, which quote names that the client chose. */
const MAX_QUOTED = 200;

/** Returns the error for the first issue: the parameter or the path within it, and the valid values. */
export function invalidParameter(part: string, sent: unknown, error: z.ZodError): InvalidRequest {
  const [issue] = error.issues;
  const path = issue?.path ?? [];
  const [name] = path;
  if (issue === undefined || name === undefined) {
    return new InvalidRequest(
      "body_invalid",
      "The body must be a JSON object, with Content-Type: application/json.",
    );
  }
  const value = (sent as Readonly<Record<PropertyKey, unknown>>)[name];
  const subject = `The ${part} "${path.map(String).join(".").slice(0, MAX_QUOTED).toWellFormed()}"`;
  if (value === undefined) {
    return new InvalidRequest("parameter_missing", `${subject} is missing: it ${expectation(issue)}.`);
  }
  if (Array.isArray(value) && part === "query parameter") {
    return new InvalidRequest("parameter_repeated", `${subject} was sent more than once. Send it once.`);
  }
  return new InvalidRequest("parameter_invalid", `${subject} ${expectation(issue)}.`);
}

/**
 * Returns what the schema expects. The project's schemas phrase messages as "must …"; zod's own messages are
 * the fallback.
 */
function expectation(issue: z.core.$ZodIssue): string {
  // For an invalid key of a record, zod nests the issue of the key.
  const [ofName] = issue.code === "invalid_key" ? issue.issues : [];
  if (ofName !== undefined) return expectation(ofName);
  if (issue.message.startsWith("must ")) return issue.message;
  return issue.code === "invalid_type"
    ? `must be a ${issue.expected}`
    : `is invalid: ${issue.message.slice(0, MAX_QUOTED).toWellFormed()}`;
}
