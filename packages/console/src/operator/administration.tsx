// The client of the admin API for the pages below, and what becomes of a key that the service does not take.

import { ColloquyError, createAdminClient, type AdminClient } from "@colloquy/client/admin";
import { createContext, use, useCallback, useEffect, useMemo, useState, type ReactNode } from "react";

export interface Administration {
  readonly client: AdminClient;
  /** Tells what a request has thrown, as a sentence. A key that is refused takes the pages away. */
  readonly explain: (error: unknown) => string;
}

/** Why the pages cannot be shown. */
export type Refusal = "wrong-key" | "no-area";

const AdministrationContext = createContext<Administration | null>(null);

export function AdministrationProvider({
  adminKey,
  onRefused,
  children,
}: {
  readonly adminKey: string;
  readonly onRefused: (refusal: Refusal) => void;
  readonly children: ReactNode;
}): ReactNode {
  const client = useMemo(() => {
    // Where the page is: the service may stand under a path of its host.
    const baseUrl = new URL(".", window.location.href).href;
    return createAdminClient({ baseUrl, key: adminKey, retries: 1 });
  }, [adminKey]);
  const explain = useCallback(
    (error: unknown) => {
      if (!(error instanceof ColloquyError)) return error instanceof Error ? error.message : String(error);
      if (error.status === 401) onRefused("wrong-key");
      if (error.code === "route_not_found") onRefused("no-area");
      return error.requestId === null ? error.message : `${error.message} (request ${error.requestId})`;
    },
    [onRefused],
  );
  const value = useMemo(() => ({ client, explain }), [client, explain]);
  return <AdministrationContext value={value}>{children}</AdministrationContext>;
}

export function useAdministration(): Administration {
  const administration = use(AdministrationContext);
  if (administration === null) throw new Error("useAdministration needs an AdministrationProvider above it.");
  return administration;
}

export interface Answered<Answer> {
  /** The last answer, also of the question before while a new one is asked; `null` before the first. */
  readonly answer: Answer | null;
  /** Why the last question has no answer; `null` where it has. */
  readonly problem: string | null;
  readonly isAsking: boolean;
  readonly askAgain: () => void;
}

/**
 * Asks whenever `ask` is another function, and where `everyMs` is given so many milliseconds after each answer, as long as the page can be
 * seen.
 */
export function useAnswer<Answer>(
  ask: (client: AdminClient, signal: AbortSignal) => Promise<Answer>,
  everyMs: number | null = null,
): Answered<Answer> {
  const { client, explain } = useAdministration();
  const [state, setState] = useState<Omit<Answered<Answer>, "askAgain">>({
    answer: null,
    problem: null,
    isAsking: true,
  });
  const [round, setRound] = useState(0);
  const askAgain = useCallback(() => setRound((round) => round + 1), []);
  useEffect(() => {
    const leaving = new AbortController();
    const settle = (changes: Partial<Answered<Answer>>): void => {
      if (!leaving.signal.aborted) setState((before) => ({ ...before, ...changes, isAsking: false }));
    };
    const once = async (): Promise<void> => {
      setState((before) => ({ ...before, isAsking: true }));
      try {
        settle({ answer: await ask(client, leaving.signal), problem: null });
      } catch (error) {
        if (!leaving.signal.aborted) settle({ problem: explain(error) });
      }
    };
    const stop = whileSeen(once, everyMs);
    return () => {
      stop();
      leaving.abort();
    };
  }, [ask, client, explain, everyMs, round]);
  return { ...state, askAgain };
}

/** Does the work now and, where `everyMs` is given, again and again while the page can be seen. Answers what ends this. */
function whileSeen(work: () => Promise<void>, everyMs: number | null): () => void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  let isWorking = false;
  let isOver = false;
  const go = (): void => {
    clearTimeout(timer);
    if (isWorking || isOver) return;
    isWorking = true;
    void work().finally(() => {
      isWorking = false;
      if (everyMs !== null && !isOver) timer = setTimeout(goIfSeen, everyMs);
    });
  };
  // One that is hidden does not go on, until it is seen again.
  const goIfSeen = (): void => {
    if (document.visibilityState === "visible") go();
  };
  go();
  if (everyMs !== null) document.addEventListener("visibilitychange", goIfSeen);
  return () => {
    isOver = true;
    clearTimeout(timer);
    document.removeEventListener("visibilitychange", goIfSeen);
  };
}
