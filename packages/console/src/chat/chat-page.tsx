import { Code } from "lucide-react";
import { useCallback, useMemo, useSyncExternalStore, type ReactNode } from "react";
import { useConnection } from "../connection/connection.tsx";
import { IconButton } from "../design/button.tsx";
import { TopBar } from "../shell/top-bar.tsx";

/** One conversation, or the beginning of a new one. */
export function ChatPage({
  sessionId,
  menu,
  isDeveloping,
  onDevelop,
}: {
  readonly sessionId: string | null;
  readonly menu: ReactNode;
  readonly isDeveloping: boolean;
  readonly onDevelop: () => void;
}): ReactNode {
  const { client } = useConnection();
  const session = useMemo(() => client.session(sessionId ?? undefined), [client, sessionId]);
  const subscribe = useCallback(
    (listener: () => void) => (sessionId === null ? () => {} : session.subscribe(listener)),
    [session, sessionId],
  );
  const snapshot = useSyncExternalStore(subscribe, session.getSnapshot);
  return (
    <>
      <TopBar menu={menu} title={snapshot?.title ?? "New chat"}>
        {sessionId !== null && (
          <IconButton label="Developer panel" aria-pressed={isDeveloping} onClick={onDevelop}>
            <Code size={18} aria-hidden />
          </IconButton>
        )}
      </TopBar>
      <p>{snapshot === null ? "Nothing has been said yet." : `${snapshot.messages.length} messages.`}</p>
    </>
  );
}
