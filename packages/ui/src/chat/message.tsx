import {
  messageParts,
  type Message as StoredMessage,
  type PendingAction,
  type Reasoning,
  type ToolCall as Call,
} from "@colloquy/client";
import type { Notice } from "@colloquy/react";
import { useMemo, type ReactNode } from "react";
import { CircleAlert } from "../design/icons.tsx";
import { useComponents } from "./components.tsx";
import { AnswerDetails, ReasoningDetails } from "./answer-details.tsx";
import { InReplyTo } from "./in-reply-to.tsx";
import { NoticeLine } from "./notice-line.tsx";
import { ToolGroup } from "./tool-group.tsx";

export interface MessageProps {
  readonly message: StoredMessage;
  /** Pending actions of its calls. */
  readonly actions?: readonly PendingAction[];
  /** Latest progress of its running calls, in the order of the calls. */
  readonly progress?: readonly unknown[];
  readonly notices?: readonly Notice[];
  /** Reason for the failure of the turn. */
  readonly failure?: Pick<Notice, "message"> | null;
  /** Text of the question it answers, if other messages are between the two. */
  readonly inReplyTo?: string | null;
  /** Reasoning of an answer in progress; `null` for none. */
  readonly reasoning?: readonly Reasoning[] | null;
  /** Rendered below the text: buttons and time. */
  readonly footer?: ReactNode;
}

/** A message of the user or the assistant. Only actions and reasoning need a provider above it. */
export function Message(props: MessageProps): ReactNode {
  return props.message.sender === "user" ? <Question {...props} /> : <Answer {...props} />;
}

function Question({ message, notices = [], footer }: MessageProps): ReactNode {
  return (
    <div className="cq cq-message-user" role="article" aria-label="You" data-message={message.id}>
      {notices.map((notice) => (
        <NoticeLine key={notice.id} notice={notice} />
      ))}
      <p className="cq-message-said" dir="auto">
        {message.content}
      </p>
      {footer}
    </div>
  );
}

function Answer({
  message,
  notices = [],
  failure = null,
  inReplyTo = null,
  reasoning = null,
  footer,
  ...details
}: MessageProps): ReactNode {
  const { Markdown } = useComponents();
  const parts = useMemo(() => grouped(message), [message]);
  const isRunning = message.status === "streaming" || message.status === "queued";
  const isAsking = (details.actions ?? []).length > 0;
  return (
    <div className="cq cq-message-assistant" role="article" aria-label="Assistant" data-message={message.id}>
      {inReplyTo !== null && <InReplyTo question={inReplyTo} />}
      {notices.map((notice) => (
        <NoticeLine key={notice.id} notice={notice} />
      ))}
      <ReasoningDetails message={message} live={reasoning} />
      {parts.map((part, at) =>
        typeof part === "string" ? (
          <Markdown key={at} text={part} />
        ) : (
          <ToolGroup key={at} message={message} calls={part} {...details} />
        ),
      )}
      {isRunning && !isAsking && typeof parts.at(-1) !== "string" && reasoning === null && <Thinking />}
      <AnswerDetails message={message} />
      {message.status === "failed" && (
        <p className="cq-message-error">
          <CircleAlert size={16} />
          <span dir="auto">{failure?.message ?? "The assistant could not finish this answer."}</span>
        </p>
      )}
      {footer}
      {message.summary !== undefined && <SummaryLine />}
    </div>
  );
}

/** Marks the end of the messages that a summary replaces in prompts. */
function SummaryLine(): ReactNode {
  return (
    <p className="cq-message-summary" role="note">
      <span>Earlier messages were summarized for the assistant</span>
    </p>
  );
}

/** Splits a message into texts and groups of consecutive calls. */
function grouped(message: StoredMessage): readonly (string | readonly Call[])[] {
  const parts: (string | Call[])[] = [];
  for (const part of messageParts(message)) {
    const last = parts.at(-1);
    if (part.kind === "call" && Array.isArray(last)) last.push(part.call);
    else if (part.kind === "call") parts.push([part.call]);
    else if (part.text.trim() !== "") parts.push(part.text.replace(/^\n+/, ""));
  }
  return parts;
}

/** An answer without text, calls and reasoning so far. */
export function PendingAnswer(): ReactNode {
  return (
    <div className="cq cq-message-assistant" role="article" aria-label="Assistant">
      <Thinking />
    </div>
  );
}

function Thinking(): ReactNode {
  return (
    <p className="cq-message-thinking">
      <span className="cq-unseen">Thinking…</span>
      <span aria-hidden />
      <span aria-hidden />
      <span aria-hidden />
    </p>
  );
}
