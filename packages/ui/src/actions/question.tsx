import type { PendingAction } from "@colloquy/client";
import { useState, type ReactNode } from "react";
import { keepComposition } from "../design/keep-composition.ts";
import { Button } from "../design/button.tsx";
import type { DecisionState } from "./use-decision.ts";

/** Maximum length that the service accepts. */
const LONGEST = 4_096;

/** Shows a question with suggested answers and an input for any other answer. */
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
      <h2 className="cq-action-card-question" dir="auto">
        {question}
      </h2>
      {choices.length > 0 && (
        <div className="cq-action-card-buttons" role="group" aria-label="Suggested answers">
          {choices.map((choice, at) => (
            // Suggestions may repeat.
            <Button
              key={`${at} ${choice}`}
              data-shortcut="decide"
              disabled={decision.isBusy}
              onClick={() => answer(choice)}
            >
              <bdi>{choice}</bdi>
            </Button>
          ))}
        </div>
      )}
      <form
        className="cq-action-card-answer"
        onSubmit={(event) => {
          event.preventDefault();
          answer(text.trim());
        }}
      >
        <input
          aria-label="Your answer"
          data-shortcut="decide"
          placeholder={choices.length > 0 ? "Or something else" : "Your answer"}
          value={text}
          maxLength={LONGEST}
          dir="auto"
          onChange={(event) => setText(event.target.value)}
          onKeyDown={keepComposition}
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
