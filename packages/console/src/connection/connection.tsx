// The page's client and its settings.

import { createClient, walletToken, type Client, type WalletToken } from "@colloquy/client";
import { ColloquyProvider, localThreads } from "@colloquy/react";
import { createContext, use, useCallback, useMemo, useState, type ReactNode } from "react";
import { WalletRequests } from "../actions/wallet-requests.ts";
import { Outbox } from "../chat/outbox.ts";
import { recordedFetch } from "../developer/recorded-fetch.ts";
import { RequestLog } from "../developer/request-log.ts";
import { watchAway } from "./away.ts";
import { withReleasedStreams } from "./released-streams.ts";
import { streamSlots, withStreamSlots } from "./stream-slots.ts";
import { loadSignIn, saveSignIn } from "../wallet/wallet-sign-in.ts";
import { loadSettings, saveSettings, type Settings } from "./settings.ts";
import { serviceStorageKey, tabStorage, type KeyValueStore } from "./tab-storage.ts";

export interface Connection extends Settings {
  /** Uses the key of the settings and `requestApp`. A new object when either changes. */
  readonly client: Client;
  /** Like `client`, but not signed in. */
  readonly anonymous: Client;
  /** The App of the open conversation, or the one chosen for new conversations. */
  readonly requestApp: string;
  /** Sets the App of the open conversation, `null` if none is open. */
  readonly setConversationApp: (app: string | null) => void;
  /** Records the requests of `client` and `fetch`. */
  readonly requests: RequestLog;
  readonly fetch: typeof globalThis.fetch;
  /** Storage of this tab for this service. */
  readonly storage: KeyValueStore;
  /** Messages that the service has not acknowledged. */
  readonly outbox: Outbox;
  /** Open requests to the browser's wallet. */
  readonly walletRequests: WalletRequests;
  /** Selects a wallet with its sign-in (`null` if it is only claimed), and ends the sign-in of the one before. */
  readonly selectWallet: (wallet: string | null, signedIn: WalletToken | null) => void;
  /** Changes settings and stores them for this tab. */
  readonly change: (entered: Partial<Settings>) => void;
  /** Adds a new conversation to this browser's list, titled by its first message. */
  readonly remember: (sessionId: string, firstMessage: string) => void;
}

/** The App that the service uses when none is named. */
export const DEFAULT_APP = "default";
/** Characters of the first message shown until the service has generated a title. */
const PROVISIONAL_TITLE_LENGTH = 60;

const ConnectionContext = createContext<Connection | null>(null);

/** Provides `useConnection` to everything below. */
export function ConnectionProvider({ children }: { readonly children: ReactNode }): ReactNode {
  const [parts] = useState(createPageParts);
  const { storage, requests } = parts;
  const [settings, change] = useSettings(storage);
  const { key } = settings;
  const [conversationApp, setConversationApp] = useState<string | null>(null);
  // Always explicit: some operations use the App of the key if none is named.
  const app = conversationApp ?? settings.app ?? DEFAULT_APP;
  const [away] = useState(() => watchAway(window.document));
  const [slots] = useState(() => streamSlots(window));
  const fetch = useMemo(
    () => withReleasedStreams(withStreamSlots(recordedFetch({ log: requests }), slots), away),
    [requests, slots, away],
  );
  const { client, anonymous, signIn } = useClients(storage, { app, key, fetch });
  const [threads] = useState(() =>
    localThreads({ key: serviceStorageKey("colloquy.threads", window.location) }),
  );
  const selectWallet = useCallback(
    (wallet: string | null, next: WalletToken | null) => {
      signIn(next);
      change({ wallet });
    },
    [signIn, change],
  );
  const remember = useCallback(
    (session_id: string, firstMessage: string) => {
      const title = firstMessage.slice(0, PROVISIONAL_TITLE_LENGTH);
      const entry = { session_id, title, updated_at: new Date().toISOString() };
      threads.update((before) => [entry, ...before.filter((known) => known.session_id !== session_id)]);
    },
    [threads],
  );
  const connection = useMemo(
    () => ({
      ...settings,
      ...parts,
      client,
      anonymous,
      requestApp: app,
      setConversationApp,
      fetch,
      selectWallet,
      change,
      remember,
    }),
    [settings, parts, client, anonymous, app, setConversationApp, fetch, selectWallet, change, remember],
  );
  return (
    <ConnectionContext value={connection}>
      <ColloquyProvider client={client} publicKey={settings.wallet} storage={threads}>
        {children}
      </ColloquyProvider>
    </ConnectionContext>
  );
}

/** Returns the tab's settings, and functions that change and store them. */
function useSettings(storage: KeyValueStore): [Settings, Connection["change"]] {
  const [settings, setSettings] = useState(() => loadSettings(storage));
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
  return [settings, change];
}

/** Creates the clients. One of them sends the token of the wallet that has signed in. */
function useClients(
  storage: KeyValueStore,
  { app, key, fetch }: { app: string; key: string | null; fetch: typeof globalThis.fetch },
) {
  const [signedIn, setSignedIn] = useState(() => loadSignIn(storage));
  const clients = useMemo(() => {
    // A relative address, because the service may be mounted under a path.
    const baseUrl = new URL(".", window.location.href).href;
    const options = { baseUrl, fetch, app, ...(key !== null && { key }) };
    const anonymous = createClient(options);
    if (signedIn === null) return { client: anonymous, anonymous };
    // Refreshed tokens are stored only: a new state would replace the client and reopen its streams.
    const token = walletToken(loadSignIn(storage) ?? signedIn, options, (next) => saveSignIn(storage, next));
    return { client: createClient({ ...options, token }), anonymous };
  }, [app, key, fetch, signedIn, storage]);
  const { client } = clients;
  const signIn = useCallback(
    (next: WalletToken | null) => {
      // If the service cannot be reached, the token expires by itself.
      if (signedIn !== null) void client.revokeToken().catch(() => undefined);
      saveSignIn(storage, next);
      setSignedIn(next);
    },
    [client, signedIn, storage],
  );
  return { ...clients, signIn };
}

/** Creates the parts that stay when the client changes. */
function createPageParts(): Pick<Connection, "storage" | "outbox" | "walletRequests" | "requests"> {
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
