import type { Connection } from "@colloquy/client";
import type { ReactNode } from "react";
import { Button } from "../design/button.tsx";
import { hashOf } from "../shell/route.ts";
import { connectionWords } from "./connection-words.ts";
import styles from "./bars.module.css";

/** How the conversation is followed, while that is not as it should be. */
export function ConnectionBar({
  connection,
  onRetry,
  onKeyWanted,
}: {
  readonly connection: Connection;
  readonly onRetry: () => void;
  readonly onKeyWanted: () => void;
}): ReactNode {
  const words = connectionWords(connection);
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
            <a href={hashOf({ page: "chat", sessionId: null })}>Begin a new one</a>
          )}
        </div>
      )}
    </div>
  );
}
