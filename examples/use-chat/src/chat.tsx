import { useChat } from "@ai-sdk/react";
import {
  DefaultChatTransport,
  lastAssistantMessageIsCompleteWithApprovalResponses,
  lastAssistantMessageIsCompleteWithToolCalls,
  type UIMessage,
} from "ai";
import { useMemo, useRef, useState, type FormEvent, type ReactNode } from "react";
import { Part } from "./part.tsx";
import { chatPath, interrupt, loadMessages } from "./service.ts";

interface ChatProps {
  readonly url: string;
  readonly id: string;
  readonly initial: UIMessage[];
}

/** Milliseconds before the page tries again to reach the service. */
const RETRY_MS = 1000;

export function Chat({ url, id, initial }: ChatProps): ReactNode {
  const transport = useMemo(() => new DefaultChatTransport({ api: chatPath(url) }), [url]);
  const reconnect = useRef<() => void>(() => undefined);
  const chat = useChat({
    id,
    transport,
    messages: initial,
    resume: true,
    generateId: () => crypto.randomUUID(),
    sendAutomaticallyWhen: (state) =>
      lastAssistantMessageIsCompleteWithApprovalResponses(state) ||
      lastAssistantMessageIsCompleteWithToolCalls(state),
    // Browsers report a service that is away as a TypeError.
    onError: (error) => void (error instanceof TypeError && setTimeout(reconnect.current, RETRY_MS)),
  });
  const { messages, setMessages, sendMessage, regenerate, resumeStream, status, error } = chat;
  // The answer may have ended meanwhile.
  reconnect.current = () =>
    void loadMessages(url, id)
      .then(setMessages)
      .then(() => resumeStream(), reconnectLater);
  const reconnectLater = (): void => void setTimeout(reconnect.current, RETRY_MS);
  const [text, setText] = useState("");
  const [edited, setEdited] = useState<string | null>(null);
  const [refused, setRefused] = useState<string | null>(null);
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    setText("");
    setEdited(null);
    void sendMessage(edited === null ? { text } : { text, messageId: edited });
  };
  const edit = (message: UIMessage): void => {
    setText(textOf(message));
    setEdited(message.id);
  };
  // A disconnect alone leaves the assistant working.
  const stop = (): void => {
    void chat.stop();
    interrupt(url, id).catch((error: Error) => setRefused(error.message));
  };
  const isBusy = status === "submitted" || status === "streaming";
  return (
    <main>
      <div role="log" aria-label="Messages">
        {messages.map((message) => (
          <article key={message.id} className={message.role}>
            {message.parts.map((part, at) => (
              <Part key={at} part={part} chat={chat} />
            ))}
            {message.role === "user" ? (
              <button onClick={() => edit(message)}>Edit</button>
            ) : (
              <button onClick={() => void regenerate({ messageId: message.id })}>Answer again</button>
            )}
          </article>
        ))}
      </div>
      {(error?.message ?? refused) !== null && <p role="alert">{error?.message ?? refused}</p>}
      <form onSubmit={submit}>
        <input aria-label="Message" value={text} onChange={(event) => setText(event.target.value)} />
        <button disabled={isBusy || text.trim() === ""}>{edited === null ? "Send" : "Send edited"}</button>
        {isBusy && (
          <button type="button" onClick={stop}>
            Stop
          </button>
        )}
      </form>
    </main>
  );
}

function textOf({ parts }: UIMessage): string {
  return parts.map((part) => (part.type === "text" ? part.text : "")).join("");
}
