import type { FastifyRequest, onRequestHookHandler } from "fastify";
import { ServiceError, tooManyStreams, Unavailable } from "../core/errors.ts";
import { isPublic } from "../core/loopback.ts";
import type { AppKeys } from "../core/ports/driving/key-service.ts";
import type { RateCounters } from "../core/ports/driven/rate-counters.ts";
import type { AdmitChange, AdmitNewSession, Readiness, Services } from "../core/ports/driving/services.ts";
import { DEFAULT_APP } from "../core/session.ts";
import { appKey, SESSION_HEADER } from "./request.ts";
import { addressKeyOf, trustedProxies } from "./client-address.ts";
import { sessionOfHeader, sessionOfPath } from "./app-access.ts";
import type { BudgetName, Budgets, Counted, Spent } from "./budgets.ts";
import type { HttpConfig } from "./http-config.ts";
import { ConcurrencyLimit, SharedConcurrencyLimit } from "./concurrency-limits.ts";

declare module "fastify" {
  interface FastifyRequest {
    /** Where the budgets stand that the request was counted in, for its answer; nothing where it is not limited or found no route. */
    spent?: Spent[] | null;
  }
}

/** `Retry-After` in seconds while this process stops: by then another one has replaced it. */
const STOPPING_RETRY_SECONDS = 5;

/** Whether there is room for what a request would begin. */
export interface Admission {
  /** The hook of a route that counts its requests before anything of them is read; `null` for a route that is not limited. */
  hook(method: string, url: string): onRequestHookHandler | null;
  /**
   * Counts a chat for its caller. Where that had its chats of this minute, one that adds nothing is let through all the same: `isRepeat` is
   * asked, as often in a minute as chats are let through, and is `null` for a chat that cannot be one.
   * @throws ServiceError 429 when that had its chats of this minute, 503 while the service stops and no other node is there
   */
  chat(request: FastifyRequest, caller: Caller, isRepeat: IsRepeat | null): Counted;
  /** As `chat`, with a count of its own. */
  secrets(request: FastifyRequest, caller: Caller): Counted;
  /**
   * How a session begins that this request creates, and what services ask before they do. `clientId` is the client that the request names,
   * where its operation takes one.
   */
  newSession(request: FastifyRequest, clientId?: string | null): AdmitNewSession;
  /** What services ask before they change a session for a request that changes one only now and then; `null` when nothing limits it. */
  change(request: FastifyRequest, sessionId: string): AdmitChange;
  /**
   * Takes a slot for an event stream of the session. Returns a function that releases it, `null` if streams are not limited.
   * @throws ServiceError 429 if the address or App key, or the session, has too many streams open
   */
  stream(request: FastifyRequest, sessionId: string): Release | null | Promise<Release>;
}

/** On whose behalf a request is made, beside its App key and address. */
export interface Caller {
  readonly app: string;
  readonly clientId: string | null;
  /** `null` where the request names none. */
  readonly sessionId: string | null;
}

/** Whether a chat would only be answered as one before it was. */
export type IsRepeat = () => Promise<boolean>;
type Release = () => void;

/**
 * How many times the number of an address all clients of one App key have together where a trusted proxy brings them: the holder of the key
 * chooses their names.
 */
const OF_KEY = 100;
const READS: ReadonlySet<string> = new Set(["GET", "HEAD"]);
/** What counts its changes itself, by caller. */
const OWN_BUDGETS: ReadonlySet<string> = new Set(["/api/chat", "/api/secrets"]);

export interface AdmissionParts {
  readonly config: HttpConfig;
  readonly services: Pick<Services, "readiness" | "apps" | "keys">;
  readonly budgets: Budgets;
  /** As in `BudgetOptions`. */
  readonly counters: RateCounters | null;
}

