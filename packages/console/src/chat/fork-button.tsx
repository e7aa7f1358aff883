import { useAuiState } from "@assistant-ui/react";
import { useThreads } from "@colloquy/react";
import { useState, type ReactNode } from "react";
import { useConnection } from "../connection/connection.tsx";
import { IconButton } from "../design/button.tsx";
import { GitFork } from "../design/icons.tsx";
import { hashOf } from "../shell/route.ts";
import { goTo } from "../shell/use-route.ts";
import { failureOf } from "./failure.ts";
import { useSessionId } from "./session-id.tsx";

/** Copies the conversation up to the surrounding answer into a new one, and opens the copy. */
export function ForkButton(): ReactNode {
  const sessionId = useSessionId();
  const through = useAuiState(({ message }) => message.id);
  const { outbox } = useConnection();
  const { fork } = useThreads();
  const [isForking, setForking] = useState(false);
  const onClick = async (): Promise<void> => {
    if (isForking) return;
    setForking(true);
    try {
      const { session_id } = await fork(sessionId, { through });
      // Do not navigate if the user has opened another conversation in the meantime; the list shows the copy.
      if (window.location.hash === hashOf({ page: "chat", sessionId }))
        goTo({ page: "chat", sessionId: session_id });
    } catch (error) {
      outbox.report(sessionId, failureOf("The conversation was not copied", error));
    } finally {
      setForking(false);
    }
  };
  return (
    <IconButton
      size="small"
      aria-disabled={isForking}
      label="Continue in a copy"
      onClick={() => void onClick()}
    >
      <GitFork size={15} />
    </IconButton>
  );
}
