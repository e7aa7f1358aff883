// Reasoning of the answer in progress. It is not part of the snapshot. After the answer is complete, the service
// returns the stored reasoning.

import type { SessionUpdate } from "./fold.ts";
import type { Reasoning } from "./wire.ts";

/** Streamed reasoning of the answer in progress. */
export interface LiveReasoning {
  readonly messageId: string;
  /** One entry per model call, oldest first. */
  readonly steps: readonly Reasoning[];
}

/** Applies an event. Returns `null` if there is no reasoning, or the answer is complete. */
export function reasoningAfter(before: LiveReasoning | null, update: SessionUpdate): LiveReasoning | null {
  switch (update.type) {
    case "reasoning_delta": {
      const { message_id: messageId, step, offset, text } = update;
      const steps = before?.messageId === messageId ? before.steps : [];
      const known = steps.find((other) => other.step === step)?.text ?? "";
      // Earlier reasoning was lost. The service resends the whole step when the stream resumes.
      if (offset > known.length) return before;
      const grown = { step, text: known.slice(0, offset) + text };
      return { messageId, steps: [...steps.filter((other) => other.step < step), grown] };
    }
    case "message_completed":
      return update.message.id === before?.messageId ? null : before;
    case "messages_removed":
      return null;
    default:
      return before;
  }
}
