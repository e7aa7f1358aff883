import { useCallback, useEffect, useState } from "react";
import { useConnection } from "../connection/connection.tsx";

export interface Models {
  readonly models: readonly string[];
  /** There are none to choose from, because the service could not be asked. */
  readonly isFailed: boolean;
  readonly askAgain: () => void;
}

const NOT_KNOWN = { models: [], isFailed: false } as const;

/** The models that the session may choose, or without one, those of the App that is chosen. The first one is the App's default. */
export function useModels(sessionId: string | null): Models {
  const { client } = useConnection();
  const [known, setKnown] = useState<Omit<Models, "askAgain">>(NOT_KNOWN);
  const [round, setRound] = useState(0);
  const askAgain = useCallback(() => setRound((round) => round + 1), []);
  useEffect(() => {
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
  return { ...known, askAgain };
}
