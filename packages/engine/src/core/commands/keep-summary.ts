import type { SummaryRecord } from "../message.ts";
import { define } from "./command.ts";

export interface KeepSummaryInput {
  /** The last message that the summary covers: the last agent message of its turn. */
  readonly messageId: string;
  readonly summary: Omit<SummaryRecord, "at">;
}

/**
 * Stores a summary with the last message that it covers. Has no effect if an edit has removed that message.
 * Does not change the session's `updatedAt`.
 */
export const keepSummary = define({
  target: "incarnation",
  needs: ({ messageId }: KeepSummaryInput) => ({ message: messageId }),
  decide: (draft, facts, { summary }) => {
    const message = facts.message();
    if (message === null) return "message_gone";
    if (message.summary !== undefined) return "has_summary";
    const { updatedAt } = draft.session;
    draft.changeMessage(message, { ...message, summary: { ...summary, at: draft.at } }, "message_updated");
    draft.update({ updatedAt });
    return "ok";
  },
  disposition: (outcome: "ok" | "message_gone" | "has_summary") => (outcome === "ok" ? "commit" : "void"),
});
