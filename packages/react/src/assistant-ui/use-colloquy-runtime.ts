import {
  useExternalStoreRuntime,
  type AssistantRuntime,
  type ExternalStoreAdapter,
} from "@assistant-ui/react";
import type { SendOptions } from "@colloquy/client";
import { useCallback, useMemo, useState } from "react";
import { useColloquy } from "../colloquy-provider.tsx";
import { useLiveReasoning } from "../use-reasoning.ts";
import { useSession, useToolProgress } from "../use-session.ts";
import { attachmentAdapter } from "./attachment-adapter.ts";
import { withPendingAnswer, type DisplayMessage } from "./display-messages.ts";
import { threadMessage } from "./thread-message.ts";
import { useDisplayMessages } from "./use-display-messages.ts";
import { useLatest } from "../use-latest.ts";
import { useThreadListAdapter } from "./use-thread-list-adapter.ts";
import { useAdapterCallbacks, type OnSend } from "./use-adapter-callbacks.ts";

export interface ColloquyRuntimeOptions {
  /** The session to show. If absent, the runtime starts with a new session and tracks changes itself. */
  readonly sessionId?: string | undefined;
  /**
   * Called when the user switches to another thread or starts one. With `sessionId`, you must show that
   * session.
   */
  readonly onSessionChange?: ((id: string) => void) | undefined;
  /**
   * Number of newest messages to pass to assistant-ui; all when absent. Every rendered message reacts to each
   * keystroke and each delta, so hundreds of them slow a page down.
   */
  readonly newest?: number | undefined;
  /**
   * Number of newest messages to omit, for a page that shows an earlier part of a conversation; 0 by default.
   * While it is greater than 0, answers cannot be reloaded.
   */
  readonly leftOut?: number | undefined;
  /** Sent with each message, in addition to the provider's wallet. */
  readonly sendOptions?:
    | Pick<SendOptions, "clientId" | "clientTools" | "responseSchema" | "userState">
    | undefined;
  /**
   * Called when a message is sent. `sent` resolves once the service has stored it, and rejects if it was not
   * stored or the outcome is unknown. For 24 hours, any page can send it again with `idempotencyKey` without
   * storing it twice. `replaces` is the id of the message that an edit or a regeneration replaces; `null`
   * for a new message. `busy` is the effect that the user chose for a message to a busy assistant; `null`
   * for the App's `onBusy`.
   */
  readonly onSend?: OnSend | undefined;
  /** Called when an action of the user fails or is rejected. `text` is the message that was not sent. */
  readonly onError?: ((error: Error, failed: { readonly text: string | null }) => void) | undefined;
}

/** Returns a runtime for assistant-ui's `<AssistantRuntimeProvider>`, backed by the provider's client. */
export function useColloquyRuntime(options: ColloquyRuntimeOptions = {}): AssistantRuntime {
  const latest = useLatest(options);
  const report = useCallback(
    (error: Error, text: string | null = null) => latest.current.onError?.(error, { text }),
    [latest],
  );
  const onSend = useCallback<OnSend>((...sent) => latest.current.onSend?.(...sent), [latest]);
  const { client } = useColloquy();
  const [own, setOwn] = useState(() => options.sessionId ?? client.session().id);
  const current = options.sessionId ?? own;
  const show = useCallback(
    (id: string) => {
      setOwn(id);
      latest.current.onSessionChange?.(id);
    },
    [latest],
  );
  const { snapshot, connection, session } = useSession(current);
  const reasoning = useLiveReasoning(current);
  const all = useDisplayMessages(snapshot, useToolProgress(current), reasoning);
  const { newest = all.length, leftOut = 0 } = options;
  const messages = useMemo(() => {
    if (leftOut > 0) return all.slice(Math.max(0, all.length - newest), all.length - leftOut);
    const shown = newest < all.length ? all.slice(all.length - newest) : all;
    return withPendingAnswer(shown, all, reasoning);
  }, [all, newest, leftOut, reasoning]);
  const threadList = useThreadListAdapter(current, show, report);
  const callbacks = useAdapterCallbacks(session, options.sendOptions, report, onSend);
  const attachments = useMemo(() => attachmentAdapter(session), [session]);
  const isRunning = snapshot?.is_processing ?? false;
  const isLoading = snapshot === null && connection.state !== "failed";
  const adapter = useMemo(
    (): ExternalStoreAdapter<DisplayMessage> => ({
      ...callbacks.adapter,
      // The last shown message is not the newest: reloading it would remove all later messages.
      ...(leftOut > 0 && { onReload: undefined }),
      messages,
      isRunning,
      isLoading,
      convertMessage: threadMessage,
      // While the assistant is busy, the service queues messages or steers the turn with them.
      queue: isRunning ? callbacks.queue : undefined,
      adapters: { threadList, feedback: callbacks.feedback, attachments },
    }),
    [callbacks, messages, leftOut, isRunning, isLoading, threadList, attachments],
  );
  return useExternalStoreRuntime(adapter);
}
