import { visibleJson, type Decision } from "@colloquy/client";
import { useReadToEnd } from "@colloquy/react";
import type { DynamicToolUIPart, UIMessage } from "ai";
import type { ReactNode } from "react";
import type { ActionData } from "./answer-chunks.ts";

type Decide = (actionId: string, decision: Decision) => void;

export function Part({
  part,
  decide,
}: {
  readonly part: UIMessage["parts"][number];
  readonly decide: Decide;
}): ReactNode {
  if (part.type === "text") return <p>{part.text}</p>;
  if (part.type === "dynamic-tool") return <Call part={part} decide={decide} />;
  if (part.type === "data-action") return <Question action={part.data as ActionData} decide={decide} />;
  return null;
}

function Call({ part, decide }: { readonly part: DynamicToolUIPart; readonly decide: Decide }): ReactNode {
  const input = visibleJson(part.input);
  const reading = useReadToEnd(input);
  return (
    <details open={part.state !== "output-available"}>
      <summary>
        {part.toolName} <small>{part.state}</small>
      </summary>
      <pre className="input" dir="ltr" tabIndex={0}>
        {input}
        <span ref={reading.end} />
      </pre>
      {part.state === "output-available" && <pre>{JSON.stringify(part.output, null, 2)}</pre>}
      {part.state === "output-error" && <pre>{part.errorText}</pre>}
      {part.state === "approval-requested" && (
        <>
          {/* Only who has seen the input to its end can approve it. */}
          <button
            disabled={!reading.isDone}
            onClick={() => decide(part.approval.id, { decision: "approve" })}
          >
            Approve
          </button>
          <button onClick={() => decide(part.approval.id, { decision: "deny" })}>Deny</button>
        </>
      )}
    </details>
  );
}

/**
 * A question with its choices. Wallet actions and calls of client tools can only be denied here; examples/react-chat
 * shows how to run them.
 */
function Question({ action, decide }: { readonly action: ActionData; readonly decide: Decide }): ReactNode {
  if (action === null) return null;
  const isQuestion = action.kind === "question";
  return (
    <fieldset>
      <legend>{isQuestion ? action.request.question : `${action.tool} cannot run here.`}</legend>
      {isQuestion &&
        action.request.choices.map((answer) => (
          <button key={answer} onClick={() => decide(action.id, { decision: "approve", result: { answer } })}>
            {answer}
          </button>
        ))}
      <button onClick={() => decide(action.id, { decision: "deny" })}>Deny</button>
    </fieldset>
  );
}
