import type { AssistantRuntime } from "@assistant-ui/react";
import { createClient } from "@colloquy/client";
import { useThreads } from "@colloquy/react";
import { useCallback, useEffect, useMemo, useState, useSyncExternalStore } from "react";
import { useConnection } from "../connection/connection.tsx";
import { parseRoute } from "../shell/route.ts";
import { goTo } from "../shell/use-route.ts";
import { withFailure, withoutSettled, type Failure } from "./failure.ts";
import type { Missed } from "./outbox.ts";
import type { Outgoing } from "./outbox-messages.ts";

/** Returns the messages in flight to a conversation. */
export function useOutgoing(sessionId: string): readonly Outgoing[] {
  const outgoing = useAllOutgoing();
  return useMemo(() => outgoing.filter(({ to }) => to === sessionId), [outgoing, sessionId]);
}

/** Returns first messages of new conversations that the previous page was sending. */
export function useResentMessages(): readonly Outgoing[] {
  const outgoing = useAllOutgoing();
  return useMemo(
    () => outgoing.filter(({ sessionId, isAgain }) => sessionId === null && isAgain),
    [outgoing],
  );
}

function useAllOutgoing(): readonly Outgoing[] {
  const { outbox } = useConnection();
  return useSyncExternalStore(outbox.subscribe, outbox.getSnapshot).outgoing;
}

/** Returns failures of conversations that were not open. */
export function useMissed(): readonly Missed[] {
  const { outbox } = useConnection();
  return useSyncExternalStore(outbox.subscribe, outbox.getSnapshot).missed;
}

/**
 * Sends the previous page's messages again with the tab's key, and navigates to the conversation of a first
 * message.
 */
export function useSendingAgain(): void {
  const { outbox, fetch, key, remember } = useConnection();
  const { refresh } = useThreads();
  useEffect(() => {
    const baseUrl = new URL(".", window.location.href).href;
    outbox.sendAgain(async (message) => {
      const { sessionId, to, text, app, model, publicKey, idempotencyKey, replaces } = message;
      const client = createClient({ baseUrl, fetch, app, ...(key !== null && { key }) });
      if (model !== null) await client.setModel(to, model);
      await client.sendMessage(to, text, {
        idempotencyKey,
        ...(publicKey !== null && { publicKey }),
        ...(replaces !== null && { replaces }),
      });
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

/** Failures that are not dismissed yet. */
export interface Failures {
  /** Oldest first. */
  readonly failures: readonly Failure[];
  readonly dismiss: (failure: Failure) => void;
}

/**
 * Returns failures of the open conversation (`null`: one that has not started); unsent text goes back to its
 * composer.
 */
export function useFailures(sessionId: string | null, runtime: AssistantRuntime): Failures {
  const { outbox } = useConnection();
  const [failures, setFailures] = useState<readonly Failure[]>([]);
  const { composer } = runtime.thread;
  useEffect(
    () =>
      outbox.openConversation(sessionId, {
        failed(failure, giveBack) {
          setFailures((before) => withFailure(before, failure));
          if (giveBack !== null) composer.setText(giveBack(composer.getState().text));
        },
        sent: (number) => setFailures((before) => withoutSettled(before, number)),
      }),
    [outbox, sessionId, composer],
  );
  const dismiss = useCallback(
    (failure: Failure) => setFailures((before) => before.filter((one) => one !== failure)),
    [],
  );
  return { failures, dismiss };
}
