import type { PendingAction } from "@colloquy/client";
import { useState, type ReactNode } from "react";
import { Button } from "../design/button.tsx";
import type { DecisionState } from "./use-decision.ts";
import styles from "./action-card.module.css";

/** Maximum length that the service accepts. */
const LONGEST = 4_096;

/** A question with suggested answers; any other answer is accepted. */
export function Question({
  action,
  decision,
}: {
  readonly action: Extract<PendingAction, { kind: "question" }>;
  readonly decision: Pick<DecisionState, "isBusy" | "approveWith" | "deny">;
}): ReactNode {
  const [text, setText] = useState("");
  const { question, choices } = action.request;
  const answer = (given: string): void => decision.approveWith({ answer: given });
  return (
    <>
      <h2 className={styles["question"]} dir="auto">
        {question}
      </h2>
      {choices.length > 0 && (
        <div className={styles["buttons"]} role="group" aria-label="Suggested answers">
          {choices.map((choice, at) => (
            // Suggestions may repeat.
            <Button key={`${at} ${choice}`} disabled={decision.isBusy} onClick={() => answer(choice)}>
              <bdi>{choice}</bdi>
            </Button>
          ))}
        </div>
      )}
      <form
        className={styles["answer"]}
        onSubmit={(event) => {
          event.preventDefault();
          answer(text.trim());
        }}
      >
        <input
          aria-label="Your answer"
          placeholder={choices.length > 0 ? "Or something else" : "Your answer"}
          value={text}
          maxLength={LONGEST}
          dir="auto"
          onChange={(event) => setText(event.target.value)}
        />
        <Button type="submit" look="primary" disabled={decision.isBusy || text.trim() === ""}>
          Answer
        </Button>
        <Button look="quiet" disabled={decision.isBusy} onClick={decision.deny}>
          Do not answer
        </Button>
      </form>
    </>
  );
}
