import type { SearchResult } from "@colloquy/client";
import { useMessageSearch } from "@colloquy/react";
import { useEffect, useState, type ReactNode } from "react";
import { usePage } from "../chat/page-context.tsx";
import { Button } from "../design/button.tsx";

/** Debounce delay of the search in milliseconds. */
const SETTLED_MS = 250;

/** Search results. A click opens the conversation at the message. */
export function FoundMessages({ query }: { readonly query: string }): ReactNode {
  const settled = useSettled(query.trim());
  const { results, isLoading, error, hasMore, loadMore } = useMessageSearch(settled);
  return (
    <section aria-label="Messages" className="cq-found">
      <h2 className="cq-thread-list-group">Messages</h2>
      <ul className="cq-thread-list-items">
        {results.map((result) => (
          <FoundMessage key={result.message_id} result={result} />
        ))}
      </ul>
      <p className="cq-unseen" role="status">
        {!isLoading && error === null && (results.length === 1 ? "1 message" : `${results.length} messages`)}
      </p>
      {isLoading && <p className="cq-thread-list-status">Searching messages…</p>}
      {error !== null && (
        <p className="cq-thread-list-failure" role="alert">
          Messages could not be searched. {error.message}
        </p>
      )}
      {!isLoading && error === null && results.length === 0 && (
        <p className="cq-thread-list-status">No message matches.</p>
      )}
      {hasMore && !isLoading && (
        <Button look="quiet" size="small" onClick={loadMore}>
          Show older messages
        </Button>
      )}
    </section>
  );
}

function FoundMessage({ result }: { readonly result: SearchResult }): ReactNode {
  const { address, jumps } = usePage();
  const { session_id: sessionId, message_id: messageId, title, snippet } = result;
  return (
    <li className="cq-thread-list-item cq-found-message">
      <a href={address.hrefOf(sessionId)} onClick={() => jumps.set({ sessionId, messageId })}>
        <bdi className="cq-found-title">{title}</bdi>
        <span className="cq-found-snippet" dir="auto">
          {snippet.map(({ text, match }, at) => (match === true ? <mark key={at}>{text}</mark> : text))}
        </span>
      </a>
    </li>
  );
}

/** Debounces a text. */
function useSettled(text: string): string {
  const [settled, setSettled] = useState(text);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(text), SETTLED_MS);
    return () => clearTimeout(timer);
  }, [text]);
  return settled;
}
