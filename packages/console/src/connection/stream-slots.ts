// Over HTTP/1.1, browsers open six connections per host for all tabs together, and an event stream occupies
// one. All tabs of this origin share four slots for streams, so that two connections remain. A tab without a
// slot polls as if streams were blocked, and tries again later.

import { isEventStream, untilItsEnd } from "./event-stream-request.ts";

const SLOTS = 4;
/** Protocols that multiplex requests over one connection. */
const SHARED_CONNECTION = /^h[23]/;
/** Error code of this page, distinct from those of the service. */
export const NO_STREAM_SLOT = "no_stream_slot";
const NO_SLOT = {
  title: "Too many requests",
  status: 429,
  code: NO_STREAM_SLOT,
  detail: "Other tabs use all live connections that this browser may open.",
};

export interface StreamSlots {
  /** Returns a function that frees the slot; `null` if all are taken. */
  readonly take: () => Promise<(() => void) | null>;
}

/** The parts of the page used here; browsers have locks in secure contexts only. */
export interface LockingPage {
  readonly navigator: { readonly locks?: Pick<LockManager, "request"> };
  readonly performance: { getEntriesByType(type: "navigation"): readonly object[] };
}

/**
 * Slots shared by all tabs, freed when a tab closes or crashes. Unlimited if the page's connection
 * multiplexes, and if tabs cannot coordinate: browsers that keep no data for a site refuse every lock.
 */
export function streamSlots({ navigator, performance }: LockingPage): StreamSlots {
  const { locks } = navigator;
  const [loaded] = performance.getEntriesByType(
    "navigation",
  ) as readonly Partial<PerformanceNavigationTiming>[];
  if (locks === undefined || SHARED_CONNECTION.test(loaded?.nextHopProtocol ?? ""))
    return { take: () => Promise.resolve(() => undefined) };
  return {
    take: async () => {
      for (let place = 1; place <= SLOTS; place += 1) {
        const leave = await lockIfFree(locks, `colloquy.stream.${place}`).catch(() => () => undefined);
        if (leave !== null) return leave;
      }
      return null;
    },
  };
}

/** Returns a function that releases the lock; `null` if another tab holds it. */
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

/**
 * Returns `fetch` that requires a slot for event streams. Without one it answers with a refusal in the
 * service's shape.
 */
export function withStreamSlots(
  fetch: typeof globalThis.fetch,
  places: StreamSlots,
): typeof globalThis.fetch {
  return async (input, init) => {
    if (!isEventStream(input)) return await fetch(input, init);
    const leave = await places.take();
    if (leave === null) {
      const headers = { "Content-Type": "application/problem+json" };
      return new Response(JSON.stringify(NO_SLOT), { status: 429, headers });
    }
    const response = await fetch(input, init).catch((error: unknown) => {
      leave();
      throw error;
    });
    return untilItsEnd(response, leave);
  };
}
