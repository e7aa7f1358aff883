// Who may use the admin API: whoever has its key, which is nothing else's (`Authorization: Bearer`, RFC 6750 section 2.1). Browsers' pages of
// other origins cannot send it, because preflights do not allow this header.

import { createHash, timingSafeEqual } from "node:crypto";
import type { FastifyRequest, onRequestHookHandler } from "fastify";
import { Counter, type Registry } from "prom-client";
import { ServiceError, Unavailable } from "../core/errors.ts";
import type { Hidden } from "../core/hidden.ts";
import type { Logger } from "../core/ports/driven/logger.ts";
import type { Budgets, Spent } from "./budgets.ts";
import { addressKeyOf, clientAddress } from "./client-address.ts";

/** Why a request was refused: for its wrong key, or, whatever its key, because of the wrong ones before it. */
type Refused = "wrong" | "limited";
type NoteRefused = (request: FastifyRequest, refused: Refused) => void;

/** Whoever guesses is to be seen: each guess is a line of the log, as many as are let through, and all are counted. */
export function guessesNoted(register: Registry, logger: Logger): NoteRefused {
  const counter = new Counter({
    name: "colloquy_admin_keys_refused_total",
    help: "Requests to the admin API that were refused for a wrong key, or with any key after too many of those",
    labelNames: ["reason"],
    registers: [register],
  });
  // Shown from the start, so that the first guess is a change.
  for (const reason of ["wrong", "limited"] satisfies Refused[]) counter.inc({ reason }, 0);
  return (request, reason) => {
    counter.inc({ reason });
    if (reason === "wrong")
      logger.warn({ request_id: request.id, address: clientAddress(request) }, "wrong admin key");
  };
}

/**
 * A hook that lets requests with the key through, before anything else of them is read. `note` hears of those with a wrong one.
 * @throws ServiceError 401, or 429 for every key of an address that has sent too many wrong ones: else it could go on guessing
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
  // Digests are of one length, and what they have in common tells nothing of the key.
  const isRight = timingSafeEqual(digestOf(sent), digest);
  const address = addressKeyOf(request);
  const spent: Spent[] = [];
  request.spent = spent;
  try {
    // Counted before anything else happens, so that guesses that are sent together are all counted.
    await (isRight ? budgets.check("adminKeys", address, spent) : budgets.spend("adminKeys", address, spent));
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    // While the other nodes cannot be asked this one counts alone: operators need the area most when the database is away.
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
