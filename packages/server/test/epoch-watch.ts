// Sees what the stores of all nodes answer, and tells of writes that were taken though the turn had come to a later epoch before they were
// asked for. No snapshot shows that: what the old owner writes may look like what the new one would have written.

import type { Store } from "../src/core/ports/store.ts";
import type { TurnStore } from "../src/core/ports/turn-store.ts";
import type { TurnIdentity } from "../src/core/turn.ts";

export class EpochWatch {
  readonly found: string[] = [];
  /** The highest epoch that any node was answered, by session key. */
  readonly #epochs = new Map<number, number>();

  watch(store: Store): Store {
    const turns = new Proxy(store.turns, {
      get: (target, name: keyof TurnStore) => {
        const method = target[name] as (...parameters: readonly unknown[]) => Promise<unknown>;
        return async (...parameters: readonly unknown[]): Promise<unknown> => {
          const [identity] = parameters;
          const later = isIdentity(identity) ? (this.#epochs.get(identity.sessionKey) ?? 0) : 0;
          const answer = await method(...parameters);
          if (isIdentity(identity) && answer !== null && identity.epoch < later)
            this.found.push(`${name} of epoch ${identity.epoch} was taken behind epoch ${later}`);
          for (const one of [answer].flat()) this.#note(one);
          return answer;
        };
      },
    });
    return { ...store, turns };
  }

  #note(answer: unknown): void {
    const { session } = (answer ?? {}) as {
      readonly session?: { readonly key: number; readonly epoch: number };
    };
    if (session === undefined) return;
    this.#epochs.set(session.key, Math.max(session.epoch, this.#epochs.get(session.key) ?? 0));
  }
}

function isIdentity(parameter: unknown): parameter is TurnIdentity {
  return typeof parameter === "object" && parameter !== null && "epoch" in parameter && "turn" in parameter;
}
