// A conversation that has not begun: nothing is known of it to the service until something is said.

import {
  AssistantRuntimeProvider,
  MessageNotSentError,
  useExternalStoreRuntime,
  type AppendMessage,
} from "@assistant-ui/react";
import { useColloquy, useThreads } from "@colloquy/react";
import { useCallback, useEffect, useRef, useState, type ReactNode } from "react";
import { useConnection } from "../connection/connection.tsx";
import { TopBar } from "../shell/top-bar.tsx";
import { useDocumentTitle } from "../shell/use-document-title.ts";
import { goTo } from "../shell/use-route.ts";
import { AppPicker } from "./app-picker.tsx";
import type { ChatPageProps } from "./chat-page.tsx";
import { loadDraft, saveDraft } from "./drafts.ts";
import { failureOf, type Failure } from "./failure.ts";
import { ModelPicker } from "./model-picker.tsx";
import { SENDING } from "./sending-state.tsx";
import { Thread } from "./thread.tsx";
import { Welcome } from "./welcome.tsx";

export function NewChat({ menu, onKeyWanted }: Omit<ChatPageProps, "sessionId">): ReactNode {
  const { client } = useColloquy();
  const [id] = useState(() => client.session().id);
  const [model, setModel] = useState<string | null>(null);
  useDocumentTitle("New chat");
  const { begin, sending, failure, setFailure } = useBeginning(id, model);
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
  return (
    <AssistantRuntimeProvider runtime={runtime}>
      <TopBar menu={menu} title="New chat" />
      <Thread
        draftOf={null}
        failure={failure}
        onFailure={setFailure}
        onKeyWanted={onKeyWanted}
        welcome={<Welcome model={model} onAsk={(text) => void begin(text).catch(() => undefined)} />}
        pickers={
          <>
            <AppPicker />
            <ModelPicker sessionId={null} model={model} onPick={setModel} />
          </>
        }
      />
    </AssistantRuntimeProvider>
  );
}

/** Sends the first message, and goes to the conversation that comes of it. */
function useBeginning(id: string, model: string | null) {
  const { session, publicKey } = useColloquy();
  const { refresh } = useThreads();
  const { remember } = useConnection();
  const isHere = useIsHere();
  const [sending, setSending] = useState<{ readonly text: string } | null>(null);
  const [failure, setFailure] = useState<Failure | null>(null);
  const begin = useCallback(
    async (text: string): Promise<void> => {
      setSending({ text });
      setFailure(null);
      try {
        const begun = session(id);
        if (model !== null) await begun.setModel(model);
        await begun.send(text, publicKey === null ? {} : { publicKey });
      } catch (error) {
        if (!isHere.current) keepForLater(text);
        setSending(null);
        setFailure(failureOf("Your message was not sent", error));
        // The text goes back to where it was written.
        throw new MessageNotSentError("not sent");
      }
      // The list of a wallet does not know of it yet.
      void refresh();
      // Who has gone elsewhere meanwhile finds it in the list.
      if (isHere.current) goTo({ page: "chat", sessionId: id }, { replace: true });
      else if (publicKey === null) remember(id, text);
    },
    [session, id, model, publicKey, refresh, isHere, remember],
  );
  return { begin, sending, failure, setFailure };
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

/** What was not sent stands in the composer of the next new chat, unless something stands there. */
function keepForLater(text: string): void {
  const { sessionStorage } = window;
  if (loadDraft(sessionStorage, null) === "") saveDraft(sessionStorage, null, text);
}

function textOf({ content }: AppendMessage): string {
  return content.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("\n");
}
