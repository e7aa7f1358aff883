// Limits concurrent event streams. Over HTTP/1.1, a browser opens at most six connections per host across all tabs, and
// each event stream occupies one. The sessions and tabs of an origin therefore share four stream slots, which leaves two
// connections for requests. A session without a slot polls until one is free.

import { linkedAbort, reasonOf } from "./linked-abort.ts";
import { pause, REAL_TIMING, type Timing } from "./timing.ts";
import { ColloquyError } from "./colloquy-error.ts";

const SLOTS = 4;
/** Matches the user agent of every browser, but not of jsdom and Happy DOM. */
const BROWSER = /^Mozilla\/(?!.*(?:jsdom|HappyDOM))/;
/** Protocols that multiplex requests over one connection. */
const MULTIPLEXED = /^h[23]/;
/** Milliseconds to wait for replies of other tabs where Web Locks are unavailable, such as in insecure contexts. */
const REPLY_MS = 300;
/** Milliseconds between attempts to take a slot. A crashed tab cannot announce that it freed its slot. */
const RETRY_MS = 5_000;

export type FreeSlot = () => void;

export interface StreamSlots {
  /**
   * Takes a slot and returns a function that frees it; `null` if all slots are taken. Synchronous if slots
   * are unlimited.
   */
  take(): Promise<FreeSlot | null> | FreeSlot;
  /** Waits for a slot and takes it. Rejects with the signal's reason if the signal aborts. */
  next(signal: AbortSignal): Promise<FreeSlot>;
  /** Resolves to true if another tab is waiting for a slot. */
  isWanted(): Promise<boolean>;
}

export function noStreamSlot(): ColloquyError {
  return new ColloquyError("Other sessions or tabs use all event streams that the browser allows.", {
    code: "no_stream_slot",
  });
}

interface LockOptions {
  readonly ifAvailable?: boolean;
  readonly signal?: AbortSignal;
}

/** The Web Locks API. */
interface Locks {
  request(name: string, options: LockOptions, use: (lock: object | null) => Promise<void>): Promise<unknown>;
  query(): Promise<{ readonly pending?: readonly { readonly name?: string }[] }>;
}

/** The globals used here, in a page, a worker or a React Native app. */
export interface SlotPage {
  readonly location?: { readonly origin: string } | undefined;
  readonly navigator?:
    | { readonly locks?: Locks | undefined; readonly product?: string; readonly userAgent?: string }
    | undefined;
  readonly performance?: { getEntriesByType?(type: string): readonly object[] } | undefined;
  readonly BroadcastChannel?: typeof BroadcastChannel | undefined;
}

/** Returns the stream slots for the service at `baseUrl`, shared with other clients and tabs of this origin. */
export function streamSlots(baseUrl: string, timing: Timing, page = globalThis as SlotPage): StreamSlots {
  const { location, navigator } = page;
  if (!isLimited(page)) return UNLIMITED;
  const origin = /^https?:\/\/[^/]+/i.exec(baseUrl)?.[0].toLowerCase() ?? location?.origin ?? "";
  const name = `colloquy.stream ${origin}`;
  let slots: StreamSlots | null = navigator?.locks ? lockedSlots(navigator.locks, name) : null;
  const announced = announcedSlots(page.BroadcastChannel, name, timing);
  /**
   * Falls back to BroadcastChannel if the browser rejects Web Locks, for example because site data is
   * blocked.
   */
  const withFallback = async <Result>(
    use: (slots: StreamSlots) => Promise<Result> | Result,
    signal?: AbortSignal,
  ): Promise<Result> => {
    try {
      return await use(slots ?? announced);
    } catch (error) {
      if (slots === null || signal?.aborted === true) throw error;
      slots = null;
      return await use(announced);
    }
  };
  return {
    take: () => (isMultiplexed(page, origin) ? UNLIMITED.take() : withFallback((slots) => slots.take())),
    next: (signal) => withFallback((slots) => slots.next(signal), signal),
    isWanted: () => withFallback((slots) => slots.isWanted()),
  };
}

/**
 * Reserves a slot for an event stream that the page opens itself, for example with `fetch`. Returns a function to call
 * when the stream ends; `null` if all slots are taken. `baseUrl` is the URL of the service.
 */
export async function takeStreamSlot(baseUrl = ""): Promise<FreeSlot | null> {
  return await streamSlots(baseUrl, REAL_TIMING).take();
}

const UNLIMITED: StreamSlots = {
  take: () => () => undefined,
  next: () => Promise.resolve(() => undefined),
  isWanted: () => Promise.resolve(false),
};

/** Returns true in browsers and React Native, which limit connections per host. Servers and jsdom do not. */
function isLimited({ navigator }: SlotPage): boolean {
  return BROWSER.test(navigator?.userAgent ?? "") || navigator?.product === "ReactNative";
}

function entriesOf({ performance }: SlotPage, type: string): readonly RequestEntry[] {
  return (performance?.getEntriesByType?.(type) ?? []) as readonly RequestEntry[];
}

interface RequestEntry {
  readonly name: string;
  readonly nextHopProtocol?: string;
}

/**
 * Returns true if the page has reached the origin over HTTP/2 or HTTP/3. Browsers report the protocol of
 * another origin only if it sends `Timing-Allow-Origin`.
 */
function isMultiplexed(page: SlotPage, origin: string): boolean {
  return [...entriesOf(page, "navigation"), ...entriesOf(page, "resource")].some(
    ({ name, nextHopProtocol = "" }) => MULTIPLEXED.test(nextHopProtocol) && name.startsWith(`${origin}/`),
  );
}

