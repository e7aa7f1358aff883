import type { FastifyRequest } from "fastify";
import { ServiceError, Unavailable } from "../core/errors.ts";
import { isPublic } from "../core/loopback.ts";
import type { KeyGrant } from "../core/ports/app-keys.ts";
import type { RateCounters } from "../core/ports/rate-counters.ts";
import type { AdmitNewSession, Readiness } from "../core/ports/services.ts";
import type { HttpConfig } from "./http-config.ts";
import {
  addressKey,
  CONTRACT_RATE_LIMITS,
  PlaceLimiter,
  STREAMS_PER_SESSION,
  tooManyStreams,
  WindowLimiter,
  type RateLimits,
} from "./rate-limits.ts";
import type { Stopwatch } from "./request-log.ts";
import { SharedPlaces, SharedWindows } from "./shared-rate-limits.ts";

/** Seconds after which a client that found this process stopping may try again: by then another one has its place. */
const STOPPING_RETRY_SECONDS = 5;

/** Whether there is room for what a request would begin. */
export interface Admission {
  /**
   * Counts a chat: for the key that let it through, `null` for the address. Where that had its chats of this minute, one that adds nothing is
   * let through all the same: `isRepeat` is asked, as often in a minute as chats are let through, and is `null` for a chat that cannot be one.
   * @throws ServiceError 429 when that had its chats of this minute, 503 while the service stops and no other node is there
   */
  chat(request: FastifyRequest, grant: KeyGrant | null, isRepeat: IsRepeat | null): Counted;
  /** As `chat`, with a count of its own. */
  secrets(request: FastifyRequest, grant: KeyGrant | null): Counted;
  /** What services ask before they create a session for this request; `null` when nothing limits it. */
  newSession(request: FastifyRequest): AdmitNewSession;
  /**
   * Takes a place for an event stream of the session. Answers what gives it back, `null` when nothing limits streams.
   * @throws ServiceError 429 when the address or the session has its number of streams open
   */
  stream(request: FastifyRequest, sessionId: string): GiveBack | null | Promise<GiveBack>;
}

/** A promise only where several processes count together: one that is alone answers, or throws, at once. */
export type Counted = void | Promise<void>;
/** Whether a chat would only be answered as one before it was. */
export type IsRepeat = () => Promise<boolean>;
type GiveBack = () => void;

interface Windows {
  take(key: string, what: string): Counted;
}

const STREAMS_OF_ADDRESS = "event streams of one address";

/** `counters` where several processes count together, `null` where this one is alone. */
export function createAdmission(
  config: HttpConfig,
  readiness: Readiness,
  clock: Stopwatch,
  counters: RateCounters | null,
): Admission {
  const limits = config.rateLimits ?? (isPublic(config) ? CONTRACT_RATE_LIMITS : null);
  if (limits === null) {
    const stop = (): void => refuseWhenStopping(readiness);
    return { chat: stop, secrets: stop, newSession: () => null, stream: () => null };
  }
  const now = (): number => clock.monotonic();
  const windows = (name: string, limit: number): Windows =>
    counters === null ? new WindowLimiter(limit, now) : new SharedWindows(counters, name, limit, now);
  const chats = windows("chats", limits.chatsPerMinute);
  const repeats = windows("repeats", limits.chatsPerMinute);
  const secrets = windows("secrets", limits.chatsPerMinute);
  const sessions = windows("sessions", limits.newSessionsPerMinute);
  const streams = streamsOf(counters, limits);
  return {
    chat(request, grant, isRepeat) {
      refuseWhenStopping(readiness);
      const key = keyOf(request, grant);
      return isRepeat === null
        ? chats.take(key, "messages")
        : countUnlessRepeat(
            () => chats.take(key, "messages"),
            () => repeats.take(key, "repeated messages"),
            isRepeat,
          );
    },
    secrets(request, grant) {
      refuseWhenStopping(readiness);
      return secrets.take(keyOf(request, grant), "requests about secrets");
    },
    newSession: (request) => countNewSession(sessions, addressKey(request.ip)),
    stream: (request, sessionId) => streams(addressKey(request.ip), sessionId),
  };
}

/** Repeats have a number of their own, so that keys that are guessed are no way to ask the store without an end. */
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

/** Answers how a place for a stream is taken. */
function streamsOf(
  counters: RateCounters | null,
  { streamsPerAddress: limit }: RateLimits,
): (address: string, sessionId: string) => GiveBack | Promise<GiveBack> {
  if (counters === null) {
    const places = new PlaceLimiter(limit);
    return (address) => {
      places.take(address, STREAMS_OF_ADDRESS);
      return () => places.give(address);
    };
  }
  const ofAddress = new SharedPlaces(counters, "streams", limit);
  const ofSession = new SharedPlaces(counters, "streams of", STREAMS_PER_SESSION, tooManyStreams);
  return async (address, sessionId) => {
    await ofAddress.take(address, STREAMS_OF_ADDRESS);
    try {
      await ofSession.take(sessionId, "event streams of one session");
    } catch (error) {
      ofAddress.give(address);
      throw error;
    }
    return () => {
      ofAddress.give(address);
      ofSession.give(sessionId);
    };
  };
}

function keyOf(request: FastifyRequest, grant: KeyGrant | null): string {
  return grant === null ? addressKey(request.ip) : `key ${grant.keyId}`;
}

/** A function of its own, so that what outlives the request keeps the address alone. */
function countNewSession(sessions: Windows, address: string): AdmitNewSession {
  return () => sessions.take(address, "new sessions");
}

function refuseWhenStopping(readiness: Readiness): void {
  if (!readiness.refusesWork) return;
  throw new Unavailable(
    503,
    "stopping",
    "This server is being stopped. Send the request again after the seconds that Retry-After names.",
    STOPPING_RETRY_SECONDS,
  );
}
