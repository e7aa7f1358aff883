import { X } from "../design/icons.tsx";
import type { ReactNode } from "react";
import { useConnection } from "../connection/connection.tsx";
import { Button, IconButton } from "../design/button.tsx";
import { goTo } from "../shell/use-route.ts";
import { useMissed, useSendingAgain } from "./use-outbox.ts";
import styles from "./bars.module.css";

/** What went wrong in conversations that were left meanwhile, until it is read or the conversation is opened. */
export function MissedBar(): ReactNode {
  const { outbox } = useConnection();
  // It stands above every place, so that what fails of this is told wherever one is.
  useSendingAgain();
  return useMissed().map(({ number, sessionId, failure }) => (
    <div key={number} className={styles["failure"]} role="alert">
      <p dir="auto">
        {sessionId === null ? "In the new chat" : "In a conversation"} that you left: {failure.sentence}
      </p>
      <Button size="small" onClick={() => goTo({ page: "chat", sessionId })}>
        Go there
      </Button>
      <IconButton size="small" label="Dismiss" onClick={() => outbox.dismiss(number)}>
        <X size={16} />
      </IconButton>
    </div>
  ));
}
