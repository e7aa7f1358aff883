// The admin client for the pages below, and the handling of refused keys.

import { ColloquyError, createAdminClient, type AdminClient } from "@colloquy/client/admin";
import { createContext, use, useCallback, useEffect, useMemo, useState, type ReactNode } from "react";

import type { SignIn } from "../sign-in/sign-in.ts";
import { watchedFetch } from "../sign-in/watched-fetch.ts";

export interface Administration {
  readonly client: AdminClient;
  /** Returns an error as a sentence. A refused key leaves the operators' area. */
  readonly explain: (error: unknown) => string;
}

/** Reason why the pages cannot be shown. */
export type Refusal = "wrong-key" | "no-area";

const AdministrationContext = createContext<Administration | null>(null);

export function AdministrationProvider({
  adminKey,
  operator,
  onRefused,
  children,
}: {
  /** `null` for an operator who has signed in. */
  readonly adminKey: string | null;
  readonly operator: SignIn;
  readonly onRefused: (refusal: Refusal) => void;
  readonly children: ReactNode;
}): ReactNode {
  const client = useMemo(() => {
    // The page's own folder: the service may be mounted under a path.
    const baseUrl = new URL(".", window.location.href).href;
    if (adminKey !== null) return createAdminClient({ baseUrl, key: adminKey, retries: 1 });
    const fetch = watchedFetch((input, init) => globalThis.fetch(input, init), operator);
    return createAdminClient({ baseUrl, key: () => operator.token(), fetch, retries: 1 });
  }, [adminKey, operator]);
  const explain = useCallback(
    (error: unknown) => {
      if (!(error instanceof ColloquyError)) return error instanceof Error ? error.message : String(error);
      if (error.status === 401 && adminKey !== null) onRefused("wrong-key");
      if (error.code === "route_not_found") onRefused("no-area");
      if (error.code === "operator_unknown") operator.end(error.message);
      return error.requestId === null ? error.message : `${error.message} (request ${error.requestId})`;
    },
    [onRefused, adminKey, operator],
  );
  const value = useMemo(() => ({ client, explain }), [client, explain]);
  return <AdministrationContext value={value}>{children}</AdministrationContext>;
}

export function useAdministration(): Administration {
  const administration = use(AdministrationContext);
  if (administration === null) throw new Error("useAdministration needs an AdministrationProvider above it.");
  return administration;
}

export interface Query<Answer> {
  /** The last response, which stays while a new query loads; `null` before the first. */
  readonly answer: Answer | null;
  /** Why the last request failed; `null` if it succeeded. */
  readonly problem: string | null;
  readonly isLoading: boolean;
  readonly refetch: () => void;
}

/**
 * Runs `ask` whenever it changes and, if `everyMs` is given, again so many milliseconds after each answer
 * while the page is visible.
 */
export function useQuery<Answer>(
  ask: (client: AdminClient, signal: AbortSignal) => Promise<Answer>,
  everyMs: number | null = null,
): Query<Answer> {
  const { client, explain } = useAdministration();
  const [state, setState] = useState<Omit<Query<Answer>, "refetch">>({
    answer: null,
    problem: null,
    isLoading: true,
  });
  const [round, setRound] = useState(0);
  const refetch = useCallback(() => setRound((round) => round + 1), []);
  useEffect(() => {
    const leaving = new AbortController();
    const settle = (changes: Partial<Query<Answer>>): void => {
      if (!leaving.signal.aborted) setState((before) => ({ ...before, ...changes, isLoading: false }));
    };
    const once = async (): Promise<void> => {
      setState((before) => ({ ...before, isLoading: true }));
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
  return { ...state, refetch };
}

/**
 * Runs `work` now and, if `everyMs` is given, repeatedly while the page is visible. Returns a function that
 * stops it.
 */
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
  // A hidden page pauses until it is visible again.
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
