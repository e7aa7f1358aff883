import {
  useExternalStoreRuntime,
  type AssistantRuntime,
  type ExternalStoreAdapter,
} from "@assistant-ui/react";
import type { SendOptions } from "@colloquy/client";
import { useCallback, useMemo, useState } from "react";
import { useColloquy } from "../colloquy-provider.tsx";
import { useSession, useToolProgress } from "../use-session.ts";
import type { ShownMessage } from "./shown-messages.ts";
import { threadMessage } from "./thread-message.ts";
import { useShownMessages } from "./use-shown-messages.ts";
import { useLatest } from "./use-latest.ts";
import { useThreadListAdapter } from "./use-thread-list-adapter.ts";
import { useVerbs } from "./use-verbs.ts";

export interface ColloquyRuntimeOptions {
  /** The session to show. Without it the runtime keeps that itself, and begins with a new one. */
  readonly sessionId?: string | undefined;
  /** The person goes to another thread, or begins a new one. With `sessionId`, it is for you to show it. */
  readonly onSessionChange?: ((id: string) => void) | undefined;
  /**
   * How many of the newest messages assistant-ui has; all of them without it. Every message that is shown hears of every key and of every
   * piece of an answer, so that hundreds at once make a page slow.
   */
  readonly newest?: number | undefined;
  /** Sent with each message, beside the provider's wallet. */
  readonly sendOptions?: Pick<SendOptions, "clientId" | "userState"> | undefined;
  /**
   * A message is on its way: `sent` resolves when the service has it, and rejects when it has not, or when nobody knows. For 24 hours it can be
   * sent again under `idempotencyKey`, also by another page, without being said twice.
   */
  readonly onSend?: ((text: string, sent: Promise<unknown>, idempotencyKey: string) => void) | undefined;
  /** What a person did was refused or did not get through: `text` is the message that was not sent. */
  readonly onError?: ((error: Error, failed: { readonly text: string | null }) => void) | undefined;
}

/** A runtime for assistant-ui's components, below `<AssistantRuntimeProvider>`: they show what the provider's client has. */
export function useColloquyRuntime(options: ColloquyRuntimeOptions = {}): AssistantRuntime {
  const latest = useLatest(options);
  const report = useCallback(
    (error: Error, text: string | null = null) => latest.current.onError?.(error, { text }),
    [latest],
  );
  const onSend = useCallback(
    (text: string, sent: Promise<unknown>, idempotencyKey: string) =>
      latest.current.onSend?.(text, sent, idempotencyKey),
    [latest],
  );
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
  const all = useShownMessages(snapshot, useToolProgress(current));
  const { newest = all.length } = options;
  const messages = useMemo(() => (newest < all.length ? all.slice(all.length - newest) : all), [all, newest]);
  const threadList = useThreadListAdapter(current, show, report);
  const verbs = useVerbs(session, options.sendOptions, report, onSend);
  const isRunning = snapshot?.is_processing ?? false;
  const isLoading = snapshot === null && connection.state !== "failed";
  const adapter = useMemo(
    (): ExternalStoreAdapter<ShownMessage> => ({
      ...verbs.adapter,
      messages,
      isRunning,
      isLoading,
      convertMessage: threadMessage,
      // What is said while the assistant works waits at the service, as the App's `onBusy` says.
      queue: isRunning ? verbs.queue : undefined,
      adapters: { threadList },
    }),
    [verbs, messages, isRunning, isLoading, threadList],
  );
  return useExternalStoreRuntime(adapter);
}
