import type { AssistantRuntime } from "@assistant-ui/react";
import { createClient } from "@colloquy/client";
import { useThreads } from "@colloquy/react";
import { useCallback, useEffect, useMemo, useState, useSyncExternalStore } from "react";
import { useConnection } from "../connection/connection.tsx";
import { parseRoute } from "../shell/route.ts";
import { goTo } from "../shell/use-route.ts";
import { withFailure, type Failure } from "./failure.ts";
import type { Missed } from "./outbox.ts";
import type { Leaving } from "./outbox-messages.ts";

/** The messages that are on their way to a conversation. */
export function useLeaving(sessionId: string): readonly Leaving[] {
  const leaving = useAllLeaving();
  return useMemo(() => leaving.filter(({ to }) => to === sessionId), [leaving, sessionId]);
}

/** The first messages of conversations that the page before this one was sending. */
export function useLeavingAgain(): readonly Leaving[] {
  const leaving = useAllLeaving();
  return useMemo(() => leaving.filter(({ sessionId, isAgain }) => sessionId === null && isAgain), [leaving]);
}

function useAllLeaving(): readonly Leaving[] {
  const { outbox } = useConnection();
  return useSyncExternalStore(outbox.subscribe, outbox.getSnapshot).leaving;
}

/** What went wrong where nobody looked. */
export function useMissed(): readonly Missed[] {
  const { outbox } = useConnection();
  return useSyncExternalStore(outbox.subscribe, outbox.getSnapshot).missed;
}

/** Sends what the page before this one was sending, with the key of the tab, and shows the conversation that comes of a first message. */
export function useSendingAgain(): void {
  const { outbox, fetch, key, remember } = useConnection();
  const { refresh } = useThreads();
  useEffect(() => {
    const baseUrl = new URL(".", window.location.href).href;
    outbox.sendAgain(async (message) => {
      const { sessionId, to, text, app, model, publicKey, idempotencyKey } = message;
      const client = createClient({ baseUrl, fetch, app, ...(key !== null && { key }) });
      if (model !== null) await client.setModel(to, model);
      await client.sendMessage(to, text, { idempotencyKey, ...(publicKey !== null && { publicKey }) });
      if (sessionId !== null) return;
      void refresh();
      if (isAtNewChat()) goTo({ page: "chat", sessionId: to }, { replace: true });
      else if (publicKey === null) remember(to, text);
    });
  }, [outbox, fetch, key, remember, refresh]);
}

function isAtNewChat(): boolean {
  const route = parseRoute(window.location.hash);
  return route.page === "chat" && route.sessionId === null;
}

/** What has failed and was not dismissed yet. */
export interface Failures {
  /** Oldest first. */
  readonly failures: readonly Failure[];
  readonly dismiss: (failure: Failure) => void;
}

/** What has failed in the conversation that is shown (`null`: one that has not begun); what was not sent goes back to its composer. */
export function useHearing(sessionId: string | null, runtime: AssistantRuntime): Failures {
  const { outbox } = useConnection();
  const [failures, setFailures] = useState<readonly Failure[]>([]);
  const { composer } = runtime.thread;
  useEffect(
    () =>
      outbox.attend(sessionId, (failure, giveBack) => {
        setFailures((before) => withFailure(before, failure));
        if (giveBack !== null) composer.setText(giveBack(composer.getState().text));
      }),
    [outbox, sessionId, composer],
  );
  const dismiss = useCallback(
    (failure: Failure) => setFailures((before) => before.filter((one) => one !== failure)),
    [],
  );
  return { failures, dismiss };
}
