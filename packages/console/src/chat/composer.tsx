import { ComposerPrimitive, ThreadPrimitive, useAui, useAuiState } from "@assistant-ui/react";
import { ArrowUp, Square } from "../design/icons.tsx";
import { useEffect, type ReactNode } from "react";
import { useConnection } from "../connection/connection.tsx";
import { useMediaQuery } from "../design/use-media-query.ts";
import { loadDraft, saveDraft } from "./drafts.ts";
import styles from "./composer.module.css";

/** Maximum length of a message that the service accepts (docs/api.md, "Send a message"). */
export const MAX_MESSAGE_LENGTH = 32_768;

/** Input for messages. Enter sends, Shift+Enter starts a new line. */
export function Composer({
  draftOf,
  pickers,
}: {
  readonly draftOf: string | null;
  readonly pickers: ReactNode;
}): ReactNode {
  useDraft(draftOf);
  // On touch devices focusing would open the keyboard.
  const hasKeyboard = useMediaQuery("(pointer: fine)");
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
        aria-label="Message"
        placeholder="Write a message"
        autoFocus={hasKeyboard}
        cancelOnEscape={false}
        rows={1}
        maxRows={12}
        dir="auto"
      />
      <div className={styles["row"]}>
        <div className={styles["pickers"]}>{pickers}</div>
        {left < 1_000 && (
          <output className={styles["left"]}>
            {left >= 0 ? `${left} characters left` : `${-left} characters too many`}
          </output>
        )}
        <ThreadPrimitive.If running>
          <ComposerPrimitive.Cancel className={styles["stop"]} aria-label="Stop" title="Stop">
            <Square size={14} fill="currentColor" />
          </ComposerPrimitive.Cancel>
        </ThreadPrimitive.If>
        <ComposerPrimitive.Send className={styles["send"]} aria-label="Send" title="Send" disabled={left < 0}>
          <ArrowUp size={18} />
        </ComposerPrimitive.Send>
      </div>
    </ComposerPrimitive.Root>
  );
}

/** Restores the draft of this conversation and saves changes. */
function useDraft(draftOf: string | null): void {
  const { storage } = useConnection();
  const aui = useAui();
  const text = useAuiState(({ composer }) => composer.text);
  useEffect(() => {
    const draft = loadDraft(storage, draftOf);
    if (draft !== "" && aui.composer().getState().text === "") aui.composer().setText(draft);
  }, [storage, aui, draftOf]);
  useEffect(() => saveDraft(storage, draftOf, text), [storage, draftOf, text]);
}
