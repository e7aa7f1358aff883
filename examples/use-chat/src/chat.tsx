import type { UIMessage } from "ai";
import { useState, type FormEvent, type ReactNode } from "react";
import { Part } from "./part.tsx";
import { useConversation, type Conversation } from "./use-conversation.ts";

export function Chat(conversation: Conversation): ReactNode {
  const { chat, stop, refused } = useConversation(conversation);
  const { messages, sendMessage, regenerate, status, error } = chat;
  const [text, setText] = useState("");
  const [edited, setEdited] = useState<string | null>(null);
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
  const isBusy = status === "submitted" || status === "streaming";
  const problem = error?.message ?? refused;
  return (
    <main>
      <div role="log" aria-label="Messages">
        {messages.length === 0 ? <h1 className="welcome">How can we help you?</h1> : <h1>Chat</h1>}
        {messages.map((message) => (
          <article key={message.id} className={message.role}>
            {message.parts.map((part, at) => (
              <Part key={at} part={part} chat={chat} isAnswer={message.role === "assistant"} />
            ))}
            {message.role === "user" ? (
              <button onClick={() => edit(message)}>Edit</button>
            ) : (
              <button onClick={() => void regenerate({ messageId: message.id })}>Answer again</button>
            )}
          </article>
        ))}
      </div>
      {problem !== null && <p role="alert">{problem}</p>}
      <form onSubmit={submit}>
        <input
          aria-label="Message"
          placeholder="Write a message"
          dir="auto"
          value={text}
          onChange={(event) => setText(event.target.value)}
        />
        <button className="primary" disabled={isBusy || text.trim() === ""}>
          {edited === null ? "Send" : "Send edited"}
        </button>
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
