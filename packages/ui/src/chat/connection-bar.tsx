import type { Connection } from "@colloquy/client";
import type { ReactNode } from "react";
import { Button } from "../design/button.tsx";
import { usePage } from "./page-context.tsx";
import { connectionMessage } from "./connection-message.ts";

/** Shows problems of the live connection. */
export function ConnectionBar({
  connection,
  onRetry,
}: {
  readonly connection: Connection;
  readonly onRetry: () => void;
}): ReactNode {
  const { address, askForKey } = usePage();
  const words = connectionMessage(connection);
  return (
    <div role="status" aria-label="Connection">
      {words !== null && (
        <div className="cq-bars-connection">
          <p>{words.sentence}</p>
          {words.help === "retry" && (
            <Button size="small" onClick={onRetry}>
              Try again
            </Button>
          )}
          {words.help === "key" && askForKey !== null && (
            <Button size="small" onClick={askForKey}>
              Enter a key
            </Button>
          )}
          {words.help === "new-chat" && address.isFixed !== true && (
            <a href={address.hrefOf(null)}>Start a new one</a>
          )}
        </div>
      )}
    </div>
  );
}
