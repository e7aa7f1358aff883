import { AssistantRuntimeProvider } from "@assistant-ui/react";
import { useColloquy, useSession, type SessionView } from "@colloquy/react";
import { useColloquyRuntime } from "@colloquy/react/assistant-ui";
import { useEffect, type ReactNode } from "react";
import { TitleMenu } from "../threads/title-menu.tsx";
import { TopBar } from "./top-bar.tsx";
import { useDocumentTitle } from "./use-document-title.ts";
import { Announcer } from "./announcer.tsx";
import type { ChatProps } from "./chat-props.ts";
import { ConnectionBar } from "./connection-bar.tsx";
import { failureOf, type Failure } from "./failure.ts";
import { usePage } from "./page-context.tsx";
import { ModelPicker } from "./model-picker.tsx";
import { SessionIdContext } from "./session-id.tsx";
import { Suggestions } from "./suggestions.tsx";
import { Thread } from "./thread.tsx";
import { useModels, type Models } from "./use-models.ts";
import { useMessageJump } from "./use-message-jump.ts";
import { useShownMessages, type ShownMessages } from "./use-shown-messages.ts";
import { useOutgoing } from "./use-outbox.ts";
import { useComponents } from "./components.tsx";
import { newestOf, type Message } from "./outbox-messages.ts";

/** A stored conversation with live updates. */
export function Conversation(props: ChatProps & { readonly sessionId: string }): ReactNode {
  const { sessionId, menu, actions } = props;
  const view = useSession(sessionId);
  const { snapshot, connection, session } = view;
  const known = useSessionModels(sessionId, snapshot);
  const outgoing = useOutgoing(sessionId);
  const { outbox } = usePage();
  const onLoadError = (error: unknown): void =>
    outbox.report(sessionId, failureOf("Earlier messages were not loaded", error));
  const messages = useShownMessages(view, onLoadError);
  useMessageJump(sessionId, view, messages, onLoadError);
  const isSending = outgoing.length > 0;
  const { showNewest } = messages;
  useEffect(() => {
    if (isSending) showNewest();
  }, [isSending, showNewest]);
  const isBegun = (snapshot?.messages.length ?? 0) > 0;
  const { runtime, report } = useConversationRuntime(
    sessionId,
    messages,
    isBegun ? (snapshot?.app ?? null) : null,
    newestOf(snapshot),
  );
  const title = snapshot?.title ?? "Conversation";
  const { address } = usePage();
  const hasMenu = snapshot !== null && connection.state !== "deleted" && address.isFixed !== true;
  useDocumentTitle(title);
  useFollowedApp(snapshot?.app ?? null, isBegun);
  const setModel = async (model: string): Promise<void> => {
    try {
      await session.setModel(model);
    } catch (error) {
      report(failureOf("The model was not changed", error));
    }
  };
  return (
    <SessionIdContext value={sessionId}>
      <AssistantRuntimeProvider runtime={runtime}>
        <TopBar
          menu={menu}
          title={title}
          {...(hasMenu && { heading: <TitleMenu sessionId={sessionId} title={title} /> })}
        >
          {actions}
        </TopBar>
        <ConnectionBar
          connection={connection}
          onRetry={() => {
            // The connection bar shows the outcome.
            session.refresh().catch(() => undefined);
          }}
        />
        <Announcer snapshot={snapshot} />
        <Thread
          draftOf={sessionId}
          isOver={connection.state === "deleted"}
          messages={messages}
          shown={snapshot?.messages}
          outgoing={outgoing}
          welcome={<Beginning {...{ snapshot, connection }} />}
          suggestions={snapshot !== null && <Suggestions onAsk={(text) => runtime.thread.append(text)} />}
          pickers={
            <ModelPicker
              known={known}
              model={snapshot?.model ?? null}
              onPick={(model) => void setModel(model)}
            />
          }
        />
      </AssistantRuntimeProvider>
    </SessionIdContext>
  );
}

/** Greeting of a conversation without messages. */
function Beginning({ snapshot, connection }: Pick<SessionView, "snapshot" | "connection">): ReactNode {
  const { Welcome } = useComponents();
  if (snapshot !== null) return <Welcome model={snapshot.model} />;
  return connection.state === "failed" ? null : <p className="cq-thread-loading">Loading…</p>;
}

/**
 * Returns assistant-ui's runtime for this session. Reports failures. `app` is the session's App once it has
 * started. `after` is the newest message when the user writes.
 */
function useConversationRuntime(
  sessionId: string,
  { newest, later }: ShownMessages,
  app: string | null,
  after: Pick<Message, "after">,
) {
  const { outbox, address, ...page } = usePage();
  const { publicKey } = useColloquy();
  const report = (failure: Failure): void => outbox.report(sessionId, failure);
  const runtime = useColloquyRuntime({
    sessionId,
    newest,
    leftOut: later,
    onSessionChange: (id) => address.open(id),
    onSend: (text, sent, idempotencyKey, replaces, attachments, busy) => {
      const files = attachments.length > 0 ? { attachments } : {};
      const common = { sessionId, to: sessionId, text, idempotencyKey, publicKey, replaces };
      const message = { ...common, busy, ...after, ...files };
      outbox.track({ ...message, model: null, app: app ?? page.app }, sent);
    },
    onError: (error, { text }) => {
      // The outbox reports unsent messages.
      if (text === null) report(failureOf("That did not work", error));
    },
  });
  return { runtime, report };
}

/** Returns the models of the session's App, once requests use that App. */
function useSessionModels(sessionId: string, snapshot: SessionView["snapshot"]): Models {
  const { requestApp } = usePage();
  const isFollowed = snapshot !== null && (snapshot.app ?? requestApp) === requestApp;
  return useModels(isFollowed ? sessionId : undefined);
}

/**
 * Makes requests use the session's App, which never changes, even if another App is selected for the next
 * conversation.
 */
function useFollowedApp(sessionApp: string | null, isBegun: boolean): void {
  const { setConversationApp } = usePage();
  useEffect(() => {
    if (isBegun) setConversationApp(sessionApp);
  }, [isBegun, sessionApp, setConversationApp]);
}
