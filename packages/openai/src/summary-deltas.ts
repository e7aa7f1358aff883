// Streams reasoning as parts of a summary, one for each step with reasoning. The deltas are a preview,
// because reasoning is stored only when its step ends: the final events have the stored texts.

import type { ReasoningDelta } from "@colloquy/protocol";
import type { JsonObject } from "./json.ts";

type Piece = JsonObject & { readonly type: string };

export class SummaryDeltas {
  /** False for a resumed stream, whose client may already have some of the deltas. */
  readonly isLive: boolean;
  /** Sent text by step, in the order of the parts. */
  readonly #sent = new Map<number, string>();
  #itemId = "";

  constructor({ isResumed }: { readonly isResumed: boolean }) {
    this.isLive = !isResumed;
  }

  /** Id of the reasoning item; empty before `begin`. */
  get itemId(): string {
    return this.#itemId;
  }

  get isBegun(): boolean {
    return this.#itemId !== "";
  }

  /** Returns the deltas of these steps that have not been sent. */
  begin(itemId: string, steps: readonly { readonly step: number; readonly text: string }[]): Piece[] {
    this.#itemId = itemId;
    return steps.flatMap(({ step, text }) => this.#advance(step, text));
  }

  grow({ step, offset, text }: Pick<ReasoningDelta, "step" | "offset" | "text">): Piece[] {
    const known = this.#sent.get(step) ?? "";
    return offset > known.length ? [] : this.#advance(step, known.slice(0, offset) + text);
  }

  /** A repeated model call may reason differently. Sent deltas cannot be retracted; the final events correct them. */
  #advance(step: number, text: string): Piece[] {
    if (!this.isLive || !this.isBegun || text === "") return [];
    const isNew = !this.#sent.has(step);
    const known = this.#sent.get(step) ?? "";
    if (!text.startsWith(known) || text === known) return [];
    this.#sent.set(step, text);
    const summary_index = [...this.#sent.keys()].indexOf(step);
    const common = { item_id: this.#itemId, output_index: 0, summary_index };
    const part = { type: "summary_text", text: "" };
    const delta = text.slice(known.length);
    return [
      ...(isNew ? [{ type: "response.reasoning_summary_part.added", ...common, part }] : []),
      { type: "response.reasoning_summary_text.delta", ...common, delta },
    ];
  }
}
