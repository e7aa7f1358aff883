import { ActionBarPrimitive, useAuiState } from "@assistant-ui/react";
import { RotateCw } from "../design/icons.tsx";
import type { Message as StoredMessage } from "@colloquy/client";
import { use, type ReactNode } from "react";
import { Button, IconButton } from "../design/button.tsx";
import { CopyButton } from "../design/copy-button.tsx";
import { FeedbackButtons } from "./feedback-buttons.tsx";
import { ForkButton } from "./fork-button.tsx";
import { Message, PendingAnswer } from "./message.tsx";
import { MessageFiles } from "./message-files.tsx";
import { MessageTime } from "./message-time.tsx";
import { NewestShownContext } from "./newest-shown.ts";
import { ResultFilesContext } from "./result-files.ts";
import { useDisplayMessage } from "./use-display-message.ts";
import { useMessageText } from "./use-message-text.ts";

/** An answer with its buttons. */
export function AssistantMessage(): ReactNode {
  return (
    <ResultFilesContext value={MessageFiles}>
      <Answer />
    </ResultFilesContext>
  );
}

function Answer(): ReactNode {
  const shown = useDisplayMessage();
  const isNewestShown = use(NewestShownContext);
  // assistant-ui adds a placeholder after a question, even an old one at the end of the rendered range.
  if (shown === null) return isNewestShown && <PendingAnswer />;
  const { status } = shown.message;
  const isOver = status !== "streaming" && status !== "queued";
  return (
    <Message
      {...shown}
      reasoning={isOver ? null : shown.reasoning}
      footer={isOver && <Footer message={shown.message} />}
    />
  );
}

function Footer({ message }: { readonly message: StoredMessage }): ReactNode {
  const { status } = message;
  const text = useMessageText();
  // Regenerating an earlier answer would remove the messages after it.
  const isLast = useAuiState(({ message }) => message.isLast);
  const isNewest = use(NewestShownContext) && isLast;
  return (
    <footer className="cq-message-footer">
      {isNewest && (
        <ActionBarPrimitive.Reload asChild>
          {status === "failed" ? (
            <Button size="small">Try again</Button>
          ) : (
            <IconButton size="small" label="Answer again">
              <RotateCw size={15} />
            </IconButton>
          )}
        </ActionBarPrimitive.Reload>
      )}
      {text !== "" && <CopyButton label="Copy message" text={text} />}
      <FeedbackButtons message={message} />
      <ForkButton />
      <MessageTime />
      {status === "interrupted" && <span className="cq-message-state">Stopped</span>}
    </footer>
  );
}
