// Browsers open six connections to a host over HTTP/1.1, for all tabs together, and a stream of events holds one for good. All tabs of this
// origin share four places for streams, so that two connections are left: whoever gets none asks for news every few seconds, as where streams
// do not get through, and tries again.

import { isEventStream, untilItsEnd } from "./event-stream-request.ts";

const PLACES = 4;
/** Protocols that carry any number of requests over one connection. */
const SHARED_CONNECTION = /^h[23]/;
/** The page's own code: the service refuses with another, for what one conversation or one caller has open, in whatever browser. */
export const NO_STREAM_PLACE = "no_stream_place";
const NO_PLACE = {
  title: "Too many requests",
  status: 429,
  code: NO_STREAM_PLACE,
  detail: "Other tabs have all live connections that this browser may open.",
};

export interface StreamPlaces {
  /** Answers what gives the place back; `null` where all are taken. */
  readonly take: () => Promise<(() => void) | null>;
}

/** What there is of the page; browsers have locks in secure contexts alone. */
export interface LockingPage {
  readonly navigator: { readonly locks?: Pick<LockManager, "request"> };
  readonly performance: { getEntriesByType(type: "navigation"): readonly object[] };
}

/**
 * Places that hold among all tabs, and go with a tab that is closed or crashes. No end of them where the page's connection needs none, and
 * where tabs cannot agree: browsers that keep no data for a site have locks, but refuse each.
 */
export function streamPlaces({ navigator, performance }: LockingPage): StreamPlaces {
  const { locks } = navigator;
  const [loaded] = performance.getEntriesByType(
    "navigation",
  ) as readonly Partial<PerformanceNavigationTiming>[];
  if (locks === undefined || SHARED_CONNECTION.test(loaded?.nextHopProtocol ?? ""))
    return { take: () => Promise.resolve(() => undefined) };
  return {
    take: async () => {
      for (let place = 1; place <= PLACES; place += 1) {
        const leave = await lockIfFree(locks, `colloquy.stream.${place}`).catch(() => () => undefined);
        if (leave !== null) return leave;
      }
      return null;
    },
  };
}

/** Answers what opens the lock again; `null` where somebody else has it. */
function lockIfFree(locks: Pick<LockManager, "request">, name: string): Promise<(() => void) | null> {
  return new Promise((resolve, reject) => {
    const use = async (lock: Lock | null): Promise<void> => {
      const { promise, resolve: leave } = Promise.withResolvers<void>();
      resolve(lock === null ? null : leave);
      if (lock !== null) await promise;
    };
    locks.request(name, { ifAvailable: true }, use).catch(reject);
  });
}

/** `fetch`, but that streams of events need a place. Without one the answer is a refusal, as the service would give it. */
export function withStreamPlaces(
  fetch: typeof globalThis.fetch,
  places: StreamPlaces,
): typeof globalThis.fetch {
  return async (input, init) => {
    if (!isEventStream(input)) return await fetch(input, init);
    const leave = await places.take();
    if (leave === null) {
      const headers = { "Content-Type": "application/problem+json" };
      return new Response(JSON.stringify(NO_PLACE), { status: 429, headers });
    }
    const response = await fetch(input, init).catch((error: unknown) => {
      leave();
      throw error;
    });
    return untilItsEnd(response, leave);
  };
}
