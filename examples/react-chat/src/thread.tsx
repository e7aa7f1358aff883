import {
  ActionBarPrimitive,
  AuiIf,
  ComposerPrimitive,
  ErrorPrimitive,
  MessagePrimitive,
  ThreadPrimitive,
  type DataMessagePartProps,
  type TextMessagePartProps,
} from "@assistant-ui/react";
import type { Notice } from "@colloquy/react";
import { NOTICE_PART } from "@colloquy/react/assistant-ui";
import type { ReactNode } from "react";
import { ToolCall } from "./tool-call.tsx";

export function Thread(): ReactNode {
  return (
    <ThreadPrimitive.Root className="thread">
      <ThreadPrimitive.Viewport className="messages" role="log" aria-label="Messages">
        <ThreadPrimitive.Messages components={{ UserMessage, AssistantMessage }} />
      </ThreadPrimitive.Viewport>
      <ComposerPrimitive.Root className="composer">
        <ComposerPrimitive.Input aria-label="Message" placeholder="Say something" rows={1} />
        <ComposerPrimitive.Send>Send</ComposerPrimitive.Send>
        <AuiIf condition={({ thread }) => thread.isRunning}>
          <ComposerPrimitive.Cancel>Stop</ComposerPrimitive.Cancel>
        </AuiIf>
      </ComposerPrimitive.Root>
    </ThreadPrimitive.Root>
  );
}

function UserMessage(): ReactNode {
  return (
    <MessagePrimitive.Root className="message user">
      <Parts />
    </MessagePrimitive.Root>
  );
}

function AssistantMessage(): ReactNode {
  return (
    <MessagePrimitive.Root className="message assistant">
      <Parts />
      <MessagePrimitive.Error>
        <ErrorPrimitive.Root className="error">
          <ErrorPrimitive.Message /> <ActionBarPrimitive.Reload>Try again</ActionBarPrimitive.Reload>
        </ErrorPrimitive.Root>
      </MessagePrimitive.Error>
    </MessagePrimitive.Root>
  );
}

function Parts(): ReactNode {
  return (
    <MessagePrimitive.Parts
      components={{
        Text,
        tools: { Fallback: ToolCall },
        data: { by_name: { [NOTICE_PART]: NoticeLine } },
      }}
    />
  );
}

function Text({ text, status }: TextMessagePartProps): ReactNode {
  return <p className={status.type === "running" ? "text growing" : "text"}>{text}</p>;
}

function NoticeLine({ data }: DataMessagePartProps<Notice>): ReactNode {
  return <p className={data.level === "error" ? "error" : "notice"}>{data.message}</p>;
}
