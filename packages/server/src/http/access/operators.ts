// Access to the admin API by `Authorization: Bearer` (RFC 6750 section 2.1). `COLLOQUY_ADMIN_KEY` and
// operators' tokens permit everything; other keys permit what their admin scopes say. Pages of other origins
// cannot send the header, because preflight responses of the admin API do not allow it.

import { createHash, timingSafeEqual } from "node:crypto";
import type { FastifyRequest, onRequestHookHandler } from "fastify";
import { Counter, type Registry } from "prom-client";
import { ServiceError, Unavailable } from "@colloquy/engine/internal/core/errors";
import type { Hidden } from "@colloquy/engine/internal/core/hidden";
import { ADMIN_SCOPES, type AdminScope, type KeyScope } from "@colloquy/engine/internal/core/key-scopes";
import type { Actor } from "@colloquy/engine/internal/core/audit";
import { actor } from "../actors.ts";
import type { Logger } from "@colloquy/engine/internal/core/ports/driven/logger";
import type { OperatorTokens } from "@colloquy/engine/internal/apps/users/operator-tokens";
import type { Budgets, Spent } from "../budgets.ts";
import { addressKeyOf, clientAddress } from "../client-address.ts";
import { KEY_PREFIX } from "./credentials.ts";
import { scopeMissing } from "./refusals.ts";
import type { Services } from "../services.ts";

/** Reason of a refusal: a wrong key, or too many wrong keys from the address. */
type Refused = "wrong" | "limited";
type RecordRefused = (request: FastifyRequest, refused: Refused) => void;

/** Returns a function that counts each refused key, and logs and audits wrong ones below the limit. */
export function recordRefusedKeys(
  register: Registry,
  logger: Logger,
  audit: Pick<Services["audit"], "note">,
): RecordRefused {
  const counter = new Counter({
    name: "colloquy_admin_keys_refused_total",
    help: "Requests to the admin API that were refused for a wrong key, or with any key after too many of those",
    labelNames: ["reason"],
    registers: [register],
  });
  // Start at 0, so that the first guess is visible as a change.
  for (const reason of ["wrong", "limited"] satisfies Refused[]) counter.inc({ reason }, 0);
  return (request, reason) => {
    counter.inc({ reason });
    if (reason !== "wrong") return;
    logger.warn({ request_id: request.id, address: clientAddress(request) }, "wrong admin key");
    const sender = actor(request, { kind: "client" });
    void audit.note({ action: "login_failed", actor: sender, app: null, target: null, details: {} });
  };
}

/** JWS compact serialization (RFC 7515 section 7.1). */
const TOKEN = /^[\w-]+\.[\w-]+\.[\w-]*$/;

interface OperatorParts {
  /** The key that the service was started with; `null` for none. */
  readonly key: Hidden<string> | null;
  readonly keys: Pick<Services["keys"], "check">;
  /** `null` if operators have no tokens. */
  readonly operators: OperatorTokens | null;
  readonly budgets: Budgets;
  /** Called for each refused request. */
  readonly note: RecordRefused;
}

/** The authenticated actor of a request to the admin API, and its scopes. */
interface Sender {
  readonly who: Pick<Actor, "kind" | "id" | "name">;
  readonly scopes: ReadonlySet<KeyScope>;
}

const FIRST_KEY = { kind: "admin_key", id: null, name: null } as const;
const EVERYTHING: ReadonlySet<KeyScope> = new Set(ADMIN_SCOPES);

/** Authenticates operators, for routes with the access `operator`. */
export interface Operators {
  readonly check: onRequestHookHandler;
}

/**
 * Returns a hook that authenticates operators before anything else of the request is read.
 * @throws ServiceError 401, 403 for a key that lacks the operation's scope or a token of somebody else, or 429 for an address that sent too many wrong keys
 */
export function authenticateOperators(parts: OperatorParts): Operators {
  const digest = parts.key === null ? null : digestOf(parts.key.reveal());
  return {
    check: (request, _reply, done) => {
      void refusalOf(request, digest, parts).then((refusal) => done(refusal ?? undefined), done);
    },
  };
}

async function refusalOf(
  request: FastifyRequest,
  digest: Buffer | null,
  parts: OperatorParts,
): Promise<ServiceError | null> {
  const { budgets, note } = parts;
  const sent = /^Bearer +(\S+) *$/i.exec(request.headers.authorization ?? "")?.[1];
  if (sent === undefined) return invalidKey();
  const sender = await senderOf(sent, digest, parts);
  const isRight = !(sender instanceof ServiceError);
  const address = addressKeyOf(request);
  const spent: Spent[] = [];
  request.spent = spent;
  try {
    // Count before the check, so that concurrent guesses are all counted.
    await budgets[isRight ? "check" : "spend"]("admin-keys", address, spent);
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    // Fall back to the count in memory while the database is down.
    if (!(error instanceof Unavailable)) {
      note(request, "limited");
      return error;
    }
  }
  if (isRight) {
    request.operator = actor(request, sender.who);
    request.seesSessionIds = sender.scopes.has("admin:write");
    return mayUse(sender.scopes, request) ? null : scopeMissing(scopeOf(request));
  }
  note(request, "wrong");
  return sender;
}

async function senderOf(
  sent: string,
  digest: Buffer | null,
  { keys, operators }: OperatorParts,
): Promise<Sender | ServiceError> {
  // The first key needs no store: operators need the admin API most while the database is down. Digests have
  // equal length, and common prefixes reveal nothing about the key.
  if (digest !== null && timingSafeEqual(digestOf(sent), digest))
    return { who: FIRST_KEY, scopes: EVERYTHING };
  if (sent.startsWith(KEY_PREFIX)) {
    const grant = await keys.check(sent);
    if (grant === null) return invalidKey();
    return { who: { kind: "key", id: grant.keyId, name: grant.name }, scopes: grant.scopes };
  }
  if (operators === null || !TOKEN.test(sent)) return invalidKey();
  const operator = await operators.check(sent);
  if (operator instanceof ServiceError) return operator;
  return { who: { kind: "operator", id: operator.subject, name: operator.name }, scopes: EVERYTHING };
}

function scopeOf({ method }: FastifyRequest): AdminScope {
  return method === "GET" || method === "HEAD" ? "admin:read" : "admin:write";
}

/** `admin:write` includes reading: its holder could create a key with `admin:read` anyway. */
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
    "Administration needs the header Authorization: Bearer <key>, with the key that the service was started with (COLLOQUY_ADMIN_KEY), one with the scope admin:read or admin:write, or the token of an operator.",
    { headers: { "www-authenticate": 'Bearer realm="colloquy administration"' } },
  );
}
