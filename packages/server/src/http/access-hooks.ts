import type {
  FastifyContextConfig,
  FastifyRequest,
  preParsingHookHandler,
  preValidationHookHandler,
} from "fastify";
import type { AppScope } from "../core/key-scopes.ts";
import { clearAccess } from "./authentication.ts";

/**
 * Returns route options that check before the body is read and, if there is a body, again afterwards: only a body can delay the second
 * check (RFC 9112 section 6). `check` returns no promise if nothing needs reading.
 */
export function accessHooks(scope: AppScope | null, check: Check) {
  const preParsing: preParsingHookHandler = (request, _reply, payload, done) =>
    callDone(
      () => check(request, !hasBody(request)),
      (error) => done(error, payload),
    );
  const preValidation: preValidationHookHandler = (request, _reply, done) => {
    if (!hasBody(request)) return done();
    clearAccess(request);
    callDone(
      () => check(request, true),
      (error) => (error === null ? done() : done(error)),
    );
  };
  const config: FastifyContextConfig = scope === null ? {} : { scope };
  return { config, preParsing, preValidation };
}

/** Throws or rejects with a 401. `isWhole` is false while a body is still to be read. */
type Check = (request: FastifyRequest, isWhole: boolean) => Promise<void> | undefined;

function callDone(check: () => Promise<void> | undefined, done: (error: Error | null) => void): void {
  let checked: Promise<void> | undefined;
  try {
    checked = check();
  } catch (error) {
    return done(error as Error);
  }
  if (checked === undefined) done(null);
  else void checked.then(() => done(null), done);
}

function hasBody({ raw: { headers } }: FastifyRequest): boolean {
  return headers["transfer-encoding"] !== undefined || (headers["content-length"] ?? "0") !== "0";
}