export function createAdmission(parts: AdmissionParts): Admission {
  const { config, services, budgets } = parts;
  const { readiness } = services;
  if (!isPublic(config)) {
    const stop = (): void => refuseWhenStopping(readiness);
    const nothing = (): null => null;
    return {
      hook: nothing,
      chat: stop,
      secrets: stop,
      newSession: (request) => ({ spelling: spellingOf(request), admit: null }),
      change: nothing,
      stream: nothing,
    };
  }
  const callers = callersOf(parts);
  const streams = streamsOf(parts);
  const admitSession = newSessionsOf(parts);
  return {
    hook: (method, url) => (isLimited(url) ? countingHook(budgets, method, url) : null),
    chat(request, caller, isRepeat) {
      refuseWhenStopping(readiness);
      const count = (): Counted => callers.spend("chats", "keyChats", request, caller);
      if (isRepeat === null) return count();
      const countRepeat = (): Counted => callers.spend("repeats", "keyChats", request, caller);
      return countUnlessRepeat(count, countRepeat, isRepeat);
    },
    secrets(request, caller) {
      refuseWhenStopping(readiness);
      return callers.spend("secrets", "keySecrets", request, caller);
    },
    newSession: (request, clientId = null) => ({
      spelling: spellingOf(request),
      admit: admitSession(request, clientId),
    }),
    change: (request, id) => countLater(budgets, changeOf(addressKeyOf(request), id), spentOf(request)),
    stream: streams,
  };
}

/** What is counted, for whom, and up to which number if not the budget's own. */
type Entry = readonly [budget: BudgetName, key: string, limit?: number];

/** Administration has a limit of its own, for wrong keys. */
function isLimited(url: string): boolean {
  return url.startsWith("/api/") && !url.startsWith("/api/admin/");
}

