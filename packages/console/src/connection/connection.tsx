// The one client of the page, and what a person has entered for it.

import { createClient, type Client } from "@colloquy/client";
import { ColloquyProvider, localThreads } from "@colloquy/react";
import { createContext, use, useCallback, useMemo, useState, type ReactNode } from "react";
import { WalletRequests } from "../actions/wallet-requests.ts";
import { Outbox } from "../chat/outbox.ts";
import { recordedFetch } from "../developer/recorded-fetch.ts";
import { RequestLog } from "../developer/request-log.ts";
import { watchAway } from "./away.ts";
import { withReleasedStreams } from "./released-streams.ts";
import { streamPlaces, withStreamPlaces } from "./stream-places.ts";
import { loadSettings, saveSettings, type Settings } from "./settings.ts";
import { nameHere, tabStorage, type Kept } from "./tab-storage.ts";

export interface Connection extends Settings {
  /** Of the key above, and of the App of the conversation that is open or else of the next one; another one when these change. */
  readonly client: Client;
  /** Says which App the conversation that is open belongs to, `null` for none. What is sent goes there. */
  readonly follow: (app: string | null) => void;
  /** The calls that the client has made, and those that are made with `fetch`. */
  readonly requests: RequestLog;
  readonly fetch: typeof globalThis.fetch;
  /** Keeps what the tab has for this service. */
  readonly storage: Kept;
  /** What is on its way to the service. */
  readonly outbox: Outbox;
  /** What the browser's wallet is asked for. */
  readonly walletRequests: WalletRequests;
  /** Takes what was entered, until the tab is closed. */
  readonly change: (entered: Partial<Settings>) => void;
  /** Puts a conversation into this browser's own list, by what was said first in it, though no page has shown it yet. */
  readonly remember: (sessionId: string, firstMessage: string) => void;
}

/** The App of who names none. */
export const DEFAULT_APP = "default";
/** Until the service's own title is known. */
const TITLE_LENGTH = 60;

const ConnectionContext = createContext<Connection | null>(null);

/** Gives `useConnection` to everything below. */
export function ConnectionProvider({ children }: { readonly children: ReactNode }): ReactNode {
  const [parts] = useState(partsOfPage);
  const { storage, requests } = parts;
  const [settings, setSettings] = useState(() => loadSettings(storage));
  const { key } = settings;
  const [followed, follow] = useState<string | null>(null);
  // Named even where it is the default one: what names none goes to the App of the key in some calls.
  const app = followed ?? settings.app ?? DEFAULT_APP;
  const [away] = useState(() => watchAway(window.document));
  const [places] = useState(() => streamPlaces(window));
  const fetch = useMemo(
    () => withReleasedStreams(withStreamPlaces(recordedFetch({ log: requests }), places), away),
    [requests, places, away],
  );
  const client = useMemo(
    () =>
      createClient({
        // Where the page is: the service may stand under a path of its host.
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
    () => ({ ...settings, ...parts, client, follow, fetch, change, remember }),
    [settings, parts, client, follow, fetch, change, remember],
  );
  return (
    <ConnectionContext value={connection}>
      <ColloquyProvider client={client} publicKey={settings.wallet} storage={threads}>
        {children}
      </ColloquyProvider>
    </ConnectionContext>
  );
}

/** What there is once for the page, whichever client it has. */
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
