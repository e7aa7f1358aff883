import { AssistantRuntimeProvider } from "@assistant-ui/react";
import type { Client } from "@colloquy/client";
import { ColloquyProvider, localThreads, useClientTool, useColloquy } from "@colloquy/react";
import { useColloquyRuntime } from "@colloquy/react/assistant-ui";
import { useEffect, useState, type ReactNode } from "react";
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

/** Renders again with each delta, so it contains nothing but the runtime. */
function Assistant({ children }: { readonly children: ReactNode }): ReactNode {
  const [error, setError] = useState<string | null>(null);
  const [sessionId, setSessionId] = useSessionInAddress();
  const onError = ({ message }: Error): void => setError(message);
  useClientTool("set_color_scheme", setColorScheme);
  const runtime = useColloquyRuntime({ sessionId, onSessionChange: setSessionId, onError });
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

/** A client tool of this page: switches between light and dark. The App declares it (README.md). */
function setColorScheme({ scheme }: { readonly scheme: "light" | "dark" }): object {
  document.documentElement.style.colorScheme = scheme;
  return { scheme };
}

/**
 * Keeps the conversation in the URL's hash, which browsers do not send: a reload shows the same one, and Back
 * the previous one.
 */
function useSessionInAddress(): [string, (id: string) => void] {
  const { client } = useColloquy();
  const [id, setId] = useState(() => inAddress() ?? client.session().id);
  useEffect(() => {
    const named = inAddress();
    // Replace an address without an id, so that Back does not lead there.
    if (named === null) globalThis.history.replaceState(null, "", `#${id}`);
    else if (named !== id) globalThis.location.hash = id;
  }, [id]);
  useEffect(() => {
    const follow = (): void => setId(inAddress() ?? client.session().id);
    globalThis.addEventListener("hashchange", follow);
    return () => globalThis.removeEventListener("hashchange", follow);
  }, [client]);
  return [id, setId];
}

function inAddress(): string | null {
  return globalThis.location.hash.slice(1) || null;
}
