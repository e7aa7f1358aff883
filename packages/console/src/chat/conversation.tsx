import { AssistantRuntimeProvider } from "@assistant-ui/react";
import { useSession, type SessionView } from "@colloquy/react";
import { useColloquyRuntime } from "@colloquy/react/assistant-ui";
import { Code } from "../design/icons.tsx";
import { useEffect, type ReactNode } from "react";
import { DEFAULT_APP, useConnection } from "../connection/connection.tsx";
import { IconButton } from "../design/button.tsx";
import { goTo } from "../shell/use-route.ts";
import { TopBar } from "../shell/top-bar.tsx";
import { useDocumentTitle } from "../shell/use-document-title.ts";
import { Announcer } from "./announcer.tsx";
import type { ChatPageProps } from "./chat-page-props.ts";
import { ConnectionBar } from "./connection-bar.tsx";
import { failureOf, type Failure } from "./failure.ts";
import { ModelPicker } from "./model-picker.tsx";
import { SessionIdContext } from "./session-id.tsx";
import { Thread } from "./thread.tsx";
import { useModels, type Models } from "./use-models.ts";
import { useNewestMessages } from "./use-newest-messages.ts";
import { useFailures, useOutgoing } from "./use-outbox.ts";
import { Welcome } from "./welcome.tsx";
import styles from "./thread.module.css";

/** A stored conversation, which is kept up to date. */
export function Conversation(props: ChatPageProps & { readonly sessionId: string }): ReactNode {
  const { sessionId, menu, isDeveloping, onDevelop, onKeyWanted } = props;
  const { snapshot, connection, session } = useSession(sessionId);
  const known = useSessionModels(sessionId, snapshot);
  const outgoing = useOutgoing(sessionId);
  const messages = useNewestMessages(snapshot?.messages.length ?? null);
  const isBegun = (snapshot?.messages.length ?? 0) > 0;
  const { runtime, report, failures, dismiss } = useConversationRuntime(
    sessionId,
    messages.newest,
    isBegun ? (snapshot?.app ?? null) : null,
  );
  const title = snapshot?.title ?? "Conversation";
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
        <TopBar menu={menu} title={title}>
          <IconButton label="Developer panel" aria-pressed={isDeveloping} onClick={onDevelop}>
            <Code size={18} />
          </IconButton>
        </TopBar>
        <ConnectionBar
          connection={connection}
          onRetry={() => {
            // The connection bar shows the outcome.
            session.refresh().catch(() => undefined);
          }}
          onKeyWanted={onKeyWanted}
        />
        <Announcer snapshot={snapshot} />
        <Thread
          draftOf={sessionId}
          isOver={connection.state === "deleted"}
          messages={messages}
          outgoing={outgoing}
          welcome={<Beginning {...{ snapshot, connection }} onAsk={(text) => runtime.thread.append(text)} />}
          failures={failures}
          onDismiss={dismiss}
          onKeyWanted={onKeyWanted}
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
function Beginning({
  snapshot,
  connection,
  onAsk,
}: Pick<SessionView, "snapshot" | "connection"> & { readonly onAsk: (text: string) => void }): ReactNode {
  if (snapshot !== null) return <Welcome model={snapshot.model} onAsk={onAsk} />;
  return connection.state === "failed" ? null : <p className={styles["loading"]}>Loading…</p>;
}

/**
 * Returns assistant-ui's runtime for this session. Reports failures, and returns unsent messages to the
 * composer. `app` is the session's App once it has started.
 */
function useConversationRuntime(sessionId: string, newest: number, app: string | null) {
  const { outbox, wallet, ...settings } = useConnection();
  const report = (failure: Failure): void => outbox.report(sessionId, failure);
  const runtime = useColloquyRuntime({
    sessionId,
    newest,
    onSessionChange: (id) => goTo({ page: "chat", sessionId: id }),
    onSend: (text, sent, idempotencyKey, replaces) => {
      const message = { sessionId, to: sessionId, text, idempotencyKey, publicKey: wallet, replaces };
      outbox.track({ ...message, model: null, app: app ?? settings.app ?? DEFAULT_APP }, sent);
    },
    onError: (error, { text }) => {
      // The outbox reports unsent messages.
      if (text === null) report(failureOf("That did not work", error));
    },
  });
  return { runtime, report, ...useFailures(sessionId, runtime) };
}

/** Returns the models of the session's App, once requests use that App. */
function useSessionModels(sessionId: string, snapshot: SessionView["snapshot"]): Models {
  const { requestApp } = useConnection();
  const isFollowed = snapshot !== null && (snapshot.app ?? requestApp) === requestApp;
  return useModels(isFollowed ? sessionId : undefined);
}

/**
 * Makes requests use the session's App, which never changes, even if another App is selected for the next
 * conversation.
 */
function useFollowedApp(sessionApp: string | null, isBegun: boolean): void {
  const { setConversationApp } = useConnection();
  useEffect(() => {
    if (isBegun) setConversationApp(sessionApp);
  }, [isBegun, sessionApp, setConversationApp]);
}
