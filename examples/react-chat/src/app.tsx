import { AssistantRuntimeProvider } from "@assistant-ui/react";
import type { Client } from "@colloquy/client";
import { ColloquyProvider, localThreads } from "@colloquy/react";
import { useColloquyRuntime } from "@colloquy/react/assistant-ui";
import { useState, type ReactNode } from "react";
import { Thread } from "./thread.tsx";
import { ThreadList } from "./thread-list.tsx";

export function App({ client }: { readonly client: Client }): ReactNode {
  const [storage] = useState(() => localThreads());
  return (
    <ColloquyProvider client={client} storage={storage}>
      <Assistant>
        <ThreadList />
        <Thread />
      </Assistant>
    </ColloquyProvider>
  );
}

/** Renders again with each piece of text, so it holds nothing but the runtime. */
function Assistant({ children }: { readonly children: ReactNode }): ReactNode {
  const [error, setError] = useState<string | null>(null);
  const runtime = useColloquyRuntime({ onError: ({ message }) => setError(message) });
  return (
    <AssistantRuntimeProvider runtime={runtime}>
      {children}
      {error !== null && (
        <p className="error" role="alert">
          {error} <button onClick={() => setError(null)}>Close</button>
        </p>
      )}
    </AssistantRuntimeProvider>
  );
}
