import { X } from "../design/icons.tsx";
import type { ReactNode } from "react";
import { Button, IconButton } from "../design/button.tsx";
import { usePage } from "./page-context.tsx";
import { useMissed, useSendingAgain } from "./use-outbox.ts";

/** Shows failures in conversations that are not open, until the user dismisses them or opens the conversation. */
export function MissedBar(): ReactNode {
  const { outbox, address } = usePage();
  // Mounted on every page, so that failures of resent messages are reported everywhere.
  useSendingAgain();
  return useMissed().map(({ number, sessionId, failure }) => (
    <div key={number} className="cq-bars-failure" role="alert">
      <p dir="auto">
        {sessionId === null ? "In the new chat" : "In a conversation"} that you left: {failure.sentence}
      </p>
      <Button size="small" onClick={() => address.open(sessionId)}>
        Go there
      </Button>
      <IconButton size="small" label="Dismiss" onClick={() => outbox.dismiss(number)}>
        <X size={16} />
      </IconButton>
    </div>
  ));
}
