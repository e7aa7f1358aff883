import { MessagePrimitive, useAuiState } from "@assistant-ui/react";
import type { ReactNode } from "react";
import { NOTICE_PART } from "@colloquy/react/assistant-ui";
import { CopyButton } from "../design/copy-button.tsx";
import { NoticePart } from "./notice-part.tsx";
import { MessageTime } from "./message-time.tsx";
import { SENDING, SendingState } from "./sending-state.tsx";
import { useMessageText } from "./use-message-text.ts";
import styles from "./message.module.css";

/** A user's message, shown as written, never as markup. */
export function UserMessage(): ReactNode {
  const text = useMessageText();
  const status = useAuiState(({ message }) => message.metadata.custom["status"]);
  return (
    <MessagePrimitive.Root className={styles["user"]} role="article" aria-label="You">
      <MessagePrimitive.Parts components={PARTS} />
      <footer className={styles["footer"]}>
        {status === "queued" && <span className={styles["state"]}>Waiting for its turn</span>}
        {status === "interrupted" && <span className={styles["state"]}>Stopped before it was answered</span>}
        {status === SENDING && <SendingState />}
        <MessageTime />
        <CopyButton label="Copy message" text={text} />
      </footer>
    </MessagePrimitive.Root>
  );
}

const PARTS = { Text: Said, data: { by_name: { [NOTICE_PART]: NoticePart } } };

function Said({ text }: { readonly text: string }): ReactNode {
  return (
    <p className={styles["said"]} dir="auto">
      {text}
    </p>
  );
}
