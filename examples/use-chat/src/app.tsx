import type { Client } from "@colloquy/client";
import type { UIMessage } from "ai";
import { useEffect, useState, type ReactNode } from "react";
import { Chat } from "./chat.tsx";
import { uiMessages } from "./ui-messages.ts";

/** Loads the conversation that the page's address names, a new one without. */
export function App({ client }: { readonly client: Client }): ReactNode {
  const [id] = useState(() => globalThis.location.hash.slice(1) || client.session().id);
  const [messages, setMessages] = useState<UIMessage[] | null>(null);
  const [error, setError] = useState<string | null>(null);
  useEffect(() => {
    const end = new AbortController();
    // In its place, so that Back leads away from the page, and to no address without the id.
    globalThis.history.replaceState(null, "", `#${id}`);
    client
      .getState(id, { signal: end.signal })
      .then((snapshot) => setMessages(uiMessages(snapshot.messages)))
      .catch((error: Error) => {
        if (!end.signal.aborted) setError(error.message);
      });
    return () => end.abort();
  }, [client, id]);
  if (error !== null) return <p role="alert">{error}</p>;
  return messages === null ? <p>Loading</p> : <Chat client={client} id={id} initial={messages} />;
}
