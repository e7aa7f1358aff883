import type { Clock } from "../core/ports/driven/clock.ts";
import type { Readiness } from "../core/ports/driving/services.ts";
import type { Store } from "../core/ports/driven/store.ts";

/** Milliseconds for which a probe is cached: a probe commits, and anyone may request it. */
const PROBED_MS = 1_000;

export interface ReadinessOptions {
  readonly store: Pick<Store, "probe">;
  /** True if no other process uses the store. */
  readonly isAlone: boolean;
  readonly clock: Pick<Clock, "monotonic">;
}

/** Ready while the store accepts writes and the service was not told to stop. */
export function createReadiness(options: ReadinessOptions): Readiness & { stop(): void } {
  const probe = cachedProbe(options);
  let stopping = false;
  return {
    get stopping() {
      return stopping;
    },
    get refusesWork() {
      return stopping && options.isAlone;
    },
    stop() {
      stopping = true;
    },
    problems() {
      return stopping ? Promise.resolve(["The service is stopping."]) : probe();
    },
  };
}

/** Concurrent callers share one probe; later ones get its result for `PROBED_MS`. */
function cachedProbe({ store, clock }: ReadinessOptions): () => Promise<readonly string[]> {
  let last: Promise<readonly string[]> | null = null;
  let goodUntil = 0;
  const probe = async (): Promise<readonly string[]> => {
    // Shared for as long as it takes: a hanging store must not receive another probe each second.
    goodUntil = Infinity;
    try {
      await store.probe();
      return [];
    } catch {
      return ["The store takes no writes. Look at the disk and at the log."];
    } finally {
      goodUntil = clock.monotonic() + PROBED_MS;
    }
  };
  return () => {
    if (last === null || clock.monotonic() >= goodUntil) last = probe();
    return last;
  };
}
