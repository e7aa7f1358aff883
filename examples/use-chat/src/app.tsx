import type { Client } from "@colloquy/client";
import type { UIMessage } from "ai";
import { useEffect, useState, type ReactNode } from "react";
import { Chat } from "./chat.tsx";
import { uiMessages } from "./ui-messages.ts";

/** Loads the conversation that the URL names, or starts a new one. */
export function App({ client }: { readonly client: Client }): ReactNode {
  const [id] = useState(() => globalThis.location.hash.slice(1) || client.session().id);
  const [messages, setMessages] = useState<UIMessage[] | null>(null);
  const [error, setError] = useState<string | null>(null);
  useEffect(() => {
    const end = new AbortController();
    // Replace the entry, so that Back leaves the page instead of leading to an address without the id.
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
