import type { Clock } from "../core/ports/driven/clock.ts";
import type { Readiness } from "../core/ports/driving/services.ts";
import type { Store } from "../core/ports/driven/store.ts";

/** Milliseconds that the outcome of a probe is good for: a probe commits, and anybody may ask. */
const PROBED_MS = 1_000;

export interface ReadinessOptions {
  readonly store: Pick<Store, "probe">;
  /** Whether no other process serves the same store. */
  readonly isAlone: boolean;
  readonly clock: Pick<Clock, "monotonic">;
}

/** Ready while the store takes writes and nobody has told the service to stop. */
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

/** Concurrent callers share one probe; later ones get its outcome until that is `PROBED_MS` old. */
function cachedProbe({ store, clock }: ReadinessOptions): () => Promise<readonly string[]> {
  let last: Promise<readonly string[]> | null = null;
  let goodUntil = 0;
  const probe = async (): Promise<readonly string[]> => {
    // While it is under way it is shared however long it takes: a store that hangs is not asked once more each second.
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
