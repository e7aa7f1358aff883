import type { FeedbackRecord } from "../message.ts";
import { define, dispositionOf } from "./command.ts";

export interface FeedbackInput extends Omit<FeedbackRecord, "at"> {
  readonly messageId: string;
}

export type FeedbackRejection = "message_not_found" | "not_an_answer" | "answer_in_progress";

export interface StoredFeedback {
  /** The stored feedback; absent if it was removed. */
  readonly feedback?: FeedbackRecord;
}

/**
 * Replaces the feedback on an answer. A score of 0 without a comment and tags removes it. Does not change `updatedAt`
 * of the session.
 */
export const giveFeedback = define({
  target: "session",
  needs: ({ messageId }: FeedbackInput) => ({ message: messageId }),
  decide: (draft, facts, { score, comment, tags }): StoredFeedback | FeedbackRejection => {
    const message = facts.message();
    if (message === null) return "message_not_found";
    if (message.role !== "assistant") return "not_an_answer";
    if (message.status === "streaming" || message.status === "queued") return "answer_in_progress";
    const { feedback: before, ...unrated } = message;
    const isNone = score === 0 && comment === null && tags.length === 0;
    if (isNone && before === undefined) return {};
    const { updatedAt } = draft.session;
    const stored = isNone ? {} : { feedback: { score, comment, tags, at: draft.at } };
    draft.changeMessage(message, { ...unrated, ...stored }, "message_updated");
    draft.update({ updatedAt });
    return stored;
  },
  disposition: (outcome) => (typeof outcome === "string" ? dispositionOf(outcome) : "commit"),
});
