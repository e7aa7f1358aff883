import { ThreadPrimitive, useAuiState } from "@assistant-ui/react";
import { ArrowDown } from "../design/icons.tsx";
import type { ReactNode } from "react";
import { Button } from "../design/button.tsx";
import { ErrorBoundary } from "../shell/error-boundary.tsx";
import { goTo } from "../shell/use-route.ts";
import { AssistantMessage } from "./assistant-message.tsx";
import { Composer } from "./composer.tsx";
import { EarlierMessages } from "./earlier-messages.tsx";
import type { Failure } from "./failure.ts";
import { FailureBars } from "./failure-bar.tsx";
import { OutgoingMessage } from "./outgoing-message.tsx";
import type { Outgoing } from "./outbox-messages.ts";
import type { NewestMessages } from "./use-newest-messages.ts";
import { UserMessage } from "./user-message.tsx";
import styles from "./thread.module.css";

const NONE: readonly Outgoing[] = [];

export interface ThreadProps {
  /** The session whose draft the composer keeps, `null` for a new one. */
  readonly draftOf: string | null;
  readonly failures: readonly Failure[];
  readonly onDismiss: (failure: Failure) => void;
  readonly onKeyWanted: () => void;
  /** The range of rendered messages; all when absent. */
  readonly messages?: NewestMessages;
  /** Messages in flight to the service. */
  readonly outgoing?: readonly Outgoing[];
  /** Shown below the input. */
  readonly pickers: ReactNode;
  /** Hides the composer of a deleted conversation. */
  readonly isOver?: boolean;
  /** Shown while there are no messages. */
  readonly welcome?: ReactNode;
}

/** Messages and composer, below an assistant-ui runtime. */
export function Thread({
  draftOf,
  failures,
  onDismiss,
  onKeyWanted,
  messages,
  outgoing = NONE,
  pickers,
  isOver = false,
  welcome,
}: ThreadProps): ReactNode {
  const isEmpty = useAuiState(({ thread }) => thread.messages.length === 0);
  return (
    <ThreadPrimitive.Root className={styles["thread"]}>
      {/* The announcer reports changes in full sentences; a live region would read every streamed word. */}
      <ThreadPrimitive.Viewport
        className={styles["viewport"]}
        role="log"
        aria-label="Messages"
        aria-live="off"
        tabIndex={0}
      >
        <div className={styles["messages"]}>
          {isEmpty && !isOver && welcome}
          {messages !== undefined && <EarlierMessages {...messages} />}
          <ThreadPrimitive.Messages>
            {({ message }) => (
              <ErrorBoundary fallback={<BrokenMessage />}>
                {message.role === "user" ? <UserMessage /> : <AssistantMessage />}
              </ErrorBoundary>
            )}
          </ThreadPrimitive.Messages>
          {outgoing.map((message) => (
            <OutgoingMessage key={message.number} text={message.text} />
          ))}
        </div>
      </ThreadPrimitive.Viewport>
      <div className={styles["bottom"]}>
        <ThreadPrimitive.ScrollToBottom className={styles["down"]} aria-label="Go to the newest message">
          <ArrowDown size={18} />
        </ThreadPrimitive.ScrollToBottom>
        <FailureBars failures={failures} onDismiss={onDismiss} onKeyWanted={onKeyWanted} />
        {isOver ? <Over /> : <Composer draftOf={draftOf} pickers={pickers} />}
      </div>
    </ThreadPrimitive.Root>
  );
}

/** Replaces a message that fails to render; the others and the composer stay. */
function BrokenMessage(): ReactNode {
  return <p className={styles["broken"]}>This message cannot be displayed. It is stored on the service.</p>;
}

/** Replaces the composer: a message would start another conversation under the same id. */
function Over(): ReactNode {
  return (
    <div className={styles["over"]}>
      <p>You cannot send messages here any more.</p>
      <Button look="primary" onClick={() => goTo({ page: "chat", sessionId: null })}>
        New chat
      </Button>
    </div>
  );
}
