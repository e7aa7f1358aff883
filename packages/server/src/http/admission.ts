import type { FastifyRequest, onRequestHookHandler, RouteOptions } from "fastify";
import { ServiceError, tooManyStreams, Unavailable } from "../core/errors.ts";
import { isPublic } from "../core/loopback.ts";
import type { RateCounters } from "../core/ports/driven/rate-counters.ts";
import type { AdmitChange, NewSessionOptions, Readiness, Services } from "../core/ports/driving/services.ts";
import { DEFAULT_APP } from "../core/session.ts";
import { appKey, SESSION_HEADER, sessionOfHeader, sessionOfPath } from "./request.ts";
import { addressKeyOf } from "./client-address.ts";
import type { BudgetName, Budgets, Counted, Spent } from "./budgets.ts";
import type { HttpConfig } from "./edge.ts";
import { ConcurrencyLimit, SharedConcurrencyLimit } from "./concurrency-limits.ts";

declare module "fastify" {
  interface FastifyRequest {
    /**
     * Budgets that counted the request, for its rate-limit headers; absent if the request is not limited or
     * has no route.
     */
    spent?: Spent[] | null;
  }
}

/** `Retry-After` in seconds while this process stops, long enough for another process to replace it. */
const STOPPING_RETRY_SECONDS = 5;

/** Applies rate and concurrency limits to requests. */
export interface Admission {
  /** Returns the hook that counts a route's requests before their bodies are read; `null` for a route without limits. */
  hook(route: RouteOptions): onRequestHookHandler | null;
  /**
   * Counts a chat for its caller. Beyond the limit, a repeat according to `isRepeat` still passes, within a
   * separate budget of the same size. `isRepeat` is `null` for a chat without an idempotency key.
   * @throws ServiceError 429 if the budget is used up, 503 while the service stops and there is no other node
   */
  chat(request: FastifyRequest, caller: Caller, isRepeat: IsRepeat | null): Counted;
  /** Like `chat`, for requests about secrets. */
  secrets(request: FastifyRequest, caller: Caller): Counted;
  /** Returns the options for creating a missing session: its spelling, and the rate-limit check. */
  newSession(request: FastifyRequest, named?: NewSession): NewSessionOptions;
  /** Returns the rate-limit check for requests that change their session only in some cases; `null` without limits. */
  change(request: FastifyRequest, sessionId: string): AdmitChange;
  /**
   * Takes a slot for an event stream of the session. Returns a function that releases it, `null` if streams are not limited.
   * @throws ServiceError 429 if the address or App key, or the session, has too many streams open
   */
  stream(request: FastifyRequest, sessionId: string): Promise<(() => void) | null>;
}

interface NewSession {
  /** The client id in the request. */
  readonly clientId?: string | null;
  /** Id of the session as the client spelled it; that of `X-Session-Id` when absent. */
  readonly spelling?: string;
}

/** Caller of a request, in addition to its App key and address. */
interface Caller {
  readonly app: string;
  readonly clientId: string | null;
  /** `null` if the request names no session. */
  readonly sessionId: string | null;
}

/** Returns true if the chat repeats an accepted one. */
type IsRepeat = () => Promise<boolean>;

/**
 * Limit of a whole App key sent by a trusted proxy, as a multiple of an address's limit. Limits per client do
 * not suffice, because the holder of the key chooses the client ids.
 */
const OF_KEY = 100;
const READS: ReadonlySet<string> = new Set(["GET", "HEAD"]);

interface AdmissionParts {
  readonly config: HttpConfig;
  readonly services: Pick<Services, "readiness" | "apps" | "keys">;
  readonly budgets: Budgets;
  /** `null` for a single process. */
  readonly counters: RateCounters | null;
}

