import {
  useExternalStoreRuntime,
  type AssistantRuntime,
  type ExternalStoreAdapter,
} from "@assistant-ui/react";
import type { SendOptions } from "@colloquy/client";
import { useCallback, useMemo, useState } from "react";
import { useColloquy } from "../colloquy-provider.tsx";
import { useSession, useToolProgress } from "../use-session.ts";
import type { DisplayMessage } from "./display-messages.ts";
import { threadMessage } from "./thread-message.ts";
import { useDisplayMessages } from "./use-display-messages.ts";
import { useLatest } from "../use-latest.ts";
import { useThreadListAdapter } from "./use-thread-list-adapter.ts";
import { useAdapterCallbacks, type OnSend } from "./use-adapter-callbacks.ts";

export interface ColloquyRuntimeOptions {
  /** The session to show. Without it the runtime keeps track itself and starts with a new one. */
  readonly sessionId?: string | undefined;
  /** Called when the user switches to another thread or starts a new one. With `sessionId`, you must show
   * that session.
   */
  readonly onSessionChange?: ((id: string) => void) | undefined;
  /**
   * Number of newest messages to pass to assistant-ui; all when absent. Every rendered message reacts to each
   * keystroke and each delta, so hundreds of them slow a page down.
   */
  readonly newest?: number | undefined;
  /** Sent with each message, in addition to the provider's wallet. */
  readonly sendOptions?:
    | Pick<SendOptions, "clientId" | "clientTools" | "responseSchema" | "userState">
    | undefined;
  /**
   * Called when a message is sent: `sent` resolves once the service has stored it, and rejects if it has not
   * or the outcome is unknown. Within 24 hours it can be sent again under `idempotencyKey`, also by another
   * page, and is stored once. `replaces` is the id of the message that it replaces: it was edited, or its
   * answer is generated again; `null` for a new message.
   */
  readonly onSend?: OnSend | undefined;
  /** Called when an action of the user failed or was refused; `text` is the message that was not sent. */
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
  const all = useDisplayMessages(snapshot, useToolProgress(current));
  const { newest = all.length } = options;
  const messages = useMemo(() => (newest < all.length ? all.slice(all.length - newest) : all), [all, newest]);
  const threadList = useThreadListAdapter(current, show, report);
  const callbacks = useAdapterCallbacks(session, options.sendOptions, report, onSend);
  const isRunning = snapshot?.is_processing ?? false;
  const isLoading = snapshot === null && connection.state !== "failed";
  const adapter = useMemo(
    (): ExternalStoreAdapter<DisplayMessage> => ({
      ...callbacks.adapter,
      messages,
      isRunning,
      isLoading,
      convertMessage: threadMessage,
      // The service queues messages sent while the assistant is working, according to the App's `onBusy`.
      queue: isRunning ? callbacks.queue : undefined,
      adapters: { threadList },
    }),
    [callbacks, messages, isRunning, isLoading, threadList],
  );
  return useExternalStoreRuntime(adapter);
}
