// When access is checked, and what a check leaves on the request. What is checked stands in `app-access.ts`.

import type { FastifyError, FastifyRequest, preParsingHookHandler, preValidationHookHandler } from "fastify";
import type { KeyGrant } from "../core/ports/driving/app-keys.ts";
import type { SessionVersion } from "../core/ports/driven/session-store.ts";
import { DEFAULT_APP } from "../core/session.ts";

declare module "fastify" {
  interface FastifyRequest {
    /** What the request's key opens; `null` while nobody has looked, and for none or one that is not good. */
    keyGrant: KeyGrant | null;
    /** The App of the session that the request is about, where it matters; else `default`. */
    sessionApp: string;
    /** Where the store had that session then; `null` where it was not looked up there. */
    sessionSeen: SessionVersion | null;
    /** Id of a session of which the store will say whose it is when it does what is asked; `null` for none, and once it is asked. */
    unseenSession: string | null;
  }
  interface FastifyContextConfig {
    /** True where a session of a non-default App needs that App's key, whatever `requireKey` says. */
    needsAppKey?: true;
  }
}

/** What the decorated properties are before a hook has run. */
export const NO_ACCESS = {
  keyGrant: null,
  sessionApp: DEFAULT_APP,
  sessionSeen: null,
  unseenSession: null,
} as const;

/** Throws or rejects with a 401; answers at once, without a promise, where nothing can be wrong. */
type Check = (request: FastifyRequest) => Promise<void> | undefined;

/** A check before the body is read, so that it need not be, and again after it. To be spread into the options of a route. */
export interface AccessHooks {
  readonly preParsing: preParsingHookHandler;
  readonly preValidation: preValidationHookHandler;
}

/** The times of what is checked here can be far apart only where the client sends a body (RFC 9112 section 6). */
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

/** Of an operation whose store finds out whose session it is. */
export interface AccessHooksAtWork extends AccessHooks {
  readonly errorHandler: (error: FastifyError, request: FastifyRequest) => Promise<never>;
}

/** Passes a refusal on once `look` has found nothing that goes before it. */
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

/** What an earlier check has left, so that the next one looks for itself. */
export function forget(request: FastifyRequest): void {
  Object.assign(request, NO_ACCESS);
}