/** Implements slots as Web Locks, which the browser releases when a tab closes or crashes. */
function lockedSlots(locks: Locks, prefix: string): StreamSlots {
  const names = Array.from({ length: SLOTS }, (_, slot) => `${prefix} ${slot}`);
  return {
    take: async () => {
      for (const name of names) {
        const free = await hold(locks, name, { ifAvailable: true });
        if (free !== null) return free;
      }
      return null;
    },
    next: (signal) =>
      new Promise((resolve, reject) => {
        const others = linkedAbort(signal);
        let isOver = false;
        const end = (settle: () => void): void => {
          isOver = true;
          others.abort(new ColloquyError("A slot is free.", { code: "stopped" }));
          others.release();
          settle();
        };
        for (const name of names) {
          hold(locks, name, { signal: others.signal }).then(
            (free) => {
              if (free === null) return;
              if (isOver) free();
              else end(() => resolve(free));
            },
            (error: Error) => {
              if (!isOver) end(() => reject(signal.aborted ? (reasonOf(signal) as Error) : error));
            },
          );
        }
      }),
    isWanted: async () => {
      const { pending = [] } = await locks.query();
      return pending.some(({ name = "" }) => names.includes(name));
    },
  };
}

/** Requests the lock. Returns a function that releases it, or `null` if it is not available. */
function hold(locks: Locks, name: string, options: LockOptions): Promise<FreeSlot | null> {
  return new Promise((resolve, reject) => {
    const use = (lock: object | null): Promise<void> =>
      new Promise((release) => {
        resolve(lock === null ? null : release);
        if (lock === null) release();
      });
    locks.request(name, options, use).catch(reject);
  });
}

/**
 * Messages between tabs: a request for a slot with its ticket; the reply with the number of held slots and the sender's
 * own ticket; and notices that a tab waits for a slot, or has freed one.
 */
type Announcement =
  | { readonly asks: number }
  | { readonly to: number; readonly holds: number; readonly asking: number | null }
  | { readonly is: "waiting" | "freed" };

/**
 * Implements slots without Web Locks: a tab asks the others for their counts. Without BroadcastChannel, it
 * counts only its own slots.
 */
function announcedSlots(
  Channel: typeof BroadcastChannel | undefined,
  name: string,
  timing: Timing,
): StreamSlots {
  let held = 0;
  /** Ticket of the current request: its time plus a random fraction that makes it unique. */
  let ticket: number | null = null;
  let heldElsewhere = 0;
  /** Tickets of concurrent, earlier requests, each of which may get a slot. */
  const earlier = new Set<number>();
  let isWanted = false;
  let users = 0;
  let channel: BroadcastChannel | null = null;
  const waiting = new Set<() => void>();
  const broadcast = (announcement: Announcement): void => channel?.postMessage(announcement);
  const wakeAll = (): void => {
    for (const wake of waiting) wake();
  };
  const contend = (other: number | null): void => {
    if (ticket !== null && other !== null && other < ticket) earlier.add(other);
  };
  const receive = (event: Event): void => {
    const { data } = event as Event & { readonly data: Announcement };
    if ("is" in data) {
      if (data.is === "freed") wakeAll();
      else isWanted = true;
    } else if ("asks" in data) {
      contend(data.asks);
      broadcast({ to: data.asks, holds: held, asking: ticket });
    } else if (data.to === ticket) {
      heldElsewhere += data.holds;
      contend(data.asking);
    }
  };
  /** Keeps the channel open while this tab holds or requests a slot. */
  const enter = (): void => {
    users += 1;
    if (channel !== null || Channel === undefined) return;
    channel = new Channel(name);
    channel.addEventListener("message", receive);
  };
  const leave = (): void => {
    users -= 1;
    if (users > 0) return;
    channel?.close();
    channel = null;
  };
  const request = async (): Promise<FreeSlot | null> => {
    if (held >= SLOTS) return null;
    enter();
    ticket = Date.now() + timing.random();
    heldElsewhere = 0;
    earlier.clear();
    if (channel !== null) {
      broadcast({ asks: ticket });
      await pause(timing, REPLY_MS, undefined);
    }
    ticket = null;
    if (held + heldElsewhere + earlier.size >= SLOTS) {
      leave();
      return null;
    }
    held += 1;
    let isHeld = true;
    return () => {
      if (!isHeld) return;
      isHeld = false;
      held -= 1;
      broadcast({ is: "freed" });
      wakeAll();
      leave();
    };
  };
  let lastRequest: Promise<unknown> = Promise.resolve();
  const take = (): Promise<FreeSlot | null> => {
    const taken = lastRequest.then(request);
    lastRequest = taken.catch(() => undefined);
    return taken;
  };
  return {
    take,
    next: async (signal) => {
      enter();
      try {
        for (;;) {
          broadcast({ is: "waiting" });
          const resting = pause(timing, RETRY_MS, signal);
          const wake = (): void => resting.wake();
          waiting.add(wake);
          await resting.finally(() => waiting.delete(wake));
          await pause(timing, timing.random() * REPLY_MS, signal);
          const free = await take();
          if (free !== null) return free;
        }
      } finally {
        leave();
      }
    },
    isWanted: () => {
      const was = isWanted;
      isWanted = false;
      return Promise.resolve(was);
    },
  };
}
