// A conversation that has not begun: nothing is known of it to the service until something is said.

import {
  AssistantRuntimeProvider,
  MessageNotSentError,
  useExternalStoreRuntime,
  type AppendMessage,
} from "@assistant-ui/react";
import { useColloquy, useThreads } from "@colloquy/react";
import { useCallback, useState, type ReactNode } from "react";
import { TopBar } from "../shell/top-bar.tsx";
import { useDocumentTitle } from "../shell/use-document-title.ts";
import { goTo } from "../shell/use-route.ts";
import { AppPicker } from "./app-picker.tsx";
import type { ChatPageProps } from "./chat-page.tsx";
import { failureOf, type Failure } from "./failure.ts";
import { ModelPicker } from "./model-picker.tsx";
import { Thread } from "./thread.tsx";
import { Welcome } from "./welcome.tsx";

export function NewChat({ menu, onKeyWanted }: Omit<ChatPageProps, "sessionId">): ReactNode {
  const { client, session, publicKey } = useColloquy();
  const { refresh } = useThreads();
  const [id] = useState(() => client.session().id);
  const [model, setModel] = useState<string | null>(null);
  const [sending, setSending] = useState<{ readonly text: string } | null>(null);
  const [failure, setFailure] = useState<Failure | null>(null);
  useDocumentTitle("New chat");

  const begin = useCallback(
    async (text: string): Promise<void> => {
      setSending({ text });
      setFailure(null);
      try {
        const begun = session(id);
        if (model !== null) await begun.setModel(model);
        await begun.send(text, publicKey === null ? {} : { publicKey });
      } catch (error) {
        setSending(null);
        setFailure(failureOf("Your message was not sent", error));
        // The text goes back to where it was written.
        throw new MessageNotSentError("not sent");
      }
      // The list of a wallet does not know of it yet.
      void refresh();
      goTo({ page: "chat", sessionId: id }, { replace: true });
    },
    [session, id, model, publicKey, refresh],
  );
  const runtime = useExternalStoreRuntime({
    messages: sending === null ? [] : [sending],
    isRunning: sending !== null,
    convertMessage: ({ text }) => ({ role: "user" as const, id: "first", content: text }),
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

function textOf({ content }: AppendMessage): string {
  return content.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("\n");
}