function countingHook(budgets: Budgets, method: string, url: string): onRequestHookHandler {
  const sessionOf = url.startsWith("/api/sessions/:id") ? sessionOfPath : sessionOfHeader;
  const isChange = !READS.has(method) && !OWN_BUDGETS.has(url);
  const count = (request: FastifyRequest): Counted => {
    const spent: Spent[] = [];
    request.spent = spent;
    const address = addressKeyOf(request);
    const session = sessionOf(request);
    // In memory and at once: the way of a poll, which may have no promise.
    void budgets.spend("reads", address, spent);
    if (session !== null) void budgets.spend("sessionReads", session, spent);
    if (isChange) return spendAll(budgets, changeOf(address, session), spent);
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

function changeOf(address: string, session: string | null): readonly Entry[] {
  return session === null
    ? [["writes", address]]
    : [
        ["writes", address],
        ["sessionWrites", session],
      ];
}

/** Counts all of them together, which is one question to whoever counts for all nodes. */
function spendAll(budgets: Budgets, entries: readonly Entry[], spent: Spent[]): Counted {
  const waiting: Promise<void>[] = [];
  for (const [budget, key, limit] of entries) {
    try {
      const counted = budgets.spend(budget, key, spent, limit);
      if (counted !== undefined) waiting.push(counted);
    } catch (refusal) {
      // The others must not be refused with nobody there to hear it.
      if (waiting.length === 0) throw refusal;
      waiting.push(Promise.reject(refusal));
    }
  }
  if (waiting.length > 0) return Promise.all(waiting).then(() => undefined);
}

/** A function of its own, so that what outlives the request keeps addresses and counts alone. */
function countLater(budgets: Budgets, entries: readonly Entry[], spent: Spent[]): () => Counted {
  return () => spendAll(budgets, entries, spent);
}

function spentOf(request: FastifyRequest): Spent[] {
  request.spent ??= [];
  return request.spent;
}

/**
 * Counts for the one that a request is made for. Without an App key that is its address. An App key counts as one caller where it comes from
 * elsewhere; where a trusted proxy brings it, many people may be behind it: then each of its clients or sessions counts, and all of the key
 * together in `ofKey`, because whoever has the key chooses their names.
 */
function callersOf({ config, services, budgets }: AdmissionParts) {
  const isProxy = trustedProxies(config.trustedProxies);
  return {
    spend(own: BudgetName, ofKey: BudgetName, request: FastifyRequest, caller: Caller): Counted {
      const { app, clientId, sessionId } = caller;
      const spent = spentOf(request);
      const limits = services.apps.get(app)?.rateLimits ?? {};
      const { chatsPerMinute = budgets.limitOf(own), keyChatsPerMinute = budgets.limitOf(ofKey) } = limits;
      const grant = app === DEFAULT_APP ? null : request.keyGrant;
      if (grant === null) return budgets.spend(own, addressKeyOf(request), spent, chatsPerMinute);
      const key = `key ${grant.keyId} ${app}`;
      if (!isProxy(request.socket.remoteAddress)) return budgets.spend(own, key, spent, chatsPerMinute);
      const one = clientId === null ? `session ${sessionId}` : `client ${clientId}`;
      const entries = [
        [own, `${key} ${one}`, chatsPerMinute],
        [ofKey, key, keyChatsPerMinute],
      ] as const;
      return spendAll(budgets, entries, spent);
    },
  };
}

/**
 * Counts new sessions: for the address, or for the App key that a trusted proxy brings. The key is checked when a session is created, because
 * operations on the default App's sessions check none; one that is not good counts for the address.
 */
function newSessionsOf({ config, services: { keys }, budgets }: AdmissionParts) {
  const isProxy = trustedProxies(config.trustedProxies);
  return (request: FastifyRequest, clientId: string | null): (() => Counted) => {
    const ofAddress = countLater(budgets, [["newSessions", addressKeyOf(request)]], spentOf(request));
    const key = isProxy(request.socket.remoteAddress) ? appKey(request.raw) : null;
    return key === null
      ? ofAddress
      : countForKey({ keys, budgets }, { key, clientId }, ofAddress, spentOf(request));
  };
}

function countForKey(
  { keys, budgets }: { readonly keys: AppKeys; readonly budgets: Budgets },
  { key, clientId }: { readonly key: string; readonly clientId: string | null },
  ofAddress: () => Counted,
  spent: Spent[],
): () => Promise<void> {
  return async () => {
    const grant = await keys.check(key);
    if (grant === null) return await ofAddress();
    const ofKey = ["keyNewSessions", grant.keyId, OF_KEY * budgets.limitOf("newSessions")] as const;
    const ofClient = ["newSessions", `key ${grant.keyId} client ${clientId}`] as const;
    await spendAll(budgets, clientId === null ? [ofKey] : [ofClient, ofKey], spent);
  };
}

/** A repeat costs a look into the store, for which it has a number of its own. */
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

/** Limits streams per session, and per App key if a trusted proxy sends it, else per address. */
function streamsOf({ config, counters }: AdmissionParts): Admission["stream"] {
  const { streamsPerAddress, streamsPerSession } = config.rateLimits;
  const isProxy = trustedProxies(config.trustedProxies);
  const holderOf = (request: FastifyRequest) => {
    const grant = isProxy(request.socket.remoteAddress) ? request.keyGrant : null;
    return grant === null
      ? (["address", addressKeyOf(request)] as const)
      : (["App key", grant.keyId] as const);
  };
  const streamsPerKey = OF_KEY * streamsPerAddress;
  if (counters === null) {
    // Those of a session are counted by the feed, which has them all.
    const limits = {
      address: new ConcurrencyLimit(streamsPerAddress),
      "App key": new ConcurrencyLimit(streamsPerKey),
    };
    return (request) => {
      const [kind, holder] = holderOf(request);
      limits[kind].acquire(holder, `event streams of one ${kind}`);
      return () => limits[kind].release(holder);
    };
  }
  const limits = {
    address: new SharedConcurrencyLimit(counters, "streams", streamsPerAddress),
    "App key": new SharedConcurrencyLimit(counters, "streams of key", streamsPerKey),
  };
  const ofSession = new SharedConcurrencyLimit(counters, "streams of", streamsPerSession, tooManyStreams);
  return async (request, sessionId) => {
    const [kind, holder] = holderOf(request);
    await limits[kind].acquire(holder, `event streams of one ${kind}`);
    try {
      await ofSession.acquire(sessionId, "event streams of one session");
    } catch (error) {
      limits[kind].release(holder);
      throw error;
    }
    return () => {
      limits[kind].release(holder);
      ofSession.release(sessionId);
    };
  };
}

/** The session id as the client sent it; that it is one was checked before. */
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