export function createAdmission(parts: AdmissionParts): Admission {
  const { config, services, budgets } = parts;
  const { readiness } = services;
  if (!isPublic(config)) {
    const stop = (): void => refuseWhenStopping(readiness);
    return {
      hook: () => null,
      chat: stop,
      secrets: stop,
      newSession: (request, { spelling = spellingOf(request) } = {}) => ({ spelling, admit: null }),
      change: () => null,
      stream: () => Promise.resolve(null),
    };
  }
  const spendFor = callerCounter(parts);
  return {
    hook: (route) => (isLimited(route.url) ? countingHook(parts, route) : null),
    chat(request, caller, isRepeat) {
      refuseWhenStopping(readiness);
      const count = (): Counted => spendFor("chats", "key-chats", request, caller);
      if (isRepeat === null) return count();
      return countUnlessRepeat(count, () => spendFor("repeats", "key-chats", request, caller), isRepeat);
    },
    secrets(request, caller) {
      refuseWhenStopping(readiness);
      return spendFor("secrets", "key-secrets", request, caller);
    },
    newSession(request, { clientId = null, spelling = spellingOf(request) } = {}) {
      const spent = spentOf(request);
      const ofAddress = countLater(budgets, [["new-sessions", addressKeyOf(request)]], spent);
      const key = appKey(request.raw);
      const admit = key === null ? ofAddress : countForKey(parts, key, clientId, spent, ofAddress);
      return { spelling, admit };
    },
    change: (request, id) => countLater(budgets, changeOf(addressKeyOf(request), id), spentOf(request)),
    stream: streamLimits(parts),
  };
}

/** A budget, a key to count, and the limit if it differs from the budget's. */
type Entry = readonly [budget: BudgetName, key: string, limit?: number];

/** Admin requests have their own limit, which counts wrong keys. */
function isLimited(url: string): boolean {
  return url.startsWith("/api/") && !url.startsWith("/api/admin/");
}

function countingHook(parts: AdmissionParts, { method, config = {} }: RouteOptions): onRequestHookHandler {
  const { budgets } = parts;
  const sessionOf = config.hasSessionInPath === true ? sessionOfPath : sessionOfHeader;
  const isChange = !READS.has([method].flat().join());
  const count = (request: FastifyRequest): Counted => {
    const spent = spentOf(request);
    const address = addressKeyOf(request);
    const session = sessionOf(request);
    // Use local budgets, so that polls are counted without a promise.
    void budgets.spend("reads", address, spent);
    if (session !== null) void budgets.spend("session-reads", session, spent);
    if (!isChange) return;
    if (config.skipsWriteBudget === true) return countBody(parts, request);
    return spendAll(budgets, changeOf(address, session), spent);
  };
  return (request, _reply, done) => {
    let counted: Counted;
    try {
      counted = count(request);
    } catch (refusal) {
      return done(refusal as Error);
    }
    if (counted === undefined) done();
    else void counted.then(() => done(), done);
  };
}

/** MiB of messages and secrets from one address, as a multiple of its messages: answers to calls are requests too. */
const BODIES_PER_CHAT = 10;
const MIB = 1024 * 1024;

/**
 * Counts a request for its address before its body is read, which names the App and the client: once for each
 * MiB that was begun. A valid key excepts it, because its holder serves many people.
 */
function countBody({ services: { apps, keys }, budgets }: AdmissionParts, request: FastifyRequest): Counted {
  const count = (): void => {
    const ofApps = apps.names().map((name) => apps.get(name)?.rateLimits?.chatsPerMinute ?? 0);
    const limit = BODIES_PER_CHAT * Math.max(budgets.limitOf("chats"), ...ofApps);
    const { "transfer-encoding": transfer, "content-length": length = "0" } = request.raw.headers;
    const { bodyLimit } = request.routeOptions;
    const bytes = transfer === undefined ? Math.min(Number(length), bodyLimit) : bodyLimit;
    const states: Spent[] = [];
    try {
      for (let left = Math.max(1, bytes); left > 0; left -= MIB)
        void budgets.spend("bodies", addressKeyOf(request), states, limit);
    } finally {
      // Only the last state belongs into the header fields.
      spentOf(request).push(...states.slice(-1));
    }
  };
  const key = appKey(request.raw);
  if (key === null) return count();
  return keys.check(key).then((grant) => (grant === null ? count() : undefined));
}

function changeOf(address: string, session: string | null): readonly Entry[] {
  const ofAddress = ["writes", address] as const;
  return session === null ? [ofAddress] : [ofAddress, ["session-writes", session]];
}

/** Counts all entries concurrently. */
function spendAll(budgets: Budgets, entries: readonly Entry[], spent: Spent[]): Counted {
  const waiting: Promise<void>[] = [];
  for (const [budget, key, limit] of entries) {
    try {
      const counted = budgets.spend(budget, key, spent, limit);
      if (counted !== undefined) waiting.push(counted);
    } catch (refusal) {
      // If one count throws, the pending promises of the others must not reject unhandled.
      if (waiting.length === 0) throw refusal;
      waiting.push(Promise.reject(refusal));
    }
  }
  if (waiting.length > 0) return Promise.all(waiting).then(() => undefined);
}

