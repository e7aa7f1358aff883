import type { Client } from "@colloquy/client";
import {
  ColloquyProvider,
  localThreads,
  type ColloquyProviderProps,
  type ThreadStorage,
} from "@colloquy/react";
import { useMemo, useState, type ReactNode } from "react";
import { WalletRequests } from "../actions/wallet-requests.ts";
import { MessageJumps } from "../chat/message-jumps.ts";
import { Outbox } from "../chat/outbox.ts";
import { DEFAULT_APP, PageContextProvider, type Address, type PageContext } from "../chat/page-context.tsx";
import type { AllowedImages } from "../markdown/image-url.ts";
import { serviceStorageKey, tabStorage } from "../service/tab-storage.ts";
import { provisionalTitle } from "../threads/provisional-title.ts";
import { hashAddress } from "./hash-address.ts";
import { useInBrowser } from "./use-in-browser.ts";

export interface ChatProviderProps extends ColloquyProviderProps {
  /** Maps conversations to the page's URL; by default, to its hash. */
  readonly address?: Address | undefined;
  /** The App of `client`. */
  readonly app?: string | undefined;
  /** Images that answers load; all others are links. Must be the same object on each render. */
  readonly images?: AllowedImages | undefined;
}

/** Number of latest messages that a conversation loads. */
export const LOADED_MESSAGES = 100;

/** Provides the client and the shared page context to the subtree, which servers do not render. */
export function ChatProvider(props: ChatProviderProps): ReactNode {
  return useInBrowser() ? <Provider {...props} /> : null;
}

function Provider(props: ChatProviderProps): ReactNode {
  const { client, address = hashAddress, app = DEFAULT_APP, images, storage, children, ...rest } = props;
  const [own] = useState(() => localThreads({ key: serviceStorageKey("colloquy.threads", window.location) }));
  const threads = storage ?? own;
  const page = usePageContext({ client, address, app, images, threads });
  return (
    <PageContextProvider value={page}>
      <ColloquyProvider messages={LOADED_MESSAGES} {...rest} client={client} storage={threads}>
        {children}
      </ColloquyProvider>
    </PageContextProvider>
  );
}

interface Given {
  readonly client: Client;
  readonly address: Address;
  readonly app: string;
  readonly images: AllowedImages | undefined;
  readonly threads: ThreadStorage;
}

function usePageContext({ client, address, app, images, threads }: Given): PageContext {
  const [parts] = useState(createPageParts);
  return useMemo(
    () => ({
      ...parts,
      address,
      images,
      app,
      requestApp: app,
      setConversationApp: () => undefined,
      clientOf: () => client,
      remember: (id, firstMessage) => rememberIn(threads, id, firstMessage),
      askForKey: null,
    }),
    [parts, client, address, app, images, threads],
  );
}

/** Creates the parts of a page context that outlive a change of the client. */
export function createPageParts(): Pick<PageContext, "storage" | "outbox" | "walletRequests" | "jumps"> {
  const storage = tabStorage(window);
  return {
    storage,
    outbox: new Outbox(storage),
    walletRequests: new WalletRequests(window),
    jumps: new MessageJumps(),
  };
}

/** Adds a new conversation to the stored list, titled by its first message. */
export function rememberIn(threads: ThreadStorage, session_id: string, firstMessage: string): void {
  const entry = { session_id, title: provisionalTitle(firstMessage), updated_at: new Date().toISOString() };
  threads.update((before) => [entry, ...before.filter((known) => known.session_id !== session_id)]);
}
