import { useEffect, useState, type ReactNode } from "react";

/** What an operator sees of the service. `view` is the rest of the address after `#/operate/`. */
export function OperatorArea({ view }: { readonly view: string }): ReactNode {
  const [ready, setReady] = useState<boolean | null>(null);
  useEffect(() => {
    const leaving = new AbortController();
    fetch("/readyz", { signal: leaving.signal }).then(
      (answer) => setReady(answer.ok),
      () => setReady(leaving.signal.aborted ? null : false),
    );
    return () => leaving.abort();
  }, []);
  return (
    <p>
      {ready === null
        ? `Asking about ${view}…`
        : ready
          ? "The service is ready."
          : "The service is not ready."}
    </p>
  );
}
