import { ComposerPrimitive, useAuiState } from "@assistant-ui/react";
import type { ReactNode } from "react";
import { Button } from "../design/button.tsx";
import { MAX_MESSAGE_LENGTH } from "./composer.tsx";
import styles from "./composer.module.css";

/** Edits the surrounding message. Enter sends, Escape cancels. */
export function EditForm(): ReactNode {
  const left = useAuiState(({ composer }) => MAX_MESSAGE_LENGTH - composer.text.length);
  return (
    <ComposerPrimitive.Root
      className={styles["composer"]}
      onSubmit={(event) => {
        // The service would reject the message.
        if (left < 0) event.preventDefault();
      }}
    >
      <ComposerPrimitive.Input
        className={styles["input"]}
        aria-label="Edited message"
        aria-describedby="edit-consequence"
        // The user has just chosen to edit, so move the focus here.
        autoFocus
        rows={1}
        maxRows={12}
        dir="auto"
      />
      <div className={styles["row"]}>
        <p id="edit-consequence" className={styles["consequence"]}>
          {left < 0 ? `${-left} characters too many` : "Sending removes everything after this message."}
        </p>
        <ComposerPrimitive.Cancel asChild>
          <Button size="small">Cancel</Button>
        </ComposerPrimitive.Cancel>
        <ComposerPrimitive.Send asChild disabled={left < 0}>
          <Button size="small" look="primary">
            Send
          </Button>
        </ComposerPrimitive.Send>
      </div>
    </ComposerPrimitive.Root>
  );
}
