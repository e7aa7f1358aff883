import { useCallback, useEffect, useState } from "react";
import { useColloquy } from "@colloquy/react";

export interface Models {
  readonly models: readonly string[];
  /** True if the list is empty because the request failed. */
  readonly isFailed: boolean;
  readonly refetch: () => void;
}

const NOT_KNOWN = { models: [], isFailed: false } as const;

/**
 * Returns the models of the session's App or, for `null`, the selected App. The first one is the default.
 * Sends no request for `undefined`: use it while the session's App is unknown, because the service rejects
 * the wrong App.
 */
export function useModels(sessionId: string | null | undefined): Models {
  const { client } = useColloquy();
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
