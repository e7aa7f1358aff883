// Observes the stores of all nodes and reports turns given to two owners under one epoch, and writes accepted
// after the turn's epoch was raised. Snapshots would not show it: a former owner's write may look like the
// new owner's.

import type { Store } from "../src/core/ports/driven/store.ts";
import type { TurnStore } from "../src/core/ports/driven/turn-store.ts";
import type { StartedTurn, TurnIdentity } from "../src/core/turn.ts";

/** The relevant part of a result that changes a session. */
interface Answered {
  readonly session?: { readonly key: number; readonly epoch: number };
  /** The turn that a claim has started, or that a chat has. */
  readonly outcome?: StartedTurn | { readonly started: StartedTurn | null } | string | null;
}

export class EpochWatch {
  readonly found: string[] = [];
  /** The highest epoch returned to any node, by session key. */
  readonly #epochs = new Map<number, number>();
  readonly #started = new Set<string>();

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
          for (const one of [answer].flat()) this.#note(one ?? {});
          return answer;
        };
      },
    });
    return { ...store, turns };
  }

  #note({ session, outcome }: Answered): void {
    if (session === undefined) return;
    this.#epochs.set(session.key, Math.max(session.epoch, this.#epochs.get(session.key) ?? 0));
    if (typeof outcome !== "object" || outcome === null) return;
    const turn = "started" in outcome ? outcome.started : outcome;
    if (!isIdentity(turn)) return;
    const start = `${turn.sessionKey} ${turn.epoch}`;
    if (this.#started.has(start)) this.found.push(`epoch ${turn.epoch} was given out twice`);
    this.#started.add(start);
  }
}

function isIdentity(value: unknown): value is TurnIdentity {
  return typeof value === "object" && value !== null && "epoch" in value && "turn" in value;
}
