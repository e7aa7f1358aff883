// Who may use which App (interface specification, "Authentication"; contract section 4). No App but `default` exists and no
// key has been given out, so every other name and every key is unknown.

import type { FastifyRequest, RequestPayload } from "fastify";
import { ServiceError } from "../core/errors.ts";
import { DEFAULT_APP } from "../core/session.ts";
import type { Query } from "./query.ts";

/**
 * Checks that a request may use the App it names; `undefined` when it names none. The default App needs no key and ignores
 * one that is sent.
 * @throws ServiceError 401 before anything is created and before anything else is looked at
 */
export function requireApp(name: unknown): void {
  if (name !== undefined && name !== DEFAULT_APP) throw unknownKey();
}

/** Before the body is read: checks the App that the query names, so that 401 goes before 400 (contract section 6). */
export function requireAppOfQuery(
  request: FastifyRequest,
  _reply: unknown,
  payload: RequestPayload,
  done: (error: null, payload: RequestPayload) => void,
): void {
  const named = (request.query as Query)["app"];
  // What was sent twice is no other App but a mistake; validation says so.
  requireApp(typeof named === "string" ? named : undefined);
  done(null, payload);
}

/**
 * Checks the key of a request that asks what a key opens; `null` when it sends none.
 * @throws ServiceError 401 when the key is not a good one
 */
export function requireGoodKey(key: string | null): void {
  if (key !== null) throw unknownKey();
}

function unknownKey(): ServiceError {
  return new ServiceError(
    401,
    "app_key_invalid",
    "This App needs a valid key in the header SERVICE-APP-KEY. Use the App default, which needs none, or ask the operator " +
      "for a key.",
    { headers: { "www-authenticate": 'ServiceAppKey realm="colloquy", header="SERVICE-APP-KEY"' } },
  );
}
