// A conversation that has not begun: nothing is known of it to the service until something is said.

import {
  AssistantRuntimeProvider,
  MessageNotSentError,
  useExternalStoreRuntime,
  type AppendMessage,
} from "@assistant-ui/react";
import type { LiveSession } from "@colloquy/client";
import { useColloquy, useThreads } from "@colloquy/react";
import { useCallback, useEffect, useLayoutEffect, useRef, useState, type ReactNode } from "react";
import { useConnection } from "../connection/connection.tsx";
import { TopBar } from "../shell/top-bar.tsx";
import { useDocumentTitle } from "../shell/use-document-title.ts";
import { goTo } from "../shell/use-route.ts";
import { AppPicker } from "./app-picker.tsx";
import type { ChatPageProps } from "./chat-page.tsx";
import { useHearing } from "./use-outbox.ts";
import { ModelPicker } from "./model-picker.tsx";
import { SENDING } from "./sending-state.tsx";
import { Thread } from "./thread.tsx";
import { useModels } from "./use-models.ts";
import { Welcome } from "./welcome.tsx";

export function NewChat({ menu, onKeyWanted }: Omit<ChatPageProps, "sessionId">): ReactNode {
  const [{ id, model }, setModel] = useChosen();
  const known = useModels(null);
  useDocumentTitle("New chat");
  const { begin, sending } = useBeginning(id, model);
  const runtime = useExternalStoreRuntime({
    messages: sending === null ? [] : [sending],
    // Nobody answers yet, and what is said next has to come after it.
    isSendDisabled: sending !== null,
    convertMessage: ({ text }) => ({
      role: "user" as const,
      id: "first",
      content: text,
      metadata: { custom: { status: SENDING } },
    }),
    onNew: (message) => begin(textOf(message)),
  });
  const [failure, setFailure] = useHearing(null, runtime);
  return (
    <AssistantRuntimeProvider runtime={runtime}>
      <TopBar menu={menu} title="New chat" />
      <Thread
        draftOf={null}
        failure={failure}
        onFailure={setFailure}
        onKeyWanted={onKeyWanted}
        welcome={
          <Welcome
            model={model ?? known.models[0] ?? null}
            onAsk={(text) => void begin(text).catch(() => undefined)}
          />
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

/** What a conversation begins with. */
interface Chosen {
  readonly app: string | null;
  readonly id: string;
  /** `null` for the App's default. */
  readonly model: string | null;
}

/** Another App has other models, and a session whose model was chosen belongs to its App already: so each App begins anew. */
function useChosen(): readonly [Chosen, (model: string) => void] {
  const { client } = useColloquy();
  const { app, follow } = useConnection();
  const [last, setChosen] = useState<Chosen | null>(null);
  useLayoutEffect(() => follow(null), [follow]);
  const chosen = last?.app === app ? last : { app, id: client.session().id, model: null };
  if (chosen !== last) setChosen(chosen);
  return [chosen, (model) => setChosen({ ...chosen, model })];
}

/** Sends the first message, and goes to the conversation that comes of it. */
function useBeginning(id: string, model: string | null) {
  const { session, publicKey } = useColloquy();
  const { refresh } = useThreads();
  const { outbox, remember } = useConnection();
  const isHere = useIsHere();
  const [sending, setSending] = useState<{ readonly text: string } | null>(null);
  const begin = useCallback(
    async (text: string): Promise<void> => {
      setSending({ text });
      const sent = said(session(id), text, { model, publicKey });
      outbox.hand(null, text, sent);
      try {
        await sent;
      } catch {
        setSending(null);
        // The text goes back to where it was written.
        throw new MessageNotSentError("not sent");
      }
      // The list of a wallet does not know of it yet.
      void refresh();
      // Who has gone elsewhere meanwhile finds it in the list.
      if (isHere.current) goTo({ page: "chat", sessionId: id }, { replace: true });
      else if (publicKey === null) remember(id, text);
    },
    [session, id, model, publicKey, refresh, outbox, isHere, remember],
  );
  return { begin, sending };
}

async function said(
  session: LiveSession,
  text: string,
  { model, publicKey }: { readonly model: string | null; readonly publicKey: string | null },
): Promise<void> {
  if (model !== null) await session.setModel(model);
  await session.send(text, publicKey === null ? {} : { publicKey });
}

/** Whether the page that asks is still shown. */
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
