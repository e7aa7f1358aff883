// Observes the stores of all nodes and reports turns given to two owners under one epoch, and writes accepted
// after the turn's epoch was raised. Snapshots would not show it: a former owner's write may look like the
// new owner's.

import type { Selection, SessionCommand } from "@colloquy/engine/internal/core/commands/index";
import type { CommandStore, Store } from "@colloquy/engine/internal/core/ports/driven/store";
import type { StartedTurn, TurnIdentity } from "@colloquy/engine/internal/core/turn";

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
    const execute = async (command: SessionCommand): Promise<unknown> => {
      const identity = "turn" in command.target ? command.target.turn : null;
      const later = identity === null ? 0 : (this.#epochs.get(identity.sessionKey) ?? 0);
      const answer = await store.execute(command);
      if (identity !== null && answer !== null && identity.epoch < later)
        this.found.push(`${command.kind} of epoch ${identity.epoch} was taken behind epoch ${later}`);
      if (answer !== null) this.#note(answer as Answered);
      return answer;
    };
    const executeEach = async (selection: Selection): Promise<unknown> => {
      const answers = await store.executeEach(selection);
      for (const answer of answers) this.#note(answer as Answered);
      return answers;
    };
    const commands = { execute, executeEach } as unknown as CommandStore;
    return { ...store, ...commands };
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
