// The page's client and its settings.

import { ColloquyError, createClient, walletToken } from "@colloquy/client";
import type { Client, ClientOptions, Page, WalletToken } from "@colloquy/client";
import { ColloquyProvider, localThreads } from "@colloquy/react";
import {
  createContext,
  use,
  useCallback,
  useEffect,
  useMemo,
  useState,
  useSyncExternalStore,
  type ReactNode,
} from "react";
import {
  createPageParts,
  DEFAULT_APP,
  LOADED_MESSAGES,
  rememberIn,
  serviceStorageKey,
  type KeyValueStore,
  type PageContext,
} from "@colloquy/ui/parts";
import { recordedFetch } from "../developer/recorded-fetch.ts";
import { RequestLog } from "../developer/request-log.ts";
import type { Returned } from "../sign-in/requests.ts";
import type { SignIn, SignInState } from "../sign-in/sign-in.ts";
import { SignIns } from "../sign-in/sign-ins.ts";
import { watchedFetch } from "../sign-in/watched-fetch.ts";
import { loadSignIn, saveSignIn } from "../wallet/wallet-sign-in.ts";
import { loadSettings, saveSettings, type Settings } from "./settings.ts";
import { usePage } from "./use-page.ts";

export interface Connection extends Settings {
  /** Uses the key of the settings and `requestApp`. A new object when either changes. */
  readonly client: Client;
  /** Public settings of `requestApp`; `null` while unknown. */
  readonly page: Page | null;
  /** True until the first request for `page` has ended. */
  readonly isPageAwaited: boolean;
  readonly signIns: SignIns;
  /** The user's sign-in for `requestApp`, and its state. */
  readonly user: SignIn;
  readonly userState: SignInState;
  /** State of the operators' sign-in. */
  readonly operatorState: SignInState;
  /** Like `client`, but without proof of a wallet. */
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
  readonly outbox: PageContext["outbox"];
  /** Open requests to the browser's wallet. */
  readonly walletRequests: PageContext["walletRequests"];
  /** The message that the page is about to show. */
  readonly jumps: PageContext["jumps"];
  /** Selects a wallet with its sign-in (`null` if it is only claimed), and ends the sign-in of the one before. */
  readonly selectWallet: (wallet: string | null, signedIn: WalletToken | null) => void;
  /** Changes settings and stores them for this tab. */
  readonly change: (entered: Partial<Settings>) => void;
  /** Adds a new conversation to this browser's list, titled by its first message. */
  readonly remember: (sessionId: string, firstMessage: string) => void;
}

const ConnectionContext = createContext<Connection | null>(null);

/** Provides `useConnection` to everything below. */
export function ConnectionProvider({
  returned,
  children,
}: {
  /** The issuer's response in the page's URL. */
  readonly returned: Returned | null;
  readonly children: ReactNode;
}): ReactNode {
  const [parts] = useState(() => {
    const page = createPageParts();
    return { ...page, requests: new RequestLog(), signIns: new SignIns(page.storage, returned) };
  });
  const { storage, requests, signIns } = parts;
  const [settings, change] = useSettings(storage);
  const { key } = settings;
  const [conversationApp, setConversationApp] = useState<string | null>(null);
  // Always explicit: some operations use the App of the key if none is named.
  const app = conversationApp ?? settings.app ?? DEFAULT_APP;
  const fetch = useMemo(() => recordedFetch({ log: requests }), [requests]);
  const user = signIns.user(app);
  const userState = useSyncExternalStore(user.subscribe, user.state);
  const operatorState = useSyncExternalStore(signIns.operator.subscribe, signIns.operator.state);
  const isSignedIn = userState.signedIn !== null;
  const { client, anonymous, open, signIn } = useClients(storage, {
    app,
    key,
    fetch,
    user,
    userId: userState.signedIn?.id ?? null,
  });
  const compare = useCallback(
    (page: Page) => {
      signIns.user(page.app).endUnlessMadeWith(page.sign_in);
      signIns.operator.endUnlessMadeWith(page.operator_sign_in);
    },
    [signIns],
  );
  const known = usePage(open, app, compare);
  const page = known ?? null;
  useEffect(() => void signIns.finish(app), [signIns, app]);
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
    (sessionId: string, firstMessage: string) => rememberIn(threads, sessionId, firstMessage),
    [threads],
  );
  const connection = useMemo(
    () => ({
      ...settings,
      ...parts,
      client,
      anonymous,
      page,
      isPageAwaited: known === undefined,
      user,
      userState,
      operatorState,
      requestApp: app,
      setConversationApp,
      fetch,
      selectWallet,
      change,
      remember,
    }),
    [
      settings,
      parts,
      client,
      anonymous,
      page,
      known,
      user,
      userState,
      operatorState,
      app,
      setConversationApp,
      fetch,
      selectWallet,
      change,
      remember,
    ],
  );
  return (
    <ConnectionContext value={connection}>
      <ColloquyProvider
        client={client}
        publicKey={settings.wallet}
        signedIn={isSignedIn}
        storage={threads}
        messages={LOADED_MESSAGES}
      >
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

interface ClientParts {
  readonly app: string;
  readonly key: string | null;
  readonly fetch: typeof globalThis.fetch;
  readonly user: SignIn;
  /** Id of the user's sign-in; `null` for none. */
  readonly userId: string | null;
}

/**
 * Creates three clients: with the user's and the wallet's token, with the user's only, and without a token.
 */
function useClients(storage: KeyValueStore, { app, key, fetch, user, userId }: ClientParts) {
  const [signedIn, setSignedIn] = useState(() => loadSignIn(storage));
  const clients = useMemo(() => {
    // A relative address, because the service may be mounted under a path.
    const baseUrl = new URL(".", window.location.href).href;
    const base = { baseUrl, app, reasoning: true, ...(key !== null && { key }) };
    // Do not retry while the service is down: the first response decides what the page shows.
    const open = createClient({ baseUrl, app, fetch, retries: 0 });
    const options: ClientOptions =
      userId === null
        ? { ...base, fetch }
        : { ...base, fetch: watchedFetch(fetch, user), token: () => user.token() };
    const anonymous = createClient(options);
    if (signedIn === null) return { client: anonymous, anonymous, open };
    // Refreshed tokens are stored only: a new state would replace the client and reopen its streams.
    const ofWallet = walletToken(loadSignIn(storage) ?? signedIn, { ...base, fetch }, (next) =>
      saveSignIn(storage, next),
    );
    const token = async (): Promise<string> => {
      try {
        return await ofWallet();
      } catch (error) {
        // A wallet token belongs to the user's token with which it was issued, and ends with it.
        if (userId === null || !(error instanceof ColloquyError) || error.status !== 401) throw error;
        saveSignIn(storage, null);
        setSignedIn(null);
        return await user.token();
      }
    };
    return { client: createClient({ ...options, token }), anonymous, open };
  }, [app, key, fetch, user, userId, signedIn, storage]);
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

export function useConnection(): Connection {
  const connection = use(ConnectionContext);
  if (connection === null) throw new Error("useConnection needs a ConnectionProvider above it.");
  return connection;
}
