import type { Readiness } from "./core/ports/services.ts";
import type { Store } from "./core/ports/store.ts";

/** Ready while the store takes writes and nobody has told the service to stop. `isAlone`: no other process serves the same store. */
export function createReadiness(store: Pick<Store, "probe">, isAlone: boolean): Readiness & { stop(): void } {
  let stopping = false;
  return {
    get stopping() {
      return stopping;
    },
    get refusesWork() {
      return stopping && isAlone;
    },
    stop() {
      stopping = true;
    },
    async problems() {
      if (stopping) return ["The service is being stopped."];
      try {
        await store.probe();
        return [];
      } catch {
        return ["The store takes no writes. Look at the disk and at the log."];
      }
    },
  };
}
