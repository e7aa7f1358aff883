import { ThreadPrimitive, useAuiState, useThreadViewport } from "@assistant-ui/react";
import type { Message } from "@colloquy/client";
import { ArrowDown } from "../design/icons.tsx";
import { useEffect, type ReactNode } from "react";
import { Button } from "../design/button.tsx";
import { classes } from "../design/classes.ts";
import { ErrorBoundary } from "../design/error-boundary.tsx";
import { AssistantMessage } from "./assistant-message.tsx";
import { Composer } from "./composer.tsx";
import { useComposerText } from "./composer-text.ts";
import { EarlierMessages, LaterMessages } from "./earlier-messages.tsx";
import { FailureBars } from "./failure-bar.tsx";
import { NewestShownContext } from "./newest-shown.ts";
import { OutgoingMessage } from "./outgoing-message.tsx";
import type { Outgoing } from "./outbox-messages.ts";
import { useFailures } from "./use-outbox.ts";
import { usePage } from "./page-context.tsx";
import type { ShownMessages } from "./use-shown-messages.ts";
import { UserMessage } from "./user-message.tsx";

const NONE: readonly Outgoing[] = [];
const NO_MESSAGES: readonly Message[] = [];

export interface ThreadProps {
  /** Session of the composer's draft and failures; `null` for a new conversation. */
  readonly draftOf: string | null;
  /** The range of rendered messages; all when absent. */
  readonly messages?: ShownMessages;
  /** The conversation's loaded messages. */
  readonly shown?: readonly Message[] | undefined;
  /** Messages in flight to the service. */
  readonly outgoing?: readonly Outgoing[];
  /** Shown below the input. */
  readonly pickers: ReactNode;
  /** Hides the composer of a deleted conversation. */
  readonly isOver?: boolean;
  /** Shown above the composer while there are no messages. */
  readonly welcome?: ReactNode;
  /** Shown below the composer while there are no messages. */
  readonly suggestions?: ReactNode;
}

/** Messages and composer. Requires an assistant-ui runtime above it. */
export function Thread({
  draftOf,
  messages,
  shown = NO_MESSAGES,
  outgoing = NONE,
  pickers,
  isOver = false,
  welcome,
  suggestions,
}: ThreadProps): ReactNode {
  const text = useComposerText(draftOf);
  const { failures, dismiss } = useFailures(draftOf, text, shown);
  const isNewestShown = (messages?.later ?? 0) === 0;
  const isEmpty = useAuiState(({ thread }) => thread.messages.length === 0);
  return (
    <ThreadPrimitive.Root className={classes("cq cq-thread", isEmpty && !isOver && "cq-thread-empty")}>
      {/* The announcer reports changes in full sentences; a live region would read every streamed word. */}
      <ThreadPrimitive.Viewport
        className="cq-thread-viewport"
        role="log"
        aria-label="Messages"
        aria-live="off"
        autoScroll={isNewestShown}
        // A message from elsewhere must not move a reader.
        scrollToBottomOnRunStart={false}
        tabIndex={0}
      >
        <div className="cq-thread-messages">
          {isEmpty && !isOver && welcome}
          {messages !== undefined && <EarlierMessages {...messages} />}
          <NewestShownContext value={isNewestShown}>
            <ThreadPrimitive.Messages>{renderMessage}</ThreadPrimitive.Messages>
          </NewestShownContext>
          {messages !== undefined && <LaterMessages {...messages} />}
          {outgoing.map((message) => (
            <OutgoingMessage key={message.number} text={message.text} />
          ))}
          <ScrollToOutgoing newest={outgoing.at(-1)?.number ?? null} />
        </div>
      </ThreadPrimitive.Viewport>
      <div className="cq-thread-bottom">
        {isNewestShown ? (
          <ThreadPrimitive.ScrollToBottom className="cq-thread-down" aria-label="Go to the newest message">
            <ArrowDown size={18} />
          </ThreadPrimitive.ScrollToBottom>
        ) : (
          <button
            type="button"
            className="cq-thread-down"
            aria-label="Go to the newest message"
            onClick={messages?.showNewest}
          >
            <ArrowDown size={18} />
          </button>
        )}
        <FailureBars failures={failures} onDismiss={dismiss} />
        {isOver ? <Over /> : <Composer text={text} pickers={pickers} />}
        {isEmpty && !isOver && suggestions}
      </div>
    </ThreadPrimitive.Root>
  );
}

/** Defined here, because a new function on each render would render all messages again. */
const renderMessage = ({ message }: { readonly message: { readonly role: string } }): ReactNode => (
  <ErrorBoundary fallback={<BrokenMessage />}>
    {message.role === "user" ? <UserMessage /> : <AssistantMessage />}
  </ErrorBoundary>
);

/** Replaces a message that fails to render, so that other messages and the composer keep working. */
function BrokenMessage(): ReactNode {
  return <p className="cq-thread-broken">This message cannot be displayed. It is stored on the service.</p>;
}

/** Replaces the composer of a deleted conversation: a message would start a new one under the same id. */
function Over(): ReactNode {
  const { address } = usePage();
  return (
    <div className="cq-thread-over">
      <p>You cannot send messages here any more.</p>
      {address.isFixed !== true && (
        <Button look="primary" onClick={() => address.open(null)}>
          New chat
        </Button>
      )}
    </div>
  );
}

/** Scrolls to the end when the user sends a message. `newest` is the number of the newest message in flight. */
function ScrollToOutgoing({ newest }: { readonly newest: number | null }): null {
  const scrollToBottom = useThreadViewport((viewport) => viewport.scrollToBottom);
  useEffect(() => {
    if (newest !== null) scrollToBottom();
  }, [newest, scrollToBottom]);
  return null;
}
