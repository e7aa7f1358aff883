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
import { LeavingMessage } from "./leaving-message.tsx";
import type { Leaving } from "./outbox-messages.ts";
import type { NewestMessages } from "./use-newest-messages.ts";
import { UserMessage } from "./user-message.tsx";
import styles from "./thread.module.css";

const NONE: readonly Leaving[] = [];

export interface ThreadProps {
  /** The session whose draft the composer keeps, `null` for a new one. */
  readonly draftOf: string | null;
  readonly failures: readonly Failure[];
  readonly onDismiss: (failure: Failure) => void;
  readonly onKeyWanted: () => void;
  /** Which messages are on the page; all of them without it. */
  readonly messages?: NewestMessages;
  /** What was said and has not reached the service yet. */
  readonly leaving?: readonly Leaving[];
  /** Below the text that is written. */
  readonly pickers: ReactNode;
  /** Nothing can be said any more: no composer. */
  readonly isOver?: boolean;
  /** Shown while there is no message. */
  readonly welcome?: ReactNode;
}

/** The messages and the composer, below an assistant-ui runtime. */
export function Thread({
  draftOf,
  failures,
  onDismiss,
  onKeyWanted,
  messages,
  leaving = NONE,
  pickers,
  isOver = false,
  welcome,
}: ThreadProps): ReactNode {
  const isEmpty = useAuiState(({ thread }) => thread.messages.length === 0);
  return (
    <ThreadPrimitive.Root className={styles["thread"]}>
      {/* What is new is told by the announcer, in whole sentences; a live log would read every word that streams. */}
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
          {leaving.map((message) => (
            <LeavingMessage key={message.number} text={message.text} />
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

/** In the place of a message that cannot be shown: the others, and the composer, stay. */
function BrokenMessage(): ReactNode {
  return <p className={styles["broken"]}>This message cannot be shown. The service has it.</p>;
}

/** In the place of the composer. What were sent would begin another conversation under the same id. */
function Over(): ReactNode {
  return (
    <div className={styles["over"]}>
      <p>Nothing more can be said here.</p>
      <Button look="primary" onClick={() => goTo({ page: "chat", sessionId: null })}>
        New chat
      </Button>
    </div>
  );
}
