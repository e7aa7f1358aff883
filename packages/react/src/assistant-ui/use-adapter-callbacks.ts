import {
  MessageNotSentError,
  type AppendMessage,
  type ExternalStoreAdapter,
  type ExternalThreadQueueAdapter,
} from "@assistant-ui/react";
import {
  answeredQuestion,
  type Decision,
  type LiveSession,
  type Message,
  type PendingAction,
  type SendOptions,
} from "@colloquy/client";
import { useMemo } from "react";
import { useColloquy } from "../colloquy-provider.tsx";
import { decisionOf, isDecision } from "./action-decision.ts";
import { useLatest } from "../use-latest.ts";

export interface AdapterCallbacks {
  readonly adapter: Pick<
    ExternalStoreAdapter,
    "onNew" | "onEdit" | "onReload" | "onCancel" | "onRespondToToolApproval" | "onResumeToolCall"
  >;
  /** Sends messages while the assistant is working. Keeps no queue itself, because the service has one. */
  readonly queue: ExternalThreadQueueAdapter;
}

type Report = (error: Error, text?: string) => void;
/** `replaces` is the id of the message that it replaces, `null` for a new one. */
export type OnSend = (
  text: string,
  sent: Promise<unknown>,
  idempotencyKey: string,
  replaces: string | null,
) => void;

/** Returns assistant-ui's callbacks for a session. The same object as long as the session is. */
export function useAdapterCallbacks(
  session: LiveSession,
  sendOptions: Pick<SendOptions, "clientId" | "clientTools" | "responseSchema" | "userState"> | undefined,
  report: Report,
  onSend: OnSend,
): AdapterCallbacks {
  const { client, publicKey } = useColloquy();
  const latest = useLatest({ ...sendOptions, ...(publicKey !== null && { publicKey }) });
  return useMemo(() => {
    const send = async (text: string, replaces: string | null): Promise<void> => {
      try {
        // Any unique id.
        const idempotencyKey = client.session().id;
        const options = { ...latest.current, idempotencyKey, ...(replaces !== null && { replaces }) };
        const sent = session.send(text, options);
        onSend(text, sent, idempotencyKey, replaces);
        await sent;
      } catch (error) {
        report(error as Error, text);
        // Restores the text to the composer.
        throw new MessageNotSentError((error as Error).message);
      }
    };
    return {
      adapter: {
        onNew: (message) => send(textOf(message), null),
        onEdit: (message) => send(textOf(message), message.sourceId),
        onReload: async (_parentId, { sourceId }) => {
          const question = questionOf(session, sourceId);
          // `send` has reported a failure.
          if (question !== null) await send(question.content, question.id).catch(() => undefined);
        },
        onCancel: () => interrupted(session, report),
        ...actionCallbacks(session, report),
      },
      queue: queueOf((message) => void send(textOf(message), null).catch(() => undefined)),
    };
  }, [client, session, latest, report, onSend]);
}

async function interrupted(session: LiveSession, report: Report): Promise<void> {
  try {
    await session.interrupt();
  } catch (error) {
    report(error as Error);
  }
}

function actionCallbacks(session: LiveSession, report: Report) {
  const decide = async (
    matches: (action: PendingAction) => boolean,
    decisionFor: (action: PendingAction) => Decision,
  ): Promise<void> => {
    try {
      const action = session.getSnapshot()?.pending_actions.find(matches);
      if (action === undefined)
        throw new Error("This action is no longer pending: it was decided elsewhere or has expired.");
      await session.resolve(action.id, decisionFor(action));
    } catch (error) {
      report(error as Error);
      throw error;
    }
  };
  return {
    onRespondToToolApproval: (response) =>
      decide(
        ({ id }) => id === response.approvalId,
        (action) => decisionOf(action, response),
      ),
    onResumeToolCall: ({ toolCallId, payload }) => {
      if (!isDecision(payload))
        throw new Error("Resume a wallet's interrupt with a decision: { decision, result }.");
      void decide(
        ({ call_id }) => call_id === toolCallId,
        () => payload,
      ).catch(() => undefined);
    },
  } satisfies Partial<AdapterCallbacks["adapter"]>;
}

function queueOf(take: (message: AppendMessage) => void): ExternalThreadQueueAdapter {
  const nothing = (): void => undefined;
  return {
    items: [],
    steerItems: [],
    enqueue: take,
    steer: take,
    move: nothing,
    edit: nothing,
    remove: nothing,
  };
}

/** Returns the question that a message answers; `null` if it is not known. */
function questionOf(session: LiveSession, answerId: string | null): Message | null {
  const messages = session.getSnapshot()?.messages ?? [];
  const index = messages.findIndex(({ id }) => id === answerId);
  const before = messages[index - 1];
  return answeredQuestion(messages, index) ?? (before?.sender === "user" ? before : null);
}

function textOf({ content }: AppendMessage): string {
  return content.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("\n");
}
