// Who may use the admin API: whoever has its key, which is nothing else's (`Authorization: Bearer`, RFC 6750 section 2.1). Browsers' pages of
// other origins cannot send it, because preflights do not allow this header.

import { createHash, timingSafeEqual } from "node:crypto";
import type { FastifyRequest, onRequestHookHandler } from "fastify";
import { ServiceError } from "../core/errors.ts";
import type { Hidden } from "../core/hidden.ts";
import type { HttpConfig } from "./http-config.ts";
import { addressKey, WindowLimiter } from "./rate-limits.ts";
import type { Stopwatch } from "./request-log.ts";

/** Wrong keys that an address may send in a minute, where there are rate limits. Counted by each process for itself. */
const FAILURES_PER_MINUTE = 10;
const WHAT = "wrong admin keys";

/**
 * A hook that lets requests with the key through, before anything else of them is read.
 * @throws ServiceError 401, or 429 for every key of an address that has sent too many wrong ones: else it could go on guessing
 */
export function requireAdminKey(
  key: Hidden<string>,
  config: Pick<HttpConfig, "loopback" | "rateLimits">,
  clock: Stopwatch,
): onRequestHookHandler {
  const digest = digestOf(key.reveal());
  const isLimited = config.rateLimits !== undefined || !config.loopback;
  const failures = isLimited ? new WindowLimiter(FAILURES_PER_MINUTE, () => clock.monotonic()) : null;
  return (request, _reply, done) => {
    const refusal = refusalOf(request, digest, failures);
    if (refusal === null) done();
    else done(refusal);
  };
}

function refusalOf(request: FastifyRequest, digest: Buffer, failures: WindowLimiter | null): Error | null {
  const sent = /^Bearer +(\S+) *$/i.exec(request.headers.authorization ?? "")?.[1];
  const address = addressKey(request.ip);
  try {
    if (sent === undefined) return invalidKey();
    failures?.mustBeOpen(address, WHAT);
    // Digests are of one length, and what they have in common tells nothing of the key.
    if (timingSafeEqual(digestOf(sent), digest)) return null;
    failures?.take(address, WHAT);
    return invalidKey();
  } catch (refusal) {
    if (refusal instanceof ServiceError) return refusal;
    throw refusal;
  }
}

function digestOf(key: string): Buffer {
  return createHash("sha256").update(key).digest();
}

function invalidKey(): ServiceError {
  return new ServiceError(
    401,
    "admin_key_invalid",
    "Administration needs the header Authorization: Bearer <key>, with the key that the service was started with (COLLOQUY_ADMIN_KEY).",
    { headers: { "www-authenticate": 'Bearer realm="colloquy administration"' } },
  );
}
