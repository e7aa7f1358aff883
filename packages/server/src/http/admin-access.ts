// Checks keys of operators (`Authorization: Bearer`, RFC 6750 section 2.1): the admin key that the service was started with, which may
// do everything, and keys with a scope of the admin API. Pages of other origins cannot send them, because preflights do not allow this
// header.

import { createHash, timingSafeEqual } from "node:crypto";
import type { FastifyRequest, onRequestHookHandler } from "fastify";
import { Counter, type Registry } from "prom-client";
import { ServiceError, Unavailable } from "../core/errors.ts";
import type { Hidden } from "../core/hidden.ts";
import { ADMIN_SCOPES, type AdminScope, type KeyScope } from "../core/key-scopes.ts";
import type { Logger } from "../core/ports/driven/logger.ts";
import type { AppKeys } from "../core/ports/driving/key-service.ts";
import type { Budgets, Spent } from "./budgets.ts";
import { addressKeyOf, clientAddress } from "./client-address.ts";
import { scopeMissing } from "./key-refusals.ts";

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

/** Start of keys that the store knows. */
const KEY_PREFIX = "clq_";

interface AdminAccessParts {
  /** The key that the service was started with. */
  readonly key: Hidden<string>;
  readonly keys: AppKeys;
  readonly budgets: Budgets;
  /** Is told of wrong keys. */
  readonly note: NoteRefused;
}

/**
 * Returns a hook that admits requests of operators before it reads anything else of them.
 *
 * @throws ServiceError 401, 403 for a key that lacks the operation's scope, or 429 for any key of an address that sent too many wrong ones
 */
export function requireAdminKey(parts: AdminAccessParts): onRequestHookHandler {
  const digest = digestOf(parts.key.reveal());
  return (request, _reply, done) => {
    void refusalOf(request, digest, parts).then((refusal) => done(refusal ?? undefined), done);
  };
}

async function refusalOf(
  request: FastifyRequest,
  digest: Buffer,
  { keys, budgets, note }: AdminAccessParts,
): Promise<ServiceError | null> {
  const sent = /^Bearer +(\S+) *$/i.exec(request.headers.authorization ?? "")?.[1];
  if (sent === undefined) return invalidKey();
  // Digests have equal length, and common prefixes reveal nothing about the key.
  const isFirst = timingSafeEqual(digestOf(sent), digest);
  // The first key needs no store: operators need the admin API most while the database is down.
  let scopes: ReadonlySet<KeyScope> | null = isFirst ? new Set(ADMIN_SCOPES) : null;
  if (!isFirst && sent.startsWith(KEY_PREFIX)) scopes = (await keys.check(sent))?.scopes ?? null;
  const isRight = scopes !== null;
  const address = addressKeyOf(request);
  const spent: Spent[] = [];
  request.spent = spent;
  try {
    // Count before the check, so that concurrent guesses are all counted.
    await budgets[isRight ? "check" : "spend"]("admin-keys", address, spent);
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    // Count in memory while the database is down.
    if (!(error instanceof Unavailable)) {
      note(request, "limited");
      return error;
    }
  }
  if (scopes !== null) return mayUse(scopes, request) ? null : scopeMissing(scopeOf(request));
  note(request, "wrong");
  return invalidKey();
}

function scopeOf({ method }: FastifyRequest): AdminScope {
  return method === "GET" || method === "HEAD" ? "admin:read" : "admin:write";
}

/** `admin:write` includes reading, so that who may create keys gains nothing by it. */
function mayUse(scopes: ReadonlySet<KeyScope>, request: FastifyRequest): boolean {
  return scopes.has("admin:write") || scopes.has(scopeOf(request));
}

function digestOf(key: string): Buffer {
  return createHash("sha256").update(key).digest();
}

function invalidKey(): ServiceError {
  return new ServiceError(
    401,
    "admin_key_invalid",
    "Administration needs the header Authorization: Bearer <key>, with the key that the service was started with (COLLOQUY_ADMIN_KEY) or one with the scope admin:read or admin:write.",
    { headers: { "www-authenticate": 'Bearer realm="colloquy administration"' } },
  );
}
