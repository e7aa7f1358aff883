// A conversation with the components of assistant-ui, with plain markup for tests.

import {
  AssistantRuntimeProvider,
  ActionBarPrimitive,
  ComposerPrimitive,
  MessagePrimitive,
  ThreadListItemPrimitive,
  ThreadListPrimitive,
  ThreadPrimitive,
  useAui,
  useAuiState,
  type DataMessagePartProps,
  type ReasoningMessagePartProps,
  type TextMessagePartProps,
  type ToolCallMessagePartProps,
} from "@assistant-ui/react";
import { createContext, Profiler, useContext, type ReactNode } from "react";
import {
  NOTICE_PART,
  useColloquyRuntime,
  type ColloquyRuntimeOptions,
  type ToolArtifact,
} from "../src/assistant-ui/index.ts";
import type { Notice } from "../src/index.ts";

/** Callbacks that a page received. */
export interface PageRecord {
  /** Messages sent, and their outcomes. */
  readonly sent: string[];
  readonly errors: { readonly message: string; readonly text: string | null }[];
  /** Ids of rendered messages, once per render. */
  readonly rendered: string[];
}

/** Collects what the components below report. */
export const RecordContext = createContext<PageRecord>({ sent: [], errors: [], rendered: [] });

function Text({ text, status }: TextMessagePartProps): ReactNode {
  return <p data-status={status.type}>{text}</p>;
}

function Reasoning({ text }: ReasoningMessagePartProps): ReactNode {
  return <q>{text}</q>;
}

function NoticeLine({ data }: DataMessagePartProps<Notice>): ReactNode {
  return <small>{data.code}</small>;
}

function Tool(props: ToolCallMessagePartProps): ReactNode {
  const { toolName, argsText, result, isError, status, approval, interrupt, respondToApproval, resume } =
    props;
  const { progress, action, status: own, duration_ms } = props.artifact as ToolArtifact;
  const { errors } = useContext(RecordContext);
  /** Collects errors thrown by incorrect calls. */
  const captureError = (call: () => void): void => {
    try {
      call();
    } catch (error) {
      errors.push({ message: (error as Error).message, text: null });
    }
  };
  const isFailed = String(isError ?? false);
  return (
    <fieldset
      aria-label={toolName}
      data-status={status.type}
      data-own={own}
      data-error={isFailed}
      data-took={duration_ms}
    >
      <code>{argsText}</code>
      <output>{result === undefined ? "" : JSON.stringify(result)}</output>
      <i>{progress === null ? "" : JSON.stringify(progress)}</i>
      <b>{action?.kind}</b>
      {approval?.options?.map(({ id, label }) => (
        <button key={id} onClick={() => void respondToApproval({ optionId: id })}>
          {label}
        </button>
      ))}
      {approval && (
        <>
          <em>{approval.prompt}</em>
          <button onClick={() => void respondToApproval({ approved: true }).catch(() => undefined)}>
            Approve
          </button>
          <button onClick={() => void respondToApproval({ approved: false })}>Deny</button>
          <button onClick={() => void respondToApproval({ text: "Neither", approved: true })}>Answer</button>
        </>
      )}
      {interrupt && (
        <>
          <button onClick={() => resume({ decision: "deny" })}>Refuse</button>
          <button onClick={() => captureError(() => resume({ signature: "0x" }))}>Mistake</button>
        </>
      )}
    </fieldset>
  );
}

function Message(): ReactNode {
  const { rendered } = useContext(RecordContext);
  // Selects the whole message, so that a new object renders it again.
  const { id, role, status } = useAuiState((state) => state.message);
  const reason = status?.type === "incomplete" ? JSON.stringify(status.error ?? status.reason) : "";
  return (
    <Profiler id={id} onRender={() => void rendered.push(id)}>
      <MessagePrimitive.Root data-role={role} data-status={status?.type} data-reason={reason}>
        <MessagePrimitive.Parts
          components={{
            Text,
            Reasoning,
            tools: { Fallback: Tool },
            data: { by_name: { [NOTICE_PART]: NoticeLine } },
          }}
        />
        {reason !== "" && <ActionBarPrimitive.Reload>Try again</ActionBarPrimitive.Reload>}
        {role === "user" && <Edit />}
      </MessagePrimitive.Root>
    </Profiler>
  );
}

function Edit(): ReactNode {
  const isEditing = useAuiState(({ message }) => message.composer.isEditing);
  if (!isEditing) return <ActionBarPrimitive.Edit>Edit</ActionBarPrimitive.Edit>;
  return (
    <ComposerPrimitive.Root>
      <ComposerPrimitive.Input aria-label="Edited" />
      <ComposerPrimitive.Send>Save</ComposerPrimitive.Send>
    </ComposerPrimitive.Root>
  );
}

/** Sends a message to be answered after the current one. */
function Later(): ReactNode {
  const aui = useAui();
  return <button onClick={() => aui.composer().send({ steer: false })}>Later</button>;
}

function ThreadRow(): ReactNode {
  const aui = useAui();
  const id = useAuiState((state) => state.threadListItem.id);
  return (
    <ThreadListItemPrimitive.Root data-thread={id}>
      <ThreadListItemPrimitive.Trigger>
        <ThreadListItemPrimitive.Title />
      </ThreadListItemPrimitive.Trigger>
      <button onClick={() => aui.threadListItem().rename("Renamed")}>Rename</button>
      <ThreadListItemPrimitive.Delete>Delete</ThreadListItemPrimitive.Delete>
    </ThreadListItemPrimitive.Root>
  );
}

/** A conversation with the components of assistant-ui, and the thread list. */
export function Chat(options: ColloquyRuntimeOptions): ReactNode {
  const { sent, errors } = useContext(RecordContext);
  const runtime = useColloquyRuntime({
    onSend: (text, arrival) => {
      sent.push(`${text} leaves`);
      const note = (end: string) => () => void sent.push(`${text} ${end}`);
      arrival.then(note("arrives"), note("is lost"));
    },
    onError: ({ message }, { text }) => void errors.push({ message, text }),
    ...options,
  });
  return (
    <AssistantRuntimeProvider runtime={runtime}>
      <nav>
        <ThreadListPrimitive.New>New thread</ThreadListPrimitive.New>
        <ThreadListPrimitive.Items components={{ ThreadListItem: ThreadRow }} />
      </nav>
      <ThreadPrimitive.Root>
        <main>
          <ThreadPrimitive.Messages components={{ Message }} />
        </main>
        <ComposerPrimitive.Root>
          <ComposerPrimitive.Input aria-label="Message" />
          <ComposerPrimitive.Send>Send</ComposerPrimitive.Send>
          <Later />
          <ComposerPrimitive.Cancel>Stop</ComposerPrimitive.Cancel>
        </ComposerPrimitive.Root>
      </ThreadPrimitive.Root>
    </AssistantRuntimeProvider>
  );
}
