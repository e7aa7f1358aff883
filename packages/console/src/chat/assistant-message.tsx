import { ActionBarPrimitive, MessagePrimitive, useAuiState } from "@assistant-ui/react";
import { NOTICE_PART } from "@colloquy/react/assistant-ui";
import { CircleAlert, RotateCw } from "../design/icons.tsx";
import type { ReactNode } from "react";
import { Button, IconButton } from "../design/button.tsx";
import { CopyButton } from "../design/copy-button.tsx";
import { MarkdownText } from "../markdown/markdown-text.tsx";
import { AnswerDetails } from "./answer-details.tsx";
import { ForkButton } from "./fork-button.tsx";
import { InReplyTo } from "./in-reply-to.tsx";
import { MessageTime } from "./message-time.tsx";
import { NoticePart } from "./notice-part.tsx";
import { ToolCall } from "./tool-call.tsx";
import { useMessageText } from "./use-message-text.ts";
import styles from "./message.module.css";

export function AssistantMessage(): ReactNode {
  const text = useMessageText();
  const state = useAuiState(({ message }) => message.status?.type);
  const reason = useAuiState(({ message }) =>
    message.status?.type === "incomplete" ? message.status.reason : null,
  );
  // Regenerating an earlier answer would remove the messages after it.
  const isLast = useAuiState(({ message }) => message.isLast);
  const error = useAuiState(({ message }) =>
    message.status?.type === "incomplete" && message.status.reason === "error" ? message.status.error : null,
  );
  return (
    <MessagePrimitive.Root className={styles["assistant"]} role="article" aria-label="Assistant">
      <InReplyTo />
      <MessagePrimitive.Parts components={PARTS} />
      <AnswerDetails />
      {typeof error === "string" && (
        <p className={styles["error"]}>
          <CircleAlert size={16} />
          <span dir="auto">{error}</span>
        </p>
      )}
      {state !== "running" && state !== "requires-action" && (
        <footer className={styles["footer"]}>
          {isLast && (
            <ActionBarPrimitive.Reload asChild>
              {reason === "error" ? (
                <Button size="small">Try again</Button>
              ) : (
                <IconButton size="small" label="Answer again">
                  <RotateCw size={15} />
                </IconButton>
              )}
            </ActionBarPrimitive.Reload>
          )}
          {text !== "" && <CopyButton label="Copy message" text={text} />}
          <ForkButton />
          <MessageTime />
          {reason === "cancelled" && <span className={styles["state"]}>Stopped</span>}
        </footer>
      )}
    </MessagePrimitive.Root>
  );
}

const PARTS = {
  Text: MarkdownText,
  tools: { Override: ToolCall },
  data: { by_name: { [NOTICE_PART]: NoticePart } },
};
