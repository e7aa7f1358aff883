import { ActionBarPrimitive, MessagePrimitive, useAuiState } from "@assistant-ui/react";
import { useEffect, useRef, type ReactNode, type RefObject } from "react";
import { NOTICE_PART } from "@colloquy/react/assistant-ui";
import { IconButton } from "../design/button.tsx";
import { CopyButton } from "../design/copy-button.tsx";
import { Pencil } from "../design/icons.tsx";
import { EditForm } from "./edit-form.tsx";
import { NoticePart } from "./notice-part.tsx";
import { MessageTime } from "./message-time.tsx";
import { SENDING, SendingState } from "./sending-state.tsx";
import { useMessageText } from "./use-message-text.ts";
import styles from "./message.module.css";

/** A user's message as plain text, or the form to edit it. */
export function UserMessage(): ReactNode {
  const isEditing = useAuiState(({ message }) => message.composer.isEditing);
  const pencil = useFocusAfter(isEditing);
  return isEditing ? <EditForm /> : <Shown pencil={pencil} />;
}

/** Focuses the element once `isEditing` is false again. It is unmounted before. */
function useFocusAfter(isEditing: boolean): RefObject<HTMLButtonElement | null> {
  const element = useRef<HTMLButtonElement>(null);
  const wasEditing = useRef(false);
  useEffect(() => {
    if (wasEditing.current && !isEditing) element.current?.focus();
    wasEditing.current = isEditing;
  }, [isEditing]);
  return element;
}

function Shown({ pencil }: { readonly pencil: RefObject<HTMLButtonElement | null> }): ReactNode {
  const text = useMessageText();
  const status = useAuiState(({ message }) => message.metadata.custom["status"]);
  const canEdit = useAuiState(({ thread }) => thread.capabilities.edit);
  return (
    <MessagePrimitive.Root className={styles["user"]} role="article" aria-label="You">
      <MessagePrimitive.Parts components={PARTS} />
      <footer className={styles["footer"]}>
        {status === "queued" && <span className={styles["state"]}>Waiting for its turn</span>}
        {status === "interrupted" && <span className={styles["state"]}>Stopped before it was answered</span>}
        {status === SENDING && <SendingState />}
        <MessageTime />
        <CopyButton label="Copy message" text={text} />
        {canEdit && (
          <ActionBarPrimitive.Edit asChild>
            <IconButton ref={pencil} size="small" label="Edit message">
              <Pencil size={15} />
            </IconButton>
          </ActionBarPrimitive.Edit>
        )}
      </footer>
    </MessagePrimitive.Root>
  );
}

const PARTS = { Text: PlainText, data: { by_name: { [NOTICE_PART]: NoticePart } } };

function PlainText({ text }: { readonly text: string }): ReactNode {
  return (
    <p className={styles["said"]} dir="auto">
      {text}
    </p>
  );
}
