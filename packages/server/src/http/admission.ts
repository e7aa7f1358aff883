import type { FastifyRequest, RouteOptions } from "fastify";
import { ServiceError, tooManyStreams, Unavailable } from "@colloquy/engine/internal/core/errors";
import { isPublic } from "@colloquy/engine/internal/core/loopback";
import type { RateCounters } from "@colloquy/engine/internal/core/ports/driven/rate-counters";
import type {
  AdmitChange,
  AdmitCopy,
  NewSessionOptions,
} from "@colloquy/engine/internal/core/ports/driving/services";
import { DEFAULT_APP } from "@colloquy/engine/internal/core/session";
import {
  changeBytes,
  chatBytes,
  NEW_SESSION_BYTES,
  type WrittenChat,
} from "@colloquy/engine/internal/core/written-bytes";
import { appAccess, type RouteAccess, sessionIn } from "./access/route-access.ts";
import { addressKeyOf } from "./client-address.ts";
import type { BytesBudget, Budgets, CountBudget, Counted, Spent } from "./budgets.ts";
import type { HttpConfig } from "./edge.ts";
import { ConcurrencyLimit, SharedConcurrencyLimit } from "./concurrency-limits.ts";
import type { Services } from "./services.ts";

declare module "fastify" {
  interface FastifyRequest {
    /**
     * Budgets that counted the request, for its rate-limit headers; absent if the request is not limited or
     * has no route.
     */
    spent?: Spent[] | null;
    /** Gives back the bytes of a change that is refused after it was charged; absent or `null` if none are charged. */
    refund?: (() => void) | null;
  }
}

/** `Retry-After` in seconds while this process stops, long enough for another process to replace it. */
const STOPPING_RETRY_SECONDS = 5;

/** Applies rate and concurrency limits to requests. */
export interface Admission {
  /** Returns what counts a route's requests before their bodies are read; `null` for a route without limits. */
  count(route: RouteOptions, access: RouteAccess): ((request: FastifyRequest) => Counted) | null;
  /**
   * Returns what charges a route's valid requests for what they store; `null` for a route that stores nothing, or whose handler
   * charges.
   */
  charge(route: RouteOptions, access: RouteAccess): ((request: FastifyRequest) => Counted) | null;
  /**
   * Counts a chat for its caller, and charges what it stores. Beyond the limit, a repeat according to `isRepeat` still passes, within a
   * separate budget of the same size. `isRepeat` is `null` for a chat without an idempotency key.
   * @throws ServiceError 429 if the budget is used up, 503 while the service stops and there is no other node
   */
  chat(request: FastifyRequest, caller: CountedFor, isRepeat: IsRepeat | null, sent: WrittenChat): Counted;
  /** Like `chat`, for requests about secrets. `body` is what is to be stored, `null` for nothing. */
  secrets(request: FastifyRequest, caller: CountedFor, body: unknown): Counted;
  /** Charges an upload of so many bytes. @throws ServiceError 429, or 503 while the service stops and there is no other node */
  upload(request: FastifyRequest, caller: CountedFor, bytes: number): Counted;
  /** Charges a change to its caller: one with this body, or these bytes. */
  written(request: FastifyRequest, caller: CountedFor, body: unknown, bytes?: number): Counted;
  /** Returns the check of a copy of the session, which charges its bytes before any is read; `null` without limits. */
  copy(request: FastifyRequest, sessionId: string): AdmitCopy;
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
  /** Id of the session as the client spelled it; that of the request's session when absent. */
  readonly spelling?: string;
}

