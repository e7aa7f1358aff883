import type { ToolCallMessagePartProps } from "@assistant-ui/react";
import { visibleJson } from "@colloquy/client";
import { useReadToEnd, type ReadToEnd } from "@colloquy/react";
import type { ToolArtifact } from "@colloquy/react/assistant-ui";
import { useState, type FormEvent, type ReactNode } from "react";
import { decideWithWallet } from "./wallet.ts";

/** A call with its input, its progress, its result, and the decision that it waits for. */
export function ToolCall(props: ToolCallMessagePartProps): ReactNode {
  const { toolName, argsText, result, isError } = props;
  const { action, status, progress } = props.artifact as ToolArtifact;
  return (
    <details className="tool" open={status === "running"}>
      <summary>
        {toolName} <span className="status">{statusText(status, action)}</span>
      </summary>
      {/* A request for a decision shows its input itself. */}
      {(action === null || action.kind === "client_tool") && <pre>{argsText}</pre>}
      {progress !== null && <pre className="notice">{JSON.stringify(progress)}</pre>}
      {result !== undefined && (
        <pre className={isError === true ? "error" : undefined}>{JSON.stringify(result, null, 2)}</pre>
      )}
      {props.approval !== undefined && <Approval {...props} approval={props.approval} />}
      {action?.kind === "client_tool" && <Unclaimed {...props} />}
      {action?.kind.startsWith("wallet_") && <Wallet {...props} />}
    </details>
  );
}

function statusText(status: string, action: ToolArtifact["action"]): string {
  if (action === null) return status;
  if (action.kind !== "client_tool") return "waits for you";
  return action.claim_expires_at === null ? "waits for a page that runs it" : "runs in a page";
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
  const input = action?.kind === "approval" ? visibleJson(action.request.input, 2) : null;
  const reading = useReadToEnd(input ?? "");
  // The runtime's onError shows failures.
  const respond = (response: Parameters<Props["respondToApproval"]>[0]): void =>
    void respondToApproval(response).catch(() => undefined);
  return (
    <fieldset>
      <legend>{approval.prompt ?? `May the assistant use ${toolName}?`}</legend>
      {input !== null && <ToApprove text={input} end={reading.end} />}
      {approval.options?.map(({ id, label }) => (
        <button key={id} onClick={() => respond({ optionId: id })}>
          {label}
        </button>
      ))}
      {isQuestion && <Answer give={(text) => respond({ text, approved: true })} />}
      {!isQuestion && (
        <button disabled={!reading.isDone} onClick={() => respond({ approved: true })}>
          Approve
        </button>
      )}
      <button onClick={() => respond({ approved: false })}>Deny</button>
    </fieldset>
  );
}

/** A text that scrolls. Its end must have been in sight before a person can approve it. */
function ToApprove({ text, end }: { readonly text: string; readonly end: ReadToEnd["end"] }): ReactNode {
  return (
    <pre className="to-approve" dir="ltr" tabIndex={0}>
      {text}
      <span ref={end} />
    </pre>
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

/** A call of a client tool that no page has claimed yet. */
function Unclaimed({ artifact, resume }: Props): ReactNode {
  const { action } = artifact as ToolArtifact;
  if (action?.kind !== "client_tool" || action.claim_expires_at !== null) return null;
  return <button onClick={() => resume({ decision: "deny" })}>Deny</button>;
}

function Wallet({ artifact, resume }: Props): ReactNode {
  const [error, setError] = useState<string | null>(null);
  const { action } = artifact as ToolArtifact;
  const request = visibleJson(action?.request, 2);
  const reading = useReadToEnd(request);
  const approve = async (): Promise<void> => {
    try {
      if (action !== null) resume(await decideWithWallet(action));
    } catch (caught) {
      setError((caught as Error).message);
    }
  };
  return (
    <fieldset>
      <legend>A request for your wallet</legend>
      <ToApprove text={request} end={reading.end} />
      <button disabled={!reading.isDone} onClick={() => void approve()}>
        Open the wallet
      </button>
      <button onClick={() => resume({ decision: "deny" })}>Deny</button>
      {error !== null && <p className="error">{error}</p>}
    </fieldset>
  );
}
