import type { ToolCallMessagePartProps } from "@assistant-ui/react";
import { visibleJson } from "@colloquy/client";
import type { ToolArtifact } from "@colloquy/react/assistant-ui";
import { useState, type FormEvent, type ReactNode } from "react";
import { decideWithWallet } from "./wallet.ts";

/** A tool call with its input, progress, result and pending action. */
export function ToolCall(props: ToolCallMessagePartProps): ReactNode {
  const { toolName, argsText, result, isError } = props;
  const { status, progress } = props.artifact as ToolArtifact;
  return (
    <details className="tool" open={status === "running"}>
      <summary>
        {toolName} <span className="status">{status}</span>
      </summary>
      <pre>{argsText}</pre>
      {progress !== null && <pre className="notice">{JSON.stringify(progress)}</pre>}
      {result !== undefined && (
        <pre className={isError === true ? "error" : undefined}>{JSON.stringify(result, null, 2)}</pre>
      )}
      {props.approval !== undefined && <Approval {...props} approval={props.approval} />}
      {props.interrupt !== undefined && <Wallet {...props} />}
    </details>
  );
}

type Props = ToolCallMessagePartProps;
type Asked = NonNullable<Props["approval"]>;

function Approval({
  approval,
  artifact,
  respondToApproval,
  toolName,
}: Props & { readonly approval: Asked }): ReactNode {
  const isQuestion = approval.display !== undefined;
  const { action } = artifact as ToolArtifact;
  // The runtime's onError reports failures.
  const respond = (response: Parameters<Props["respondToApproval"]>[0]): void =>
    void respondToApproval(response).catch(() => undefined);
  return (
    <fieldset>
      <legend>{approval.prompt ?? `May the assistant use ${toolName}?`}</legend>
      {action?.kind === "approval" && <pre dir="ltr">{visibleJson(action.request.input, 2)}</pre>}
      {approval.options?.map(({ id, label }) => (
        <button key={id} onClick={() => respond({ optionId: id })}>
          {label}
        </button>
      ))}
      {isQuestion && <Answer give={(text) => respond({ text, approved: true })} />}
      {!isQuestion && <button onClick={() => respond({ approved: true })}>Approve</button>}
      <button onClick={() => respond({ approved: false })}>Deny</button>
    </fieldset>
  );
}

function Answer({ give }: { readonly give: (text: string) => void }): ReactNode {
  const [text, setText] = useState("");
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    if (text.trim() !== "") give(text);
  };
  return (
    <form onSubmit={submit}>
      <input aria-label="Answer" value={text} onChange={(event) => setText(event.target.value)} />
      <button>Answer</button>
    </form>
  );
}

function Wallet({ artifact, resume }: Props): ReactNode {
  const [error, setError] = useState<string | null>(null);
  const { action } = artifact as ToolArtifact;
  const approve = async (): Promise<void> => {
    try {
      if (action !== null) resume(await decideWithWallet(action));
    } catch (caught) {
      setError((caught as Error).message);
    }
  };
  return (
    <fieldset>
      <legend>Your wallet is needed</legend>
      <pre dir="ltr">{visibleJson(action?.request, 2)}</pre>
      <button onClick={() => void approve()}>Open the wallet</button>
      <button onClick={() => resume({ decision: "deny" })}>Deny</button>
      {error !== null && <p className="error">{error}</p>}
    </fieldset>
  );
}
