import type { UIMessage } from "ai";
import { useEffect, useState, type ReactNode } from "react";
import { Chat } from "./chat.tsx";
import { loadMessages } from "./service.ts";

/** Loads the conversation that the URL names, or starts a new one. `url` is the service's. */
export function App({ url }: { readonly url: string }): ReactNode {
  const [id] = useState(() => globalThis.location.hash.slice(1) || crypto.randomUUID());
  const [messages, setMessages] = useState<UIMessage[] | null>(null);
  const [error, setError] = useState<string | null>(null);
  useEffect(() => {
    const end = new AbortController();
    // Replace the entry, so that Back leaves the page instead of leading to an address without the id.
    globalThis.history.replaceState(null, "", `#${id}`);
    loadMessages(url, id, end.signal)
      .then(setMessages)
      .catch((error: Error) => {
        if (!end.signal.aborted) setError(error.message);
      });
    return () => end.abort();
  }, [url, id]);
  if (error !== null) return <p role="alert">{error}</p>;
  return messages === null ? <p>Loading</p> : <Chat url={url} id={id} initial={messages} />;
}
