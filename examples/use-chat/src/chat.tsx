import { useChat } from "@ai-sdk/react";
import type { Client, Decision } from "@colloquy/client";
import type { UIMessage } from "ai";
import { useMemo, useState, type FormEvent, type ReactNode } from "react";
import { ColloquyTransport } from "./colloquy-transport.ts";
import { Part } from "./part.tsx";

interface ChatProps {
  readonly client: Client;
  readonly id: string;
  readonly initial: UIMessage[];
}

export function Chat({ client, id, initial }: ChatProps): ReactNode {
  const transport = useMemo(() => new ColloquyTransport(client), [client]);
  const { messages, sendMessage, status, error } = useChat({
    id,
    transport,
    messages: initial,
    resume: true,
  });
  const [text, setText] = useState("");
  const [refused, setRefused] = useState<string | null>(null);
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    setText("");
    void sendMessage({ text });
  };
  // The open stream shows the effect. useChat's own `stop` would leave the assistant working.
  const stop = (): void => void client.interrupt(id).catch((error: Error) => setRefused(error.message));
  const decide = (actionId: string, decision: Decision): void =>
    void client.decideAction(id, actionId, decision).catch((error: Error) => setRefused(error.message));
  const isBusy = status === "submitted" || status === "streaming";
  return (
    <main>
      <div role="log" aria-label="Messages">
        {messages.map((message) => (
          <article key={message.id} className={message.role}>
            {message.parts.map((part, at) => (
              <Part key={at} part={part} decide={decide} />
            ))}
          </article>
        ))}
      </div>
      {(error?.message ?? refused) !== null && <p role="alert">{error?.message ?? refused}</p>}
      <form onSubmit={submit}>
        <input aria-label="Message" value={text} onChange={(event) => setText(event.target.value)} />
        <button disabled={isBusy || text.trim() === ""}>Send</button>
        {isBusy && (
          <button type="button" onClick={stop}>
            Stop
          </button>
        )}
      </form>
    </main>
  );
}
