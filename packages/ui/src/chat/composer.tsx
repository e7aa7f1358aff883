import { ComposerPrimitive, ThreadPrimitive, useAui, useAuiState } from "@assistant-ui/react";
import { ComposerFiles } from "./composer-files.tsx";
import { IconButton } from "../design/button.tsx";
import { ArrowUp, ChevronDown, CornerDownRight, ListEnd, Paperclip, Square } from "../design/icons.tsx";
import { use, useEffect, useSyncExternalStore, type FormEvent, type ReactNode } from "react";
import { MenuButton } from "../design/menu-button.tsx";
import { keepComposition } from "../design/keep-composition.ts";
import { useMediaQuery } from "../design/use-media-query.ts";
import type { ComposerText } from "./composer-text.ts";
import type { Message } from "./outbox-messages.ts";
import { SessionIdContext } from "./session-id.tsx";
import { useApp } from "./use-app.ts";

/** Maximum length of a message that the service accepts (docs/api.md, "Send a message"). */
export const MAX_MESSAGE_LENGTH = 32_768;

/** Input for messages. Enter sends, and Shift+Enter starts a new line. On a touch screen, Enter starts a new line. */
export function Composer({
  text: source,
  pickers,
}: {
  readonly text: ComposerText;
  readonly pickers: ReactNode;
}): ReactNode {
  const aui = useAui();
  const text = useSyncExternalStore(source.subscribe, source.getSnapshot, source.getSnapshot);
  useRestoredText(source);
  // On touch devices, focusing the input would open the on-screen keyboard.
  const hasKeyboard = useMediaQuery("(pointer: fine)");
  const isTouch = useMediaQuery("(pointer: coarse)");
  const left = MAX_MESSAGE_LENGTH - text.length;
  const isRefused = useAuiState(
    ({ thread }) =>
      thread.isDisabled || thread.isSendDisabled || (thread.isRunning && !thread.capabilities.queue),
  );
  const files = useAuiState(({ composer }) => composer.attachments);
  const hasFiles = files.length > 0;
  const isUploaded = files.every(({ status }) => status.type !== "running" && status.type !== "incomplete");
  const canSend = (text.trim() !== "" || hasFiles) && isUploaded && left >= 0 && !isRefused;
  // Prevent the handlers of assistant-ui, which use the text in its runtime.
  const change = (event: FormEvent<HTMLTextAreaElement>): void => {
    event.preventDefault();
    source.set(event.currentTarget.value);
  };
  const send = (busy: Message["busy"]): void => {
    if (!canSend) return;
    source.set("");
    aui.composer().setText(text);
    aui.composer().send(busy === null ? {} : { steer: busy === "steer" });
  };
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    send(null);
  };
  return (
    <ComposerPrimitive.AttachmentDropzone asChild>
      <ComposerPrimitive.Root className="cq-composer" onSubmit={submit}>
        <ComposerFiles />
        <ComposerPrimitive.Input
          className="cq-composer-input"
          data-shortcut="message"
          aria-label="Message"
          placeholder="Write a message"
          value={text}
          onChange={change}
          onCompositionEnd={change}
          autoFocus={hasKeyboard}
          cancelOnEscape={false}
          submitMode={isTouch ? "ctrlEnter" : "enter"}
          rows={1}
          maxRows={12}
          dir="auto"
          onKeyDown={keepComposition}
        />
        <div className="cq-composer-row">
          <ComposerPrimitive.AddAttachment asChild multiple>
            <IconButton size="small" label="Attach files">
              <Paperclip size={16} />
            </IconButton>
          </ComposerPrimitive.AddAttachment>
          <div className="cq-composer-pickers">{pickers}</div>
          {left < 1_000 && (
            <output className="cq-composer-left">
              {left >= 0 ? `${left} characters left` : `${-left} characters too many`}
            </output>
          )}
          <ThreadPrimitive.If running>
            <ComposerPrimitive.Cancel
              className="cq-composer-stop"
              aria-label="Stop"
              title="Stop"
              data-shortcut="stop"
            >
              <Square size={14} fill="currentColor" />
            </ComposerPrimitive.Cancel>
          </ThreadPrimitive.If>
          <ThreadPrimitive.If running>{canSend && <SendChoice onChoose={send} />}</ThreadPrimitive.If>
          <button
            type="submit"
            className="cq-composer-send"
            aria-label="Send"
            title="Send"
            disabled={!canSend}
          >
            <ArrowUp size={18} />
          </button>
        </div>
      </ComposerPrimitive.Root>
    </ComposerPrimitive.AttachmentDropzone>
  );
}

/** Menu for a busy assistant: steer the answer or queue the message. Enter applies the App's `onBusy`. */
function SendChoice({ onChoose }: { readonly onChoose: (busy: Message["busy"]) => void }): ReactNode {
  const app = useApp(use(SessionIdContext));
  if (app === null || app.on_busy === "reject") return null;
  return (
    <MenuButton
      className="cq-composer-choice"
      title="When to send"
      items={[
        { label: "Send now", icon: <CornerDownRight size={16} />, onSelect: () => onChoose("steer") },
        { label: "After this answer", icon: <ListEnd size={16} />, onSelect: () => onChoose("enqueue") },
      ]}
    >
      <ChevronDown size={16} />
    </MenuButton>
  );
}

/** Moves unsent text from assistant-ui's runtime, which restores it there, to the composer if that is empty. */
function useRestoredText(text: ComposerText): void {
  const aui = useAui();
  const restored = useAuiState(({ composer }) => composer.text);
  useEffect(() => {
    if (restored === "") return;
    if (text.getSnapshot() === "") text.set(restored);
    aui.composer().setText("");
  }, [aui, restored, text]);
}