/** Whom a request is counted for, in addition to its App key and address. */
interface CountedFor {
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
/** Part of an App's bytes that copies may use up, so that messages still arrive. */
const COPIES = 0.5;
const READS: ReadonlySet<string> = new Set(["GET", "HEAD"]);

interface AdmissionParts {
  readonly config: HttpConfig;
  readonly services: Pick<Services, "readiness" | "apps" | "keys" | "conversations">;
  readonly budgets: Budgets;
  /** `null` for a single process. */
  readonly counters: RateCounters | null;
}

export function createAdmission(parts: AdmissionParts): Admission {
  const { config, services } = parts;
  const { readiness } = services;
  if (!isPublic(config)) {
    const stop = (): void => refuseWhenStopping(readiness);
    return {
      count: () => null,
      charge: () => null,
      chat: stop,
      secrets: stop,
      upload: stop,
      written: () => undefined,
      copy: () => null,
      newSession: (request, named) => ({ spelling: newSpelling(request, named), admit: null }),
      change: () => null,
      stream: () => Promise.resolve(null),
    };
  }
  const spendFor = callerCounter(parts);
  return {
    count: (route, access) => (isLimited(route.url, access) ? counter(parts, route, access) : null),
    charge: (route, access) =>
      isLimited(route.url, access) && isChange(route, access) ? charger(parts, access) : null,
    chat(request, caller, isRepeat, sent) {
      refuseWhenStopping(readiness);
      const count = (): Counted => spendFor("chats", "key-chats", request, caller, chatBytes(sent));
      if (isRepeat === null) return count();
      return countUnlessRepeat(count, () => spendFor("repeats", "key-chats", request, caller, 0), isRepeat);
    },
    secrets(request, caller, body) {
      refuseWhenStopping(readiness);
      return spendFor("secrets", "key-secrets", request, caller, body === null ? 0 : changeBytes(body));
    },
    upload(request, caller, bytes) {
      refuseWhenStopping(readiness);
      return spendInOrder(
        parts,
        [],
        chargeOf(parts, request, caller, changeBytes() + bytes),
        spentOf(request),
      );
    },
    written: (request, caller, body, bytes = changeBytes(body)) =>
      spendInOrder(parts, [], chargeOf(parts, request, caller, bytes), spentOf(request)),
    copy: (request, sessionId) => (app, bytes) => {
      const { caller, app: ofApp } = chargeOf(parts, request, { app, clientId: null, sessionId }, bytes);
      const charge = { caller, app: { ...ofApp, limit: ofApp.limit * COPIES } };
      return spendInOrder(parts, [], charge, spentOf(request));
    },
    newSession(request, named = {}) {
      const { clientId = null } = named;
      const spelling = newSpelling(request, named);
      const spent = spentOf(request);
      const caller = { app: DEFAULT_APP, clientId, sessionId: null };
      // Messages and changes are charged for the session that they create.
      const charge = READS.has(request.method) ? chargeOf(parts, request, caller, NEW_SESSION_BYTES) : null;
      const ofAddress = countLater(parts, [["new-sessions", addressKeyOf(request)]], charge, spent);
      const { key } = request.caller;
      const admit = key === null ? ofAddress : countForKey(parts, key, clientId, spent, ofAddress);
      return { spelling, admit };
    },
    change(request, sessionId) {
      const caller = { app: request.caller.app, clientId: null, sessionId };
      const charge = chargeOf(parts, request, caller, changeBytes());
      return countLater(parts, changeOf(addressKeyOf(request), sessionId), charge, spentOf(request));
    },
    stream: streamLimits(parts),
  };
}

/** A budget, a key to count, and the limit if it differs from the budget's. */
type Entry = readonly [budget: CountBudget, key: string, limit?: number];

/** Bytes to count for a key. */
interface BytesEntry {
  readonly budget: BytesBudget;
  readonly key: string;
  readonly limit: number;
  readonly bytes: number;
}

/** The bytes of a request. The App is charged only if the caller has room, so that a refused request takes nothing from others. */
interface Charge {
  readonly caller: BytesEntry;
  readonly app: BytesEntry;
}

/** Requests of operators have their own limit, which counts wrong keys. Pages, probes and metrics have none. */
function isLimited(url: string, access: RouteAccess): boolean {
  return access !== "operator" && (access !== "public" || url.startsWith("/api/"));
}

/** Returns true for a route that may change what is stored, also by reading it. */
function stores({ method }: RouteOptions, access: RouteAccess): boolean {
  return appAccess(access).stores === true || !READS.has([method].flat().join());
}

function isChange(route: RouteOptions, access: RouteAccess): boolean {
  return stores(route, access) && appAccess(access).counted !== "caller";
}

function counter(parts: AdmissionParts, route: RouteOptions, access: RouteAccess) {
  const { budgets } = parts;
  const changes = isChange(route, access);
  const isCountedLater = stores(route, access) && !changes;
  return (request: FastifyRequest): Counted => {
    const spent = spentOf(request);
    const address = addressKeyOf(request);
    const session = sessionIn(appAccess(access), request);
    // Use local budgets, so that polls are counted without a promise.
    void budgets.spend("reads", address, spent);
    if (session !== null) void budgets.spend("session-reads", session, spent);
    if (changes) return spendAll(budgets, changeOf(address, session), spent);
    if (isCountedLater) return countBody(parts, request);
  };
}

function charger(parts: AdmissionParts, access: RouteAccess) {
  return (request: FastifyRequest): Counted => {
    const { caller } = request;
    const sessionId = sessionIn(appAccess(access), request);
    const charge = (app: string): Counted => {
      const charged = chargeOf(parts, request, { app, clientId: null, sessionId }, changeBytes(request.body));
      const allowRefund = (): void => {
        request.refund = () => {
          for (const { budget, key, bytes } of [charged.caller, charged.app])
            parts.budgets.giveBack(budget, key, bytes);
        };
      };
      const counted = spendInOrder(parts, [], charged, spentOf(request));
      if (counted !== undefined) return counted.then(allowRefund);
      allowRefund();
    };
    // An anonymous request's session is read in its command's transaction.
    if (caller.deferredSession === null || sessionId === null) return charge(caller.app);
    const app = parts.services.conversations.appOf(sessionId);
    return typeof app === "string" ? charge(app) : app.then((found) => charge(found.app));
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
  const { key } = request.caller;
  if (key === null) return count();
  return keys.check(key).then((grant) => (grant === null ? count() : undefined));
}

function changeOf(address: string, session: string | null): readonly Entry[] {
  const ofAddress = ["writes", address] as const;
  return session === null ? [ofAddress] : [ofAddress, ["session-writes", session]];
}

/** Counts all entries concurrently. */
function spendAll(
  budgets: Budgets,
  entries: readonly Entry[],
  spent: Spent[],
  written: BytesEntry | null = null,
): Counted {
  const waiting: Promise<void>[] = [];
  const spend = (count: () => Counted): void => {
    try {
      const counted = count();
      if (counted !== undefined) waiting.push(counted);
    } catch (refusal) {
      // If one count throws, the pending promises of the others must not reject unhandled.
      if (waiting.length === 0) throw refusal;
      waiting.push(Promise.reject(refusal));
    }
  };
  for (const [budget, key, limit] of entries) spend(() => budgets.spend(budget, key, spent, limit));
  if (written !== null) {
    const { budget, key, bytes, limit } = written;
    spend(() => budgets.spendBytes(budget, key, spent, bytes, limit));
  }
  if (waiting.length > 0) return Promise.all(waiting).then(() => undefined);
}

/** Counts the entries and the caller's bytes concurrently, then those of the App. */
function spendInOrder(
  { budgets }: Pick<AdmissionParts, "budgets">,
  entries: readonly Entry[],
  charge: Charge | null,
  spent: Spent[],
): Counted {
  if (charge === null) return spendAll(budgets, entries, spent);
  const { caller, app } = charge;
  const ofCaller = spendAll(budgets, entries, spent, caller);
  // Not shown in header fields, because it tells what others do.
  const ofApp = (): Counted => budgets.spendBytes(app.budget, app.key, [], app.bytes, app.limit);
  const giveBack = (refusal: unknown): never => {
    budgets.giveBack(caller.budget, caller.key, caller.bytes);
    throw refusal;
  };
  if (ofCaller !== undefined) return ofCaller.then(() => ofApp()?.catch(giveBack));
  try {
    return ofApp()?.catch(giveBack);
  } catch (refusal) {
    return giveBack(refusal);
  }
}

/** A separate function, so that a closure that outlives the request does not keep the request in memory. */
function countLater(
  { budgets }: AdmissionParts,
  entries: readonly Entry[],
  charge: Charge | null,
  spent: Spent[],
): () => Counted {
  return () => spendInOrder({ budgets }, entries, charge, spent);
}

function spentOf(request: FastifyRequest): Spent[] {
  request.spent ??= [];
  return request.spent;
}

/**
 * Returns the keys under which a request is counted: `one` for its caller, which is its address, or its App key with the client or
 * session, because an App key may serve many people; `key` for the whole App key, whose holder chooses the client ids.
 */
function keysOf(
  request: FastifyRequest,
  { app, clientId, sessionId }: CountedFor,
): { readonly one: string; readonly key: string | null } {
  const grant = app === DEFAULT_APP ? null : request.caller.grant;
  if (grant === null) return { one: addressKeyOf(request), key: null };
  const key = `key ${grant.keyId} ${app}`;
  return { one: `${key} ${clientId === null ? `session ${sessionId}` : `client ${clientId}`}`, key };
}

/** Counts a request for its caller, and for the App key if it has one, and charges its bytes. */
function callerCounter(parts: AdmissionParts) {
  const { services, budgets } = parts;
  return (
    own: CountBudget,
    ofKey: CountBudget,
    request: FastifyRequest,
    caller: CountedFor,
    bytes: number,
  ): Counted => {
    const limits = services.apps.get(caller.app)?.rateLimits ?? {};
    const { chatsPerMinute = budgets.limitOf(own), keyChatsPerMinute = budgets.limitOf(ofKey) } = limits;
    const { one, key } = keysOf(request, caller);
    const entries: Entry[] = [[own, one, chatsPerMinute]];
    if (key !== null) entries.push([ofKey, key, keyChatsPerMinute]);
    const spent = spentOf(request);
    if (bytes === 0) return spendAll(budgets, entries, spent);
    return spendInOrder(parts, entries, chargeOf(parts, request, caller, bytes), spent);
  };
}

/** Returns the bytes to count for a request's caller and its App. */
function chargeOf(
  { services, budgets }: AdmissionParts,
  request: FastifyRequest,
  caller: CountedFor,
  bytes: number,
): Charge {
  const {
    writtenBytesPerMinute = budgets.limitOf("written-bytes"),
    appWrittenBytesPerMinute = budgets.limitOf("app-written-bytes"),
  } = services.apps.get(caller.app)?.rateLimits ?? {};
  const { one } = keysOf(request, caller);
  return {
    caller: { budget: "written-bytes", key: one, limit: writtenBytesPerMinute, bytes },
    app: { budget: "app-written-bytes", key: caller.app, limit: appWrittenBytesPerMinute, bytes },
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
    const grant = request.caller.grant;
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

/** Returns the id of a new session as the client spelled it. Throws an Error if the route declares that it creates none. */
function newSpelling({ caller }: FastifyRequest, { spelling }: NewSession = {}): string {
  if (!caller.creates) throw new Error("The route may not create sessions: it does not declare `creates`");
  return spelling ?? (caller.namedSession === null ? "" : caller.spelling);
}

function refuseWhenStopping(readiness: Services["readiness"]): void {
  if (!readiness.refusesWork) return;
  throw new Unavailable(
    503,
    "stopping",
    "This server is stopping. Send the request again after the seconds in Retry-After.",
    STOPPING_RETRY_SECONDS,
  );
}
