// The page's client, and the settings a person has entered for it.

import { createClient, type Client } from "@colloquy/client";
import { ColloquyProvider, localThreads } from "@colloquy/react";
import { createContext, use, useCallback, useMemo, useState, type ReactNode } from "react";
import { WalletRequests } from "../actions/wallet-requests.ts";
import { Outbox } from "../chat/outbox.ts";
import { recordedFetch } from "../developer/recorded-fetch.ts";
import { RequestLog } from "../developer/request-log.ts";
import { watchAway } from "./away.ts";
import { withReleasedStreams } from "./released-streams.ts";
import { streamSlots, withStreamSlots } from "./stream-slots.ts";
import { loadSettings, saveSettings, type Settings } from "./settings.ts";
import { nameHere, tabStorage, type KeyValueStore } from "./tab-storage.ts";

export interface Connection extends Settings {
  /**
   * Uses the key above and the App of the open conversation, else of the next one; replaced when these
   * change.
   */
  readonly client: Client;
  /** The App that the client names in requests. */
  readonly requestApp: string;
  /** Sets the App of the open conversation, `null` for none. Requests go to that App. */
  readonly follow: (app: string | null) => void;
  /** Requests of the client and of `fetch`. */
  readonly requests: RequestLog;
  readonly fetch: typeof globalThis.fetch;
  /** The tab's storage for this service. */
  readonly storage: KeyValueStore;
  /** Messages in flight to the service. */
  readonly outbox: Outbox;
  /** Requests to the browser's wallet. */
  readonly walletRequests: WalletRequests;
  /** Changes settings until the tab is closed. */
  readonly change: (entered: Partial<Settings>) => void;
  /** Adds a conversation to this browser's own list, titled by its first message, before a page shows it. */
  readonly remember: (sessionId: string, firstMessage: string) => void;
}

/** The App of requests that name none. */
export const DEFAULT_APP = "default";
/** Used until the service's title is known. */
const TITLE_LENGTH = 60;

const ConnectionContext = createContext<Connection | null>(null);

/** Provides `useConnection` to everything below. */
export function ConnectionProvider({ children }: { readonly children: ReactNode }): ReactNode {
  const [parts] = useState(partsOfPage);
  const { storage, requests } = parts;
  const [settings, setSettings] = useState(() => loadSettings(storage));
  const { key } = settings;
  const [followed, follow] = useState<string | null>(null);
  // Named even if it is the default: some calls without it go to the App of the key.
  const app = followed ?? settings.app ?? DEFAULT_APP;
  const [away] = useState(() => watchAway(window.document));
  const [places] = useState(() => streamSlots(window));
  const fetch = useMemo(
    () => withReleasedStreams(withStreamSlots(recordedFetch({ log: requests }), places), away),
    [requests, places, away],
  );
  const client = useMemo(
    () =>
      createClient({
        // The page's own folder: the service may be mounted under a path.
        baseUrl: new URL(".", window.location.href).href,
        fetch,
        app,
        ...(key !== null && { key }),
      }),
    [app, key, fetch],
  );
  const [threads] = useState(() => localThreads({ key: nameHere("colloquy.threads", window.location) }));
  const change = useCallback(
    (entered: Partial<Settings>) => {
      setSettings((before) => {
        const after = { ...before, ...entered };
        saveSettings(storage, after);
        return after;
      });
    },
    [storage],
  );
  const remember = useCallback(
    (session_id: string, firstMessage: string) => {
      const title = firstMessage.slice(0, TITLE_LENGTH);
      const entry = { session_id, title, updated_at: new Date().toISOString() };
      threads.update((before) => [entry, ...before.filter((known) => known.session_id !== session_id)]);
    },
    [threads],
  );
  const connection = useMemo(
    () => ({ ...settings, ...parts, client, requestApp: app, follow, fetch, change, remember }),
    [settings, parts, client, app, follow, fetch, change, remember],
  );
  return (
    <ConnectionContext value={connection}>
      <ColloquyProvider client={client} publicKey={settings.wallet} storage={threads}>
        {children}
      </ColloquyProvider>
    </ConnectionContext>
  );
}

/** Creates what exists once per page, whichever client it has. */
function partsOfPage(): Pick<Connection, "storage" | "outbox" | "walletRequests" | "requests"> {
  const storage = tabStorage(window);
  return {
    storage,
    outbox: new Outbox(storage),
    walletRequests: new WalletRequests(window),
    requests: new RequestLog(),
  };
}

export function useConnection(): Connection {
  const connection = use(ConnectionContext);
  if (connection === null) throw new Error("useConnection needs a ConnectionProvider above it.");
  return connection;
}
