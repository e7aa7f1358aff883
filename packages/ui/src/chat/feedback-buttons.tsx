import type { Feedback, Message } from "@colloquy/client";
import { useColloquy } from "@colloquy/react";
import { useRef, useState, type FormEvent, type ReactNode } from "react";
import { Button, IconButton } from "../design/button.tsx";
import { ThumbsDown, ThumbsUp } from "../design/icons.tsx";
import { failureOf } from "./failure.ts";
import { usePage } from "./page-context.tsx";
import { useSessionId } from "./session-id.tsx";

/** Maximum length of a comment in characters; the service enforces the same limit. */
const COMMENT_MAX = 4_000;

interface FeedbackInput {
  readonly score: Feedback["score"];
  readonly comment?: string;
}

/** Buttons to rate an answer. A second click removes the rating. A negative rating opens a comment field. */
export function FeedbackButtons({ message }: { readonly message: Message }): ReactNode {
  const sessionId = useSessionId();
  const { client } = useColloquy();
  const { outbox } = usePage();
  const [isCommenting, setCommenting] = useState(false);
  // One request at a time: a retry of earlier feedback must not replace later feedback.
  const last = useRef(Promise.resolve());
  const score = message.feedback?.score ?? 0;
  const give = async (input: FeedbackInput): Promise<void> => {
    try {
      await client.giveFeedback(sessionId, message.id, input);
    } catch (error) {
      outbox.report(sessionId, failureOf("Your feedback was not saved", error));
    }
  };
  const giveNext = (input: FeedbackInput): void => {
    last.current = last.current.then(() => give(input));
  };
  const rate = (next: 1 | -1): void => {
    const isRemoved = score === next;
    setCommenting(next === -1 && !isRemoved);
    giveNext({ score: isRemoved ? 0 : next });
  };
  const onSubmit = (event: FormEvent<HTMLFormElement>): void => {
    event.preventDefault();
    const comment = new FormData(event.currentTarget).get("comment");
    setCommenting(false);
    if (typeof comment === "string" && comment.trim() !== "") giveNext({ score: -1, comment });
  };
  return (
    <>
      <IconButton size="small" label="Good answer" aria-pressed={score === 1} onClick={() => rate(1)}>
        <ThumbsUp size={15} fill={score === 1 ? "currentColor" : "none"} />
      </IconButton>
      <IconButton size="small" label="Bad answer" aria-pressed={score === -1} onClick={() => rate(-1)}>
        <ThumbsDown size={15} fill={score === -1 ? "currentColor" : "none"} />
      </IconButton>
      {isCommenting && (
        <form className="cq-feedback" onSubmit={onSubmit}>
          <input
            className="cq-feedback-comment"
            name="comment"
            aria-label="What could be better?"
            placeholder="What could be better?"
            maxLength={COMMENT_MAX}
            autoComplete="off"
            dir="auto"
            autoFocus
          />
          <Button type="submit" size="small">
            Send
          </Button>
        </form>
      )}
    </>
  );
}
