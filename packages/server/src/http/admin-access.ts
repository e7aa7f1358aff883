// Who may use the admin API: whoever has its key, which is nothing else's (`Authorization: Bearer`, RFC 6750 section 2.1). Browsers' pages of
// other origins cannot send it, because preflights do not allow this header.

import { createHash, timingSafeEqual } from "node:crypto";
import type { FastifyRequest, onRequestHookHandler } from "fastify";
import { Counter, type Registry } from "prom-client";
import { ServiceError } from "../core/errors.ts";
import type { Hidden } from "../core/hidden.ts";
import { isPublic } from "../core/loopback.ts";
import type { Logger } from "../core/ports/logger.ts";
import type { HttpConfig } from "./http-config.ts";
import { addressKey, WindowLimiter } from "./rate-limits.ts";
import type { Stopwatch } from "./request-log.ts";

/** Wrong keys that an address may send in a minute, where there are rate limits. Counted by each process for itself. */
const FAILURES_PER_MINUTE = 10;
const WHAT = "wrong admin keys";

/** What became of a request with a wrong key: it was compared, or refused unread because of those before it. */
type Refused = "wrong" | "limited";
type NoteRefused = (request: FastifyRequest, refused: Refused) => void;

/** Whoever guesses is to be seen: each guess is a line of the log, as many as are let through, and all are counted. */
export function guessesNoted(register: Registry, logger: Logger): NoteRefused {
  const counter = new Counter({
    name: "colloquy_admin_keys_refused_total",
    help: "Requests to the admin API that were refused for a wrong key, or unread after too many of those",
    labelNames: ["reason"],
    registers: [register],
  });
  // Shown from the start, so that the first guess is a change.
  for (const reason of ["wrong", "limited"] satisfies Refused[]) counter.inc({ reason }, 0);
  return (request, reason) => {
    counter.inc({ reason });
    if (reason === "wrong") logger.warn({ request_id: request.id, address: request.ip }, "wrong admin key");
  };
}

/**
 * A hook that lets requests with the key through, before anything else of them is read. `note` hears of those with a wrong one.
 * @throws ServiceError 401, or 429 for every key of an address that has sent too many wrong ones: else it could go on guessing
 */
export function requireAdminKey(
  key: Hidden<string>,
  config: Pick<HttpConfig, "loopback" | "trustedProxies" | "rateLimits">,
  clock: Stopwatch,
  note: NoteRefused,
): onRequestHookHandler {
  const digest = digestOf(key.reveal());
  const isLimited = config.rateLimits !== undefined || isPublic(config);
  const failures = isLimited ? new WindowLimiter(FAILURES_PER_MINUTE, () => clock.monotonic()) : null;
  return (request, _reply, done) => {
    const refusal = refusalOf(request, digest, failures, note);
    if (refusal === null) done();
    else done(refusal);
  };
}

function refusalOf(
  request: FastifyRequest,
  digest: Buffer,
  failures: WindowLimiter | null,
  note: NoteRefused,
): Error | null {
  const sent = /^Bearer +(\S+) *$/i.exec(request.headers.authorization ?? "")?.[1];
  if (sent === undefined) return invalidKey();
  const address = addressKey(request.ip);
  try {
    failures?.mustBeOpen(address, WHAT);
  } catch (refusal) {
    if (!(refusal instanceof ServiceError)) throw refusal;
    note(request, "limited");
    return refusal;
  }
  // Digests are of one length, and what they have in common tells nothing of the key.
  if (timingSafeEqual(digestOf(sent), digest)) return null;
  // There is room for one: `mustBeOpen` has said so.
  failures?.take(address, WHAT);
  note(request, "wrong");
  return invalidKey();
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
