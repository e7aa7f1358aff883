import type { Connection } from "@colloquy/client";
import type { ReactNode } from "react";
import { Button } from "../design/button.tsx";
import { hashOf } from "../shell/route.ts";
import { connectionMessage } from "./connection-message.ts";
import styles from "./bars.module.css";

/** Shows problems of the live connection. */
export function ConnectionBar({
  connection,
  onRetry,
  onKeyWanted,
}: {
  readonly connection: Connection;
  readonly onRetry: () => void;
  readonly onKeyWanted: () => void;
}): ReactNode {
  const words = connectionMessage(connection);
  return (
    <div role="status" aria-label="Connection">
      {words !== null && (
        <div className={styles["connection"]}>
          <p>{words.sentence}</p>
          {words.help === "retry" && (
            <Button size="small" onClick={onRetry}>
              Try again
            </Button>
          )}
          {words.help === "key" && (
            <Button size="small" onClick={onKeyWanted}>
              Enter a key
            </Button>
          )}
          {words.help === "new-chat" && (
            <a href={hashOf({ page: "chat", sessionId: null })}>Start a new one</a>
          )}
        </div>
      )}
    </div>
  );
}
