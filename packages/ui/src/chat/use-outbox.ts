import { useAui } from "@assistant-ui/react";
import type { Message } from "@colloquy/client";
import { useThreads } from "@colloquy/react";
import { useCallback, useEffect, useMemo, useState, useSyncExternalStore } from "react";
import type { ComposerText } from "./composer-text.ts";
import { usePage } from "./page-context.tsx";
import { foundIn, withFailure, withoutOlder, withoutSent, type Failure } from "./failure.ts";
import type { Missed } from "./outbox.ts";
import type { Outgoing } from "./outbox-messages.ts";
import { withoutSentText } from "./outbox-texts.ts";

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
  const { outbox } = usePage();
  return useSyncExternalStore(outbox.subscribe, outbox.getSnapshot).outgoing;
}

/** Returns failures of conversations that were not open. */
export function useMissed(): readonly Missed[] {
  const { outbox } = usePage();
  return useSyncExternalStore(outbox.subscribe, outbox.getSnapshot).missed;
}

/**
 * Sends the previous page's messages again with the tab's key, and navigates to the conversation of a first
 * message.
 */
export function useSendingAgain(): void {
  const { outbox, address, clientOf, remember } = usePage();
  const { refresh } = useThreads();
  useEffect(() => {
    outbox.sendAgain(async (message) => {
      const { sessionId, to, text, app, model, publicKey, idempotencyKey, replaces, attachments, busy } =
        message;
      const client = clientOf(app);
      if (model !== null) await client.setModel(to, model);
      await client.sendMessage(to, text, {
        idempotencyKey,
        ...(publicKey !== null && { publicKey }),
        ...(replaces !== null && { replaces }),
        ...(attachments !== undefined && { attachments }),
        ...(busy !== null && { busy }),
      });
      if (sessionId !== null) return;
      void refresh();
      if (address.shown() === null) address.open(to, { replace: true });
      else if (publicKey === null) remember(to, text);
    });
  }, [outbox, address, clientOf, remember, refresh]);
}

/** Failures that are not dismissed yet. */
export interface Failures {
  /** Oldest first. */
  readonly failures: readonly Failure[];
  readonly dismiss: (failure: Failure) => void;
}

/**
 * Returns failures of the open conversation (`null`: one that has not started). Returns unsent text to its
 * composer, and removes it if the message was sent. `shown` are the conversation's messages.
 */
export function useFailures(
  sessionId: string | null,
  text: ComposerText,
  shown: readonly Message[],
): Failures {
  const { outbox } = usePage();
  const outgoing = useAllOutgoing();
  const aui = useAui();
  const [failures, setFailures] = useState<readonly Failure[]>([]);
  useEffect(
    () =>
      outbox.openConversation(sessionId, {
        failed(failure, giveBack, unsent) {
          setFailures((before) => withFailure(before, failure));
          const { messages } = aui.thread().getState();
          // assistant-ui reopens the form of an edit that was not sent.
          const isInForm = messages.some(({ composer }) => composer.isEditing && composer.text === unsent);
          if (giveBack !== null && !isInForm) text.set(giveBack(text.getSnapshot()));
        },
        sent: (number) => setFailures((before) => withoutOlder(before, number)),
      }),
    [outbox, aui, sessionId, text],
  );
  useEffect(() => {
    if (sessionId === null) return;
    const sent = foundIn(shown, failures, outbox.sentTo(sessionId));
    if (sent.length === 0) return;
    outbox.found(sessionId, sent);
    setFailures((before) => withoutSent(before, sent));
    for (const one of sent) text.set(withoutSentText(one.text, text.getSnapshot()));
    // `outgoing`: a message that fails may no longer match a shown one.
  }, [outbox, sessionId, shown, failures, outgoing, text]);
  const dismiss = useCallback(
    (failure: Failure) => setFailures((before) => before.filter((one) => one !== failure)),
    [],
  );
  return { failures, dismiss };
}
