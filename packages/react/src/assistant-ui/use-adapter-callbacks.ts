import {
  MessageNotSentError,
  type AppendMessage,
  type ExternalStoreAdapter,
  type ExternalThreadQueueAdapter,
  type FeedbackAdapter,
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
import { attachmentIds } from "./attachment-adapter.ts";
import { useLatest } from "../use-latest.ts";

export interface AdapterCallbacks {
  /** Stores feedback on an answer. */
  readonly feedback: FeedbackAdapter;
  readonly adapter: Pick<
    ExternalStoreAdapter,
    "onNew" | "onEdit" | "onReload" | "onCancel" | "onRespondToToolApproval" | "onResumeToolCall"
  >;
  /** Sends messages while the assistant is busy. The queue itself is in the service. */
  readonly queue: ExternalThreadQueueAdapter;
}

type Report = (error: Error, text?: string) => void;
/** Effect of a message that is sent while the assistant is busy (`SendOptions.busy`). */
export type Busy = NonNullable<SendOptions["busy"]>;

/**
 * Called when a message is sent. `replaces` is the id of the replaced message; `null` for a new message.
 * `attachments` are the ids of its files. `busy` is the effect that the user chose; `null` for the App's
 * `onBusy`.
 */
export type OnSend = (
  text: string,
  sent: Promise<unknown>,
  idempotencyKey: string,
  replaces: string | null,
  attachments: readonly string[],
  busy: Busy | null,
) => void;

/** Returns assistant-ui's callbacks for a session. Memoized until the session changes. */
export function useAdapterCallbacks(
  session: LiveSession,
  sendOptions: Pick<SendOptions, "clientId" | "clientTools" | "responseSchema" | "userState"> | undefined,
  report: Report,
  onSend: OnSend,
): AdapterCallbacks {
  const { client, publicKey } = useColloquy();
  const latest = useLatest({ ...sendOptions, ...(publicKey !== null && { publicKey }) });
  return useMemo(() => {
    const send = async (
      text: string,
      replaces: string | null,
      attachments: readonly string[],
      busy: Busy | null = null,
    ): Promise<void> => {
      try {
        // Any unique id.
        const idempotencyKey = client.session().id;
        const options = {
          ...latest.current,
          idempotencyKey,
          ...(replaces !== null && { replaces }),
          ...(attachments.length > 0 && { attachments }),
          ...(busy !== null && { busy }),
        };
        const sent = session.send(text, options);
        onSend(text, sent, idempotencyKey, replaces, attachments, busy);
        await sent;
      } catch (error) {
        report(error as Error, text);
        // Tells assistant-ui to restore the text to the composer.
        throw new MessageNotSentError((error as Error).message);
      }
    };
    return {
      adapter: {
        onNew: (message) => send(textOf(message), null, attachmentIds(message)),
        onEdit: (message) => send(textOf(message), message.sourceId, filesOfEdit(session, message)),
        onReload: async (_parentId, { sourceId }) => {
          const question = await loadedQuestion(session, sourceId).catch((error: Error) => report(error));
          if (!question) return;
          const files = (question.attachments ?? []).map(({ id }) => id);
          // `send` reports failures.
          await send(question.content, question.id, files).catch(() => undefined);
        },
        onCancel: () => interrupted(session, report),
        ...actionCallbacks(session, report),
      },
      feedback: {
        submit: ({ message, type }) => {
          const score = type === "positive" ? 1 : -1;
          client.giveFeedback(session.id, message.id, { score }).catch((error: Error) => report(error));
        },
      },
      queue: queueOf(
        (message, busy) =>
          void send(textOf(message), null, attachmentIds(message), busy).catch(() => undefined),
      ),
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

/** Converts the option `steer` of `composer().send`; `null` if it is not set. */
function busyOf({ steer }: AppendMessage): Busy | null {
  if (steer === undefined) return null;
  return steer ? "steer" : "enqueue";
}

function queueOf(take: (message: AppendMessage, busy: Busy | null) => void): ExternalThreadQueueAdapter {
  const nothing = (): void => undefined;
  return {
    items: [],
    steerItems: [],
    enqueue: (message) => take(message, busyOf(message)),
    // assistant-ui calls this even if `steer` is not set.
    steer: (message) => take(message, busyOf(message)),
    move: nothing,
    edit: nothing,
    remove: nothing,
  };
}

/** Like `questionOf`, but loads earlier messages if the question is not loaded. */
async function loadedQuestion(session: LiveSession, answerId: string | null): Promise<Message | null> {
  const question = questionOf(session, answerId);
  if (question !== null) return question;
  await session.loadEarlier();
  return questionOf(session, answerId);
}

/** Returns the question that a message answers; `null` if unknown. */
function questionOf(session: LiveSession, answerId: string | null): Message | null {
  const messages = session.getSnapshot()?.messages ?? [];
  const index = messages.findIndex(({ id }) => id === answerId);
  const before = messages[index - 1];
  const isBefore = before?.sender === "user" && before.turn === messages[index]?.turn;
  return answeredQuestion(messages, index) ?? (isBefore ? before : null);
}

/** Returns the file ids in an edit form; those of the edited message if the form does not list files. */
function filesOfEdit(session: LiveSession, message: AppendMessage): readonly string[] {
  if (message.attachments !== undefined) return attachmentIds(message);
  const edited = session.getSnapshot()?.messages.find(({ id }) => id === message.sourceId);
  return (edited?.attachments ?? []).map(({ id }) => id);
}

function textOf({ content }: AppendMessage): string {
  return content.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("\n");
}
