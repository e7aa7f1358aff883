import { useCallback, useEffect, useState } from "react";
import { useConnection } from "../connection/connection.tsx";

export interface Models {
  readonly models: readonly string[];
  /** True if the list is empty because the request failed. */
  readonly isFailed: boolean;
  readonly refetch: () => void;
}

const NOT_KNOWN = { models: [], isFailed: false } as const;

/**
 * Returns the models of the session's App, or of the selected App without a session; the first one is the
 * default. With `undefined`, requests nothing: the service refuses a session under another App.
 */
export function useModels(sessionId: string | null | undefined): Models {
  const { client } = useConnection();
  const [known, setKnown] = useState<Omit<Models, "refetch">>(NOT_KNOWN);
  const [round, setRound] = useState(0);
  const refetch = useCallback(() => setRound((round) => round + 1), []);
  useEffect(() => {
    if (sessionId === undefined) return;
    const leaving = new AbortController();
    const { signal } = leaving;
    client.listModels({ signal, ...(sessionId !== null && { sessionId }) }).then(
      (models) => setKnown({ models, isFailed: false }),
      () => {
        if (!signal.aborted) setKnown({ models: [], isFailed: true });
      },
    );
    return () => leaving.abort();
  }, [client, sessionId, round]);
  return { ...known, refetch };
}
