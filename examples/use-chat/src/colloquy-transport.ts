// A chat transport of the AI SDK for Colloquy: the chat's id is the session's, and the service stores the
// conversation, so only the newest message is sent.

import type { Client, LiveSession, Message, Snapshot } from "@colloquy/client";
import type { ChatTransport, UIMessage, UIMessageChunk } from "ai";
import { AnswerChunks, isOver } from "./answer-chunks.ts";

export class ColloquyTransport implements ChatTransport<UIMessage> {
  /** Resuming an answer replays it from its start. */
  readonly resumeStreamIsReplay = true;
  readonly #client: Client;

  constructor(client: Client) {
    this.#client = client;
  }

  sendMessages: ChatTransport<UIMessage>["sendMessages"] = async (options) => {
    const said = options.messages.at(-1);
    if (options.trigger !== "submit-message" || said?.role !== "user") {
      throw new Error("Colloquy only takes new messages of the user; it cannot generate an answer again.");
    }
    const session = this.#client.session(options.chatId);
    const { messages } = await session.send(textOf(said));
    const mine = messages.findLast(({ sender }) => sender === "user");
    return answer(session, ({ messages }) => answerTo(mine, messages), options.abortSignal);
  };

  reconnectToStream: ChatTransport<UIMessage>["reconnectToStream"] = async ({ chatId, abortSignal }) => {
    const session = this.#client.session(chatId);
    const { is_processing, messages } = await session.refresh();
    if (!is_processing) return null;
    const known = messages.findLast(({ status }) => status === "streaming");
    const last = messages.findLast(({ sender }) => sender === "user");
    return answer(
      session,
      ({ messages }) =>
        known === undefined ? answerTo(last, messages) : messages.find(({ id }) => id === known.id),
      abortSignal,
    );
  };
}

/**
 * Follows the session until the answer is complete. The signal only ends the subscription: `useChat` aborts
 * when its component unmounts, and in strict mode right after mounting. To stop the assistant, call the
 * service; the answer then ends here too.
 */
function answer(
  session: LiveSession,
  find: (snapshot: Snapshot) => Message | undefined,
  signal: AbortSignal | undefined,
): ReadableStream<UIMessageChunk> {
  const chunks = new AnswerChunks();
  /** Unsubscribes. */
  let leave = (): void => undefined;
  let isOpen = true;
  return new ReadableStream<UIMessageChunk>({
    start(controller) {
      const end = (): void => {
        isOpen = false;
        leave();
        controller.close();
      };
      const look = (): void => {
        if (!isOpen) return;
        const snapshot = session.getSnapshot();
        const message = snapshot === null ? undefined : find(snapshot);
        if (snapshot !== null && message !== undefined) {
          for (const chunk of chunks.next(message, snapshot)) controller.enqueue(chunk);
          if (isOver(message, snapshot)) return end();
        }
        const errorText = endOf(session);
        if (errorText === null) return;
        controller.enqueue({ type: "error", errorText });
        end();
      };
      const stop = (): void => {
        if (!isOpen) return;
        controller.enqueue({ type: "abort" });
        end();
      };
      const unsubscribe = session.subscribe(look);
      signal?.addEventListener("abort", stop);
      leave = () => {
        unsubscribe();
        signal?.removeEventListener("abort", stop);
      };
      if (signal?.aborted === true) stop();
      else look();
    },
    cancel: () => {
      isOpen = false;
      leave();
    },
  });
}

/** Returns why the session has ended; `null` while it has not. */
function endOf(session: LiveSession): string | null {
  const { state, error } = session.getConnection();
  if (state === "deleted") return "This conversation was deleted.";
  return state === "failed" ? (error?.message ?? "The session cannot be followed.") : null;
}

/** Returns the first answer after the message. Ignores messages that another tab sends meanwhile. */
function answerTo(mine: Message | undefined, messages: readonly Message[]): Message | undefined {
  const at = messages.findIndex(({ id }) => id === mine?.id);
  return messages.slice(at + 1).find(({ sender }) => sender === "agent");
}

function textOf({ parts }: UIMessage): string {
  return parts.map((part) => (part.type === "text" ? part.text : "")).join("");
}
