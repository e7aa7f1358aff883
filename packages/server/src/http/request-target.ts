// What a request is for, as far as it is known before validation.

import type { FastifyRequest } from "fastify";
import { parseSessionId } from "@colloquy/protocol";
import { isJsonObject } from "../core/json.ts";
import { type Query, SESSION_HEADER } from "./request.ts";

/** Returns the App only if it is a string; validation reports other values later. */
export function appOfQuery(request: FastifyRequest): string | undefined {
  const named = (request.query as Query)["app"];
  return typeof named === "string" && named !== "" ? named : undefined;
}

/** `undefined` before the body was read. */
export function appOfBody({ body }: FastifyRequest): unknown {
  const named = isJsonObject(body) ? body["app"] : undefined;
  return named === null || named === "" || typeof named === "object" ? undefined : named;
}

export function sessionOfHeader({ raw }: FastifyRequest): string | null {
  const sent = raw.headers[SESSION_HEADER];
  return typeof sent === "string" ? parseSessionId(sent) : null;
}

export function sessionOfPath(request: FastifyRequest): string | null {
  const { id } = request.params as { readonly id?: unknown };
  return typeof id === "string" ? parseSessionId(id) : null;
}
