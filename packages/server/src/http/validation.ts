// One schema validates and documents. Turns its first problem into a sentence that names the parameter and the valid values.

import type { FastifySchemaCompiler } from "fastify";
import type { z } from "zod";
import { InvalidRequest } from "../core/errors.ts";
import { EMPTY_QUERY } from "./query.ts";

const PLACES: Readonly<Record<string, string>> = {
  querystring: "query parameter",
  params: "path parameter",
  body: "body field",
};

/**
 * Validates the query, path and body of a request. `headers.ts` reads headers; their schemas only document.
 */
export const compileValidator: FastifySchemaCompiler<z.ZodType> = ({ schema, httpPart = "" }) => {
  const place = PLACES[httpPart];
  if (place === undefined) return () => true;
  const validate = (sent: unknown): Validated => {
    const result = schema.safeParse(sent);
    return result.success ? { value: result.data } : { error: refusal(place, sent, result.error) };
  };
  // Most requests have no query: validate the empty one once.
  let ofNone: Validated | null = null;
  return (sent: unknown) => (sent === EMPTY_QUERY ? (ofNone ??= validate(EMPTY_QUERY)) : validate(sent));
};

type Validated = { readonly value: unknown } | { readonly error: InvalidRequest };

/** Response schemas only document; answers are not changed. */
export function compileSerializer(): (value: unknown) => string {
  return JSON.stringify;
}

function refusal(place: string, sent: unknown, error: z.ZodError): InvalidRequest {
  const [issue] = error.issues;
  const [name] = issue?.path ?? [];
  if (issue === undefined || name === undefined) {
    return new InvalidRequest(
      "body_invalid",
      "The body must be a JSON object, with Content-Type: application/json.",
    );
  }
  const value = (sent as Readonly<Record<PropertyKey, unknown>>)[name];
  const subject = `The ${place} "${String(name)}"`;
  if (value === undefined) {
    return new InvalidRequest("parameter_missing", `${subject} is missing: it ${expectation(issue)}.`);
  }
  if (Array.isArray(value) && place === "query parameter") {
    return new InvalidRequest("parameter_repeated", `${subject} was sent more than once. Send it once.`);
  }
  return new InvalidRequest("parameter_invalid", `${subject} ${expectation(issue)}.`);
}

/** Schemas phrase their messages as "must …"; zod's own are the fallback. */
function expectation(issue: z.core.$ZodIssue): string {
  if (issue.message.startsWith("must ")) return issue.message;
  return issue.code === "invalid_type" ? `must be a ${issue.expected}` : `is not right: ${issue.message}`;
}
