// A conversation that has not started: the first message creates it on the service.

import {
  AssistantRuntimeProvider,
  MessageNotSentError,
  useExternalStoreRuntime,
  type AppendMessage,
} from "@assistant-ui/react";
import type { LiveSession } from "@colloquy/client";
import { useColloquy, useThreads } from "@colloquy/react";
import { attachmentAdapter, attachmentIds } from "@colloquy/react/assistant-ui";
import { useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState, type ReactNode } from "react";
import { TopBar } from "./top-bar.tsx";
import { useDocumentTitle } from "./use-document-title.ts";
import type { ChatProps } from "./chat-props.ts";
import { moveDraft } from "./drafts.ts";
import { useResentMessages } from "./use-outbox.ts";
import { usePage } from "./page-context.tsx";
import { ModelPicker } from "./model-picker.tsx";
import type { Message } from "./outbox-messages.ts";
import { SENDING } from "./sending-state.tsx";
import { Suggestions } from "./suggestions.tsx";
import { Thread } from "./thread.tsx";
import { ToolProblems } from "./tool-problems.tsx";
import { useApp } from "./use-app.ts";
import { useModels } from "./use-models.ts";
import { useComponents } from "./components.tsx";

export function NewChat({ menu, pickers }: Omit<ChatProps, "sessionId">): ReactNode {
  const [{ id, model }, setModel] = useChosen();
  const { Welcome } = useComponents();
  const known = useModels(null);
  const app = useApp(null);
  useDocumentTitle("New chat");
  const { begin, sending } = useBeginning(id, model);
  const { session } = useColloquy();
  const attachments = useMemo(() => attachmentAdapter(session(id)), [session, id]);
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
    onNew: (message) => begin(textOf(message), attachmentIds(message)),
    adapters: { attachments },
  });
  return (
    <AssistantRuntimeProvider runtime={runtime}>
      <TopBar menu={menu} title="New chat" />
      <Thread
        draftOf={null}
        welcome={
          <>
            <Welcome model={model ?? known.models[0] ?? null} />
            <ToolProblems problems={app?.tool_problems ?? []} />
          </>
        }
        suggestions={<Suggestions onAsk={(text) => void begin(text).catch(() => undefined)} />}
        pickers={
          <>
            {pickers}
            <ModelPicker known={known} model={model} onPick={setModel} />
          </>
        }
      />
    </AssistantRuntimeProvider>
  );
}

/** The user's choices for the new conversation. */
interface Chosen {
  readonly app: string;
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
  const { app, setConversationApp } = usePage();
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
  const { outbox, address, remember, app, storage } = usePage();
  const isHere = useIsHere();
  const [sending, setSending] = useState<{ readonly text: string } | null>(null);
  const begin = useCallback(
    async (text: string, attachments: readonly string[] = []): Promise<void> => {
      setSending({ text });
      // assistant-ui needs a unique id, whatever it is.
      const idempotencyKey = client.session().id;
      const files = attachments.length > 0 ? { attachments } : {};
      const common = { sessionId: null, to: id, text, idempotencyKey, publicKey, replaces: null };
      const message = { ...common, model, busy: null, ...files };
      const sent = said(session(id), message);
      outbox.track({ ...message, app, after: null }, sent);
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
      if (isHere.current) {
        moveDraft(storage, id);
        address.open(id, { replace: true });
      } else if (publicKey === null) remember(id, text);
    },
    [client, session, id, model, publicKey, app, refresh, outbox, address, isHere, remember, storage],
  );
  return { begin, sending };
}

async function said(
  session: LiveSession,
  { text, model, publicKey, idempotencyKey, attachments }: Omit<Message, "app">,
): Promise<void> {
  if (model !== null) await session.setModel(model);
  await session.send(text, {
    idempotencyKey,
    ...(publicKey !== null && { publicKey }),
    ...(attachments !== undefined && { attachments }),
  });
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
