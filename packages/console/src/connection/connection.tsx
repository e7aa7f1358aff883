// The one client of the page, and what a person has entered for it.

import { createClient, type Client } from "@colloquy/client";
import { ColloquyProvider, localThreads } from "@colloquy/react";
import { createContext, use, useCallback, useMemo, useState, type ReactNode } from "react";
import { recordedFetch } from "../developer/recorded-fetch.ts";
import { RequestLog } from "../developer/request-log.ts";
import { loadSettings, saveSettings, type Settings } from "./settings.ts";

export interface Connection extends Settings {
  /** Of the App and key above; another one when these change. */
  readonly client: Client;
  /** The calls that the client has made, and those that are made with `fetch`. */
  readonly requests: RequestLog;
  readonly fetch: typeof globalThis.fetch;
  /** Takes what was entered, until the tab is closed. */
  readonly change: (entered: Partial<Settings>) => void;
}

const ConnectionContext = createContext<Connection | null>(null);

/** Gives `useConnection` to everything below. */
export function ConnectionProvider({ children }: { readonly children: ReactNode }): ReactNode {
  const [settings, setSettings] = useState(() => loadSettings(window.sessionStorage));
  const { app, key } = settings;
  const [requests] = useState(() => new RequestLog());
  const fetch = useMemo(() => recordedFetch({ log: requests }), [requests]);
  const client = useMemo(
    () =>
      createClient({
        // Where the page is: the service may stand under a path of its host.
        baseUrl: new URL(".", window.location.href).href,
        fetch,
        ...(app !== null && { app }),
        ...(key !== null && { key }),
      }),
    [app, key, fetch],
  );
  const [threads] = useState(() => localThreads());
  const change = useCallback((entered: Partial<Settings>) => {
    setSettings((before) => {
      const after = { ...before, ...entered };
      saveSettings(window.sessionStorage, after);
      return after;
    });
  }, []);
  const connection = useMemo(
    () => ({ ...settings, client, requests, fetch, change }),
    [settings, client, requests, fetch, change],
  );
  return (
    <ConnectionContext value={connection}>
      <ColloquyProvider client={client} publicKey={settings.wallet} storage={threads}>
        {children}
      </ColloquyProvider>
    </ConnectionContext>
  );
}

export function useConnection(): Connection {
  const connection = use(ConnectionContext);
  if (connection === null) throw new Error("useConnection needs a ConnectionProvider above it.");
  return connection;
}
