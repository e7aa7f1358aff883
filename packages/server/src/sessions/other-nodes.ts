// What this process does about what others say on the bus: its live sessions follow, and turns that have lost their right to run stop.

import type { Bus, SessionNote } from "../core/ports/driven/bus.ts";
import type { Dispatcher } from "../turns/dispatcher.ts";
import type { RunningTurns } from "../turns/running-turns.ts";
import type { Registry } from "./registry.ts";

export interface OtherNodesParts {
  readonly bus: Pick<Bus, "listen">;
  readonly registry: Pick<Registry, "hear" | "end">;
  readonly running: Pick<RunningTurns, "abort">;
  readonly dispatcher: Pick<Dispatcher, "abandon" | "claimAnnounced">;
}

/** Listens as long as the bus is open. */
export function listenToOtherNodes({ bus, registry, running, dispatcher }: OtherNodesParts): void {
  const take = (sessionId: string, note: Exclude<SessionNote, { kind: "delta" }>): void => {
    if (note.kind === "deleted") {
      registry.end(sessionId, note.life);
      dispatcher.abandon(sessionId, note.life);
      return;
    }
    running.abort(sessionId, note.life, note.epoch);
    registry.hear(sessionId, note);
  };
  bus.listen({
    onNote(sessionId, note, origin) {
      // Text that streams elsewhere is read from the store where a snapshot is asked for; readers get it from the feed.
      if (origin === "elsewhere" && note.kind !== "delta") take(sessionId, note);
    },
    onWork: () => dispatcher.claimAnnounced(),
  });
}
