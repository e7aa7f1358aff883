import { useEffect, useState } from "react";
import { useConnection } from "../connection/connection.tsx";

export interface Models {
  readonly models: readonly string[];
  /** Why there are none to choose from. */
  readonly error: unknown;
}

const NOT_KNOWN: Models = { models: [], error: null };

/** The models that the session may choose, or without one, those of the App that is chosen. The first one is the App's default. */
export function useModels(sessionId: string | null): Models {
  const { client } = useConnection();
  const [known, setKnown] = useState(NOT_KNOWN);
  useEffect(() => {
    const leaving = new AbortController();
    const { signal } = leaving;
    client.listModels({ signal, ...(sessionId !== null && { sessionId }) }).then(
      (models) => setKnown({ models, error: null }),
      (error: unknown) => {
        if (!signal.aborted) setKnown({ models: [], error });
      },
    );
    return () => leaving.abort();
  }, [client, sessionId]);
  return known;
}
