// Checks the admin key (`Authorization: Bearer`, RFC 6750 section 2.1). Pages of other origins cannot send it, because preflights do
// not allow this header.

import { createHash, timingSafeEqual } from "node:crypto";
import type { FastifyRequest, onRequestHookHandler } from "fastify";
import { Counter, type Registry } from "prom-client";
import { ServiceError, Unavailable } from "../core/errors.ts";
import type { Hidden } from "../core/hidden.ts";
import type { Logger } from "../core/ports/driven/logger.ts";
import type { Budgets, Spent } from "./budgets.ts";
import { addressKeyOf, clientAddress } from "./client-address.ts";

/** Reason of a refusal: a wrong key, or too many wrong ones before it. */
type Refused = "wrong" | "limited";
type NoteRefused = (request: FastifyRequest, refused: Refused) => void;

/** Makes guesses visible: counts each wrong key, and logs those below the limit. */
export function guessesNoted(register: Registry, logger: Logger): NoteRefused {
  const counter = new Counter({
    name: "colloquy_admin_keys_refused_total",
    help: "Requests to the admin API that were refused for a wrong key, or with any key after too many of those",
    labelNames: ["reason"],
    registers: [register],
  });
  // Exported with the value 0, so that the first guess is visible as a change.
  for (const reason of ["wrong", "limited"] satisfies Refused[]) counter.inc({ reason }, 0);
  return (request, reason) => {
    counter.inc({ reason });
    if (reason === "wrong")
      logger.warn({ request_id: request.id, address: clientAddress(request) }, "wrong admin key");
  };
}

/**
 * Returns a hook that admits requests with the key before it reads anything else of them, and reports wrong
 * keys to `note`.
 *
 * @throws ServiceError 401, or 429 for any key of an address that sent too many wrong ones
 */
export function requireAdminKey(
  key: Hidden<string>,
  budgets: Budgets,
  note: NoteRefused,
): onRequestHookHandler {
  const digest = digestOf(key.reveal());
  return (request, _reply, done) => {
    void refusalOf(request, digest, budgets, note).then((refusal) => done(refusal ?? undefined), done);
  };
}

async function refusalOf(
  request: FastifyRequest,
  digest: Buffer,
  budgets: Budgets,
  note: NoteRefused,
): Promise<ServiceError | null> {
  const sent = /^Bearer +(\S+) *$/i.exec(request.headers.authorization ?? "")?.[1];
  if (sent === undefined) return invalidKey();
  // Digests have equal length, and common prefixes reveal nothing about the key.
  const isRight = timingSafeEqual(digestOf(sent), digest);
  const address = addressKeyOf(request);
  const spent: Spent[] = [];
  request.spent = spent;
  try {
    // Count before the check, so that concurrent guesses are all counted.
    await budgets[isRight ? "check" : "spend"]("admin-keys", address, spent);
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    // Count in memory while the database is down: operators need the admin API most then.
    if (!(error instanceof Unavailable)) {
      note(request, "limited");
      return error;
    }
  }
  if (isRight) return null;
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
