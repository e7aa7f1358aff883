// Hooks that check access before and after the body; `app-access.ts` holds the checks.

import type { FastifyError, FastifyRequest, preParsingHookHandler, preValidationHookHandler } from "fastify";
import type { KeyGrant } from "../core/ports/driving/key-service.ts";
import type { SessionVersion } from "../core/ports/driven/session-store.ts";
import { DEFAULT_APP } from "../core/session.ts";

declare module "fastify" {
  interface FastifyRequest {
    /** Apps that the request's key opens; `null` before the check, and for a missing or bad key. */
    keyGrant: KeyGrant | null;
    /** The App of the request's session if it matters, else `default`. */
    sessionApp: string;
    /** The session as found in the store; `null` if it was not looked up. */
    sessionSeen: SessionVersion | null;
    /** Id of a session whose App the command's transaction will check; `null` for none, and after that. */
    unseenSession: string | null;
  }
  interface FastifyContextConfig {
    /** True if a session of a non-default App needs that App's key whatever `requireKey` says. */
    needsAppKey?: true;
  }
}

/** Initial values of the decorated properties. */
export const NO_ACCESS = {
  keyGrant: null,
  sessionApp: DEFAULT_APP,
  sessionSeen: null,
  unseenSession: null,
} as const;

/** Throws or rejects with a 401; returns without a promise if nothing needs checking. */
type Check = (request: FastifyRequest) => Promise<void> | undefined;

/** Route options that check before the body is read and again afterwards. */
export interface AccessHooks {
  readonly preParsing: preParsingHookHandler;
  readonly preValidation: preValidationHookHandler;
}

/** Only a request body can delay the second check (RFC 9112 section 6). */
export function hooks(check: Check): AccessHooks {
  return {
    preParsing: (request, _reply, payload, done) => goOn(check(request), (error) => done(error, payload)),
    preValidation: (request, _reply, done) => {
      if (!hasBody(request)) return done();
      forget(request);
      goOn(check(request), (error) => (error === null ? done() : done(error)));
    },
  };
}

/** Route options of an operation whose transaction checks the session's App. */
export interface AccessHooksAtWork extends AccessHooks {
  readonly errorHandler: (error: FastifyError, request: FastifyRequest) => Promise<never>;
}

/** Passes a refusal on unless `look` finds one that precedes it. */
export function refusedBehind(look: Check): AccessHooksAtWork["errorHandler"] {
  return async (error, request) => {
    await look(request);
    throw error;
  };
}

function goOn(checked: Promise<void> | undefined, done: (error: Error | null) => void): void {
  if (checked === undefined) done(null);
  else void checked.then(() => done(null), done);
}

function hasBody({ raw: { headers } }: FastifyRequest): boolean {
  return headers["transfer-encoding"] !== undefined || (headers["content-length"] ?? "0") !== "0";
}

/** Clears the results of an earlier check. */
export function forget(request: FastifyRequest): void {
  Object.assign(request, NO_ACCESS);
}
