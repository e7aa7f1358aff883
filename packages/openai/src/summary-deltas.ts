// Streams reasoning as parts of a summary, one for each step with reasoning. The deltas are a preview,
// because reasoning is stored only when its step ends: the final events have the stored texts.

import type { ReasoningDelta } from "@colloquy/protocol";
import type { JsonObject } from "./json.ts";

type Piece = JsonObject & { readonly type: string };

export class SummaryDeltas {
  /** False for a resumed stream, whose client may already have some of the deltas. */
  readonly isLive: boolean;
  /** Parts that were sent, by step. */
  readonly #parts = new Map<number, { readonly summary_index: number; readonly text: string }>();
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
    return steps.flatMap(({ step, text }) => this.grow({ step, offset: 0, text }));
  }

  /** A repeated model call may reason differently. Sent deltas cannot be retracted; the final events correct them. */
  grow({ step, offset, text }: Pick<ReasoningDelta, "step" | "offset" | "text">): Piece[] {
    if (!this.isLive || !this.isBegun) return [];
    const part = this.#parts.get(step) ?? { summary_index: this.#parts.size, text: "" };
    // Only the overlap is compared: comparing the whole text for each delta would be quadratic.
    const overlap = part.text.length - offset;
    const delta = text.slice(overlap);
    if (overlap < 0 || delta === "" || !text.startsWith(part.text.slice(offset))) return [];
    const isNew = part.text === "";
    this.#parts.set(step, { ...part, text: part.text + delta });
    const common = { item_id: this.#itemId, output_index: 0, summary_index: part.summary_index };
    const added = { ...common, part: { type: "summary_text", text: "" } };
    return [
      ...(isNew ? [{ type: "response.reasoning_summary_part.added", ...added }] : []),
      { type: "response.reasoning_summary_text.delta", ...common, delta },
    ];
  }
}
