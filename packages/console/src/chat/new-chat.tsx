// A conversation that has not started: the first message creates it on the service.

import {
  AssistantRuntimeProvider,
  MessageNotSentError,
  useExternalStoreRuntime,
  type AppendMessage,
} from "@assistant-ui/react";
import type { LiveSession } from "@colloquy/client";
import { useColloquy, useThreads } from "@colloquy/react";
import { useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState, type ReactNode } from "react";
import { DEFAULT_APP, useConnection } from "../connection/connection.tsx";
import { TopBar } from "../shell/top-bar.tsx";
import { useDocumentTitle } from "../shell/use-document-title.ts";
import { goTo } from "../shell/use-route.ts";
import { AppPicker } from "./app-picker.tsx";
import type { ChatPageProps } from "./chat-page-props.ts";
import { useFailures, useResentMessages } from "./use-outbox.ts";
import { ModelPicker } from "./model-picker.tsx";
import type { Message } from "./outbox-messages.ts";
import { SENDING } from "./sending-state.tsx";
import { Thread } from "./thread.tsx";
import { AppToolProblems } from "./tool-problems.tsx";
import { useModels } from "./use-models.ts";
import { Welcome } from "./welcome.tsx";

export function NewChat({ menu, onKeyWanted }: Omit<ChatPageProps, "sessionId">): ReactNode {
  const [{ id, model }, setModel] = useChosen();
  const known = useModels(null);
  useDocumentTitle("New chat");
  const { begin, sending } = useBeginning(id, model);
  const again = useResentMessages();
  const messages = useMemo(() => (sending === null ? again : [...again, sending]), [again, sending]);
  const runtime = useExternalStoreRuntime<{ readonly text: string }>({
    messages,
    // The next message waits until the first one is stored.
    isSendDisabled: messages.length > 0,
    convertMessage: ({ text }, at) => ({
      role: "user" as const,
      id: `first ${at}`,
      content: text,
      metadata: { custom: { status: SENDING } },
    }),
    onNew: (message) => begin(textOf(message)),
  });
  const { failures, dismiss } = useFailures(null, runtime);
  return (
    <AssistantRuntimeProvider runtime={runtime}>
      <TopBar menu={menu} title="New chat" />
      <Thread
        draftOf={null}
        failures={failures}
        onDismiss={dismiss}
        onKeyWanted={onKeyWanted}
        welcome={
          <>
            <Welcome
              model={model ?? known.models[0] ?? null}
              onAsk={(text) => void begin(text).catch(() => undefined)}
            />
            <AppToolProblems />
          </>
        }
        pickers={
          <>
            <AppPicker />
            <ModelPicker known={known} model={model} onPick={setModel} />
          </>
        }
      />
    </AssistantRuntimeProvider>
  );
}

/** Choices for the new conversation. */
interface Chosen {
  readonly app: string | null;
  readonly id: string;
  /** `null` for the App's default. */
  readonly model: string | null;
}

/**
 * Resets the choices when the App changes: other Apps have other models, and a selected model binds a session
 * to its App.
 */
function useChosen(): readonly [Chosen, (model: string) => void] {
  const { client } = useColloquy();
  const { app, setConversationApp } = useConnection();
  const [last, setChosen] = useState<Chosen | null>(null);
  useLayoutEffect(() => setConversationApp(null), [setConversationApp]);
  const chosen = last?.app === app ? last : { app, id: client.session().id, model: null };
  if (chosen !== last) setChosen(chosen);
  return [chosen, (model) => setChosen({ ...chosen, model })];
}

/** Sends the first message and navigates to the new conversation. */
function useBeginning(id: string, model: string | null) {
  const { client, session, publicKey } = useColloquy();
  const { refresh } = useThreads();
  const { outbox, remember, app } = useConnection();
  const isHere = useIsHere();
  const [sending, setSending] = useState<{ readonly text: string } | null>(null);
  const begin = useCallback(
    async (text: string): Promise<void> => {
      setSending({ text });
      // assistant-ui needs a unique id, whatever it is.
      const idempotencyKey = client.session().id;
      const message = { sessionId: null, to: id, text, idempotencyKey, publicKey, model, replaces: null };
      const sent = said(session(id), message);
      outbox.track({ ...message, app: app ?? DEFAULT_APP }, sent);
      try {
        await sent;
      } catch {
        setSending(null);
        // Returns the text to the composer.
        throw new MessageNotSentError("not sent");
      }
      // The wallet's list does not contain the conversation yet.
      void refresh();
      // A user who has navigated away finds the conversation in the list.
      if (isHere.current) goTo({ page: "chat", sessionId: id }, { replace: true });
      else if (publicKey === null) remember(id, text);
    },
    [client, session, id, model, publicKey, app, refresh, outbox, isHere, remember],
  );
  return { begin, sending };
}

async function said(
  session: LiveSession,
  { text, model, publicKey, idempotencyKey }: Omit<Message, "app">,
): Promise<void> {
  if (model !== null) await session.setModel(model);
  await session.send(text, { idempotencyKey, ...(publicKey !== null && { publicKey }) });
}

/** Tracks whether the component is still mounted. */
function useIsHere(): { readonly current: boolean } {
  const isHere = useRef(true);
  useEffect(() => {
    isHere.current = true;
    return () => void (isHere.current = false);
  }, []);
  return isHere;
}

function textOf({ content }: AppendMessage): string {
  return content.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("\n");
}
