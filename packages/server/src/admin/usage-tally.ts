import type { AdminUsageRow } from "@colloquy/protocol";
import type { EndedTurn } from "../core/ports/driven/admin-store.ts";
import { timeText } from "./wire.ts";

/** Sums up the usage of turns by time, App and model. */
export class UsageTally {
  readonly #bucketMs: number;
  readonly #rows = new Map<string, AdminUsageRow>();

  constructor(bucketMs: number) {
    this.#bucketMs = bucketMs;
  }

  add(turn: EndedTurn): void {
    const row = this.#rowOf(turn);
    row.messages += turn.hasAnswer ? 2 : 1;
    row.turns += 1;
    row.failed_turns += turn.state === "failed" ? 1 : 0;
    row.input_tokens += turn.inputTokens;
    row.output_tokens += turn.outputTokens;
  }

  /** Returns rows, oldest first, then by App and model. */
  rows(): AdminUsageRow[] {
    return [...this.#rows].toSorted(([left], [right]) => (left < right ? -1 : 1)).map(([, row]) => row);
  }

  #rowOf({ endedAt, app, model }: EndedTurn): AdminUsageRow {
    const at = timeText(Math.floor(endedAt / this.#bucketMs) * this.#bucketMs);
    // Names contain no control characters, so sorting these keys sorts by time, App and model.
    const key = [at, app, model ?? ""].join("\u0000");
    const known = this.#rows.get(key);
    if (known !== undefined) return known;
    const row = { at, app, model, messages: 0, turns: 0, failed_turns: 0, input_tokens: 0, output_tokens: 0 };
    this.#rows.set(key, row);
    return row;
  }
}
