import type { FastifyRequest } from "fastify";
import { Unavailable } from "../core/errors.ts";
import type { KeyGrant } from "../core/ports/app-keys.ts";
import type { AdmitNewSession, Readiness } from "../core/ports/services.ts";
import type { HttpConfig } from "./http-config.ts";
import { addressKey, CONTRACT_RATE_LIMITS, PlaceLimiter, WindowLimiter } from "./rate-limits.ts";
import type { Stopwatch } from "./request-log.ts";

/** Seconds after which a client that found this process stopping may try again: by then another one has its place. */
const STOPPING_RETRY_SECONDS = 5;

/** Whether there is room for what a request would begin. */
export interface Admission {
  /**
   * Counts a chat: for the key that let it through, `null` for the address.
   * @throws ServiceError 429 when that had its chats of this minute, 503 while the service stops
   */
  chat(request: FastifyRequest, grant: KeyGrant | null): void;
  /** As `chat`, with a count of its own. */
  secrets(request: FastifyRequest, grant: KeyGrant | null): void;
  /** What services ask before they create a session for this request; `null` when nothing limits it. */
  newSession(request: FastifyRequest): AdmitNewSession;
  /**
   * Takes a place for an event stream. Answers what gives it back, `null` when nothing limits streams.
   * @throws ServiceError 429 when the address has its number of streams open, 503 while the service stops
   */
  stream(request: FastifyRequest): (() => void) | null;
}

export function createAdmission(config: HttpConfig, readiness: Readiness, clock: Stopwatch): Admission {
  const limits = config.rateLimits ?? (config.loopback ? null : CONTRACT_RATE_LIMITS);
  if (limits === null) {
    const unlessStopping = (): null => refuseWhenStopping(readiness);
    return { chat: unlessStopping, secrets: unlessStopping, newSession: () => null, stream: unlessStopping };
  }
  const now = (): number => clock.monotonic();
  const chats = new WindowLimiter(limits.chatsPerMinute, now);
  const secrets = new WindowLimiter(limits.chatsPerMinute, now);
  const sessions = new WindowLimiter(limits.newSessionsPerMinute, now);
  const streams = new PlaceLimiter(limits.streamsPerAddress);
  return {
    chat(request, grant) {
      refuseWhenStopping(readiness);
      chats.take(keyOf(request, grant), "messages");
    },
    secrets(request, grant) {
      refuseWhenStopping(readiness);
      secrets.take(keyOf(request, grant), "requests about secrets");
    },
    newSession: (request) => countNewSession(sessions, addressKey(request.ip)),
    stream(request) {
      refuseWhenStopping(readiness);
      return takePlace(streams, addressKey(request.ip));
    },
  };
}

function keyOf(request: FastifyRequest, grant: KeyGrant | null): string {
  return grant === null ? addressKey(request.ip) : `key ${grant.keyId}`;
}

// Functions of their own, so that what outlives the request keeps the address alone.

function countNewSession(sessions: WindowLimiter, address: string): AdmitNewSession {
  return () => sessions.take(address, "new sessions");
}

function takePlace(streams: PlaceLimiter, address: string): () => void {
  streams.take(address, "event streams of one address");
  return () => streams.give(address);
}

function refuseWhenStopping(readiness: Readiness): null {
  if (!readiness.stopping) return null;
  throw new Unavailable(
    503,
    "stopping",
    "This server is being stopped. Send the request again after the seconds that Retry-After names.",
    STOPPING_RETRY_SECONDS,
  );
}
