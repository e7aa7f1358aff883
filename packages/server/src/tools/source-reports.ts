// Records the result of the last look at each tool source, for operators. Only turns look; a report asks
// nothing.

import type { AdminToolSource } from "@colloquy/protocol";
import type { Clock } from "../core/ports/driven/clock.ts";
import type { SourceTool, ToolSource } from "./tool-source.ts";

type Look = Omit<AdminToolSource, "name">;

const UNUSED: Look = { state: "unused", tools: null, problem: null, seen_at: null };

export class SourceReports {
  readonly #clock: Pick<Clock, "now">;
  readonly #looks = new WeakMap<ToolSource, Look>();

  constructor(clock: Pick<Clock, "now">) {
    this.#clock = clock;
  }

  noteList(source: ToolSource, tools: readonly SourceTool[]): void {
    const standIn = tools.find(({ standsInFor }) => standsInFor !== undefined)?.standsInFor;
    // A secret that a client has not set, or set wrongly, says nothing about the source.
    if (standIn?.isClientSpecific === true) return;
    if (standIn === undefined) this.#note(source, { state: "working", tools: tools.length, problem: null });
    else this.noteFailure(source, `${standIn.reason} The log says more.`);
  }

  noteFailure(source: ToolSource, problem: string): void {
    this.#note(source, { state: "failing", tools: 0, problem });
  }

  of(source: ToolSource): AdminToolSource {
    return { name: source.label, ...(this.#looks.get(source) ?? UNUSED) };
  }

  #note(source: ToolSource, look: Omit<Look, "seen_at">): void {
    this.#looks.set(source, { ...look, seen_at: new Date(this.#clock.now()).toISOString() });
  }
}
