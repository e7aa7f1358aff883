import type { UseChatHelpers } from "@ai-sdk/react";
import { visibleJson, type PendingAction } from "@colloquy/client";
import { useReadToEnd } from "@colloquy/react";
import { Markdown } from "@colloquy/ui";
import type { DynamicToolUIPart, UIMessage } from "ai";
import type { ReactNode } from "react";

type Answering = Pick<UseChatHelpers<UIMessage>, "addToolApprovalResponse" | "addToolOutput">;

interface PartProps {
  readonly part: UIMessage["parts"][number];
  readonly chat: Answering;
}

export function Part({ part, chat, isAnswer }: PartProps & { readonly isAnswer: boolean }): ReactNode {
  if (part.type === "text") return isAnswer ? <Markdown text={part.text} /> : <p dir="auto">{part.text}</p>;
  if (part.type === "dynamic-tool") return <Call part={part} chat={chat} />;
  // An action that is more than yes or no: `null` once it is decided.
  if (part.type === "data-action") return <Question action={part.data as PendingAction | null} chat={chat} />;
  return null;
}

function Call({ part, chat }: { readonly part: DynamicToolUIPart; readonly chat: Answering }): ReactNode {
  const input = visibleJson(part.input);
  const reading = useReadToEnd(input);
  const answer = (approved: boolean): void =>
    void (part.approval !== undefined && chat.addToolApprovalResponse({ id: part.approval.id, approved }));
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
          <button className="primary" disabled={!reading.isDone} onClick={() => answer(true)}>
            Approve
          </button>
          <button onClick={() => answer(false)}>Deny</button>
        </>
      )}
    </details>
  );
}

interface QuestionProps {
  readonly action: PendingAction | null;
  readonly chat: Answering;
}

/** A question with its choices. Wallet actions can only be denied here; examples/react-chat shows how to use a wallet. */
function Question({ action, chat }: QuestionProps): ReactNode {
  if (action === null) return null;
  const { tool, call_id: toolCallId } = action;
  const deny = (): void =>
    void chat.addToolOutput({ state: "output-error", tool, toolCallId, errorText: "Denied" });
  return (
    <fieldset>
      <legend>{action.kind === "question" ? action.request.question : `${tool} needs a wallet.`}</legend>
      {action.kind === "question" &&
        action.request.choices.map((answer) => (
          <button
            key={answer}
            onClick={() => void chat.addToolOutput({ tool, toolCallId, output: { answer } })}
          >
            {answer}
          </button>
        ))}
      <button onClick={deny}>Deny</button>
    </fieldset>
  );
}
