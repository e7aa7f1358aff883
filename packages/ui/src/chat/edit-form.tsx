import { ComposerPrimitive, useAuiState } from "@assistant-ui/react";
import type { ReactNode } from "react";
import { Button } from "../design/button.tsx";
import { keepComposition } from "../design/keep-composition.ts";
import { useMediaQuery } from "../design/use-media-query.ts";
import { MAX_MESSAGE_LENGTH } from "./composer.tsx";

/** Edits the surrounding message. Enter sends, Escape cancels. */
export function EditForm(): ReactNode {
  const isTouch = useMediaQuery("(pointer: coarse)");
  const left = useAuiState(({ composer }) => MAX_MESSAGE_LENGTH - composer.text.length);
  return (
    <ComposerPrimitive.Root
      className="cq-composer"
      onSubmit={(event) => {
        // The service would reject the message.
        if (left < 0) event.preventDefault();
      }}
    >
      <ComposerPrimitive.Input
        className="cq-composer-input"
        aria-label="Edited message"
        aria-describedby="edit-consequence"
        // The user has just chosen to edit, so move the focus here.
        autoFocus
        submitMode={isTouch ? "ctrlEnter" : "enter"}
        rows={1}
        maxRows={12}
        dir="auto"
        onKeyDown={keepComposition}
      />
      <div className="cq-composer-row">
        <p id="edit-consequence" className="cq-composer-consequence">
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
