import { ActionBarPrimitive, useAuiState } from "@assistant-ui/react";
import { useEffect, useRef, type ReactNode, type RefObject } from "react";
import { IconButton } from "../design/button.tsx";
import { CopyButton } from "../design/copy-button.tsx";
import { Pencil } from "../design/icons.tsx";
import { EditForm } from "./edit-form.tsx";
import { MessageFiles } from "./message-files.tsx";
import { NoticeLine } from "./notice-line.tsx";
import { MessageTime } from "./message-time.tsx";
import { SENDING, SendingState } from "./sending-state.tsx";
import { useDisplayMessage } from "./use-display-message.ts";
import { useMessageText } from "./use-message-text.ts";

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
  const steering = useAuiState(({ message }) => message.metadata.custom["steering"]);
  const shown = useDisplayMessage();
  const notices = shown?.notices ?? [];
  const files = shown?.message.attachments ?? [];
  const canEdit = useAuiState(({ thread }) => thread.capabilities.edit);
  return (
    <div className="cq-message-user" role="article" aria-label="You" data-message={shown?.message.id}>
      {notices.map((notice) => (
        <NoticeLine key={notice.id} notice={notice} />
      ))}
      {files.length > 0 && <MessageFiles files={files} />}
      {text !== "" && (
        <p className="cq-message-said" dir="auto">
          {text}
        </p>
      )}
      <footer className="cq-message-footer">
        {status === "queued" && (
          <span className="cq-message-state">
            {steering === "pending" ? "The assistant reads this next" : "Waiting for its turn"}
          </span>
        )}
        {status === "interrupted" && <span className="cq-message-state">Stopped before it was answered</span>}
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
    </div>
  );
}