/** A separate function, so that a closure that outlives the request does not keep the request in memory. */
function countLater(budgets: Budgets, entries: readonly Entry[], spent: Spent[]): () => Counted {
  return () => spendAll(budgets, entries, spent);
}

function spentOf(request: FastifyRequest): Spent[] {
  request.spent ??= [];
  return request.spent;
}

/**
 * Returns the key under which a request's caller is counted: its address, or its App key with the client or
 * session, because an App key may serve many people. `ofKey` counts the whole App key, whose holder chooses
 * the client ids.
 */
function callerCounter({ services, budgets }: AdmissionParts) {
  return (own: BudgetName, ofKey: BudgetName, request: FastifyRequest, caller: Caller): Counted => {
    const { app, clientId, sessionId } = caller;
    const spent = spentOf(request);
    const limits = services.apps.get(app)?.rateLimits ?? {};
    const { chatsPerMinute = budgets.limitOf(own), keyChatsPerMinute = budgets.limitOf(ofKey) } = limits;
    const grant = app === DEFAULT_APP ? null : request.keyGrant;
    if (grant === null) return budgets.spend(own, addressKeyOf(request), spent, chatsPerMinute);
    const key = `key ${grant.keyId} ${app}`;
    const one = clientId === null ? `session ${sessionId}` : `client ${clientId}`;
    const entries = [
      [own, `${key} ${one}`, chatsPerMinute],
      [ofKey, key, keyChatsPerMinute],
    ] as const;
    return spendAll(budgets, entries, spent);
  };
}

/** Counts a new session against the App key, which is checked only now, or against the address if the key is invalid. */
function countForKey(
  { services: { keys }, budgets }: AdmissionParts,
  key: string,
  clientId: string | null,
  spent: Spent[],
  ofAddress: () => Counted,
): () => Promise<void> {
  return async () => {
    const grant = await keys.check(key);
    if (grant === null) return await ofAddress();
    const ofKey = ["key-new-sessions", grant.keyId, OF_KEY * budgets.limitOf("new-sessions")] as const;
    const ofClient = ["new-sessions", `key ${grant.keyId} client ${clientId}`] as const;
    await spendAll(budgets, clientId === null ? [ofKey] : [ofClient, ofKey], spent);
  };
}

/** Repeats have their own budget, because each costs a read of the store. */
async function countUnlessRepeat(
  count: () => Counted,
  countRepeat: () => Counted,
  isRepeat: IsRepeat,
): Promise<void> {
  try {
    await count();
  } catch (refusal) {
    if (!(refusal instanceof ServiceError) || refusal.status !== 429) throw refusal;
    await countRepeat();
    if (!(await isRepeat())) throw refusal;
  }
}

/** Limits streams per session, and per App key if the request has one, else per address. */
function streamLimits({ config, counters }: AdmissionParts): Admission["stream"] {
  const { streamsPerAddress, streamsPerSession } = config.rateLimits;
  const limitOf = (name: string, limit: number) =>
    counters === null ? new ConcurrencyLimit(limit) : new SharedConcurrencyLimit(counters, name, limit);
  const limits = {
    address: limitOf("streams", streamsPerAddress),
    "App key": limitOf("streams of key", OF_KEY * streamsPerAddress),
  };
  // A single process has all streams of a session, so its feed counts them.
  const ofSession =
    counters && new SharedConcurrencyLimit(counters, "streams of", streamsPerSession, tooManyStreams);
  return async (request, sessionId) => {
    const grant = request.keyGrant;
    const kind = grant === null ? "address" : "App key";
    const holder = grant === null ? addressKeyOf(request) : grant.keyId;
    await limits[kind].acquire(holder, `event streams of one ${kind}`);
    try {
      await ofSession?.acquire(sessionId, "event streams of one session");
    } catch (error) {
      limits[kind].release(holder);
      throw error;
    }
    return () => {
      limits[kind].release(holder);
      ofSession?.release(sessionId);
    };
  };
}

/** Returns the session id as the client sent it. It was validated before. */
function spellingOf({ raw }: FastifyRequest): string {
  return String(raw.headers[SESSION_HEADER]);
}

function refuseWhenStopping(readiness: Readiness): void {
  if (!readiness.refusesWork) return;
  throw new Unavailable(
    503,
    "stopping",
    "This server is stopping. Send the request again after the seconds in Retry-After.",
    STOPPING_RETRY_SECONDS,
  );
}
