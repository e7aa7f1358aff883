import { useMemo, useSyncExternalStore, type ReactNode } from "react";
import { useConnection } from "../connection/connection.tsx";

/** What happens in a session, as a developer wants to see it. */
export function DeveloperPanel({ sessionId }: { readonly sessionId: string }): ReactNode {
  const { client } = useConnection();
  const session = useMemo(() => client.session(sessionId), [client, sessionId]);
  const snapshot = useSyncExternalStore(session.subscribe, session.getSnapshot);
  return <p>{snapshot === null ? "Nothing is known yet." : `Status: ${snapshot.status}`}</p>;
}
