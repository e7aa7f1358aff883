// Determines whether the process is ready for traffic (`/readyz`).

import type { Clock } from "@colloquy/engine/internal/core/ports/driven/clock";
import type { Logger } from "@colloquy/engine/internal/core/ports/driven/logger";
import type { Store } from "@colloquy/engine/internal/core/ports/driven/store";

/** Lifetime of a probe's result in milliseconds. A probe commits, and anonymous callers can trigger it. */
const PROBED_MS = 1_000;

export interface ReadinessOptions {
  readonly store: Pick<Store, "probe">;
  /** True if no other process uses the store. */
  readonly isAlone: boolean;
  readonly clock: Pick<Clock, "monotonic">;
  readonly logger: Pick<Logger, "error" | "info">;
}

export type Readiness = Omit<ReturnType<typeof createReadiness>, "stop">;

/** Returns the readiness of the process: ready while the store accepts writes and the service is not stopping. */
export function createReadiness(options: ReadinessOptions) {
  const probe = cachedProbe(options);
  let stopping = false;
  return {
    get stopping() {
      return stopping;
    },
    /** True while the service stops and no other node can run the turns of new messages. */
    get refusesWork() {
      return stopping && options.isAlone;
    },
    stop() {
      stopping = true;
    },
    /** Returns one sentence per problem; empty if the service is ready. */
    problems: (): Promise<readonly string[]> =>
      stopping ? Promise.resolve(["The service is stopping."]) : probe(),
  };
}

/**
 * Returns a function that probes the store and returns the problems. Concurrent callers share one probe, whose result
 * is cached for `PROBED_MS`.
 */
function cachedProbe({ store, clock, logger }: ReadinessOptions): () => Promise<readonly string[]> {
  let last: Promise<readonly string[]> | null = null;
  let goodUntil = 0;
  let isFailing = false;
  const probe = async (): Promise<readonly string[]> => {
    // Never start a second probe while one is pending: the store may hang.
    goodUntil = Infinity;
    try {
      await store.probe();
      if (isFailing) logger.info({}, "the store takes writes again");
      isFailing = false;
      return [];
    } catch (error) {
      if (!isFailing) logger.error({ err: error }, "the store takes no writes; this node is not ready");
      isFailing = true;
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
