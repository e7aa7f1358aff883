import type { Client } from "@colloquy/client";
import { createContext, use } from "react";
import type { WalletRequests } from "../actions/wallet-requests.ts";
import type { AllowedImages } from "../markdown/image-url.ts";
import type { KeyValueStore } from "../service/tab-storage.ts";
import type { MessageJumps } from "./message-jumps.ts";
import type { Outbox } from "./outbox.ts";

/** The App that the service uses when none is named. */
export const DEFAULT_APP = "default";

/** Maps conversations to the page's URL. `null` stands for a conversation that has not started. */
export interface Address {
  /** Returns the target of a link to a conversation. */
  readonly hrefOf: (sessionId: string | null) => string;
  /** Shows a conversation. `replace` replaces the current history entry. */
  readonly open: (sessionId: string | null, options?: { readonly replace?: boolean }) => void;
  /** Returns the shown conversation; `undefined` on a page without one. */
  readonly shown: () => string | null | undefined;
  /** True if the page shows a single conversation, without links to others. */
  readonly isFixed?: true;
}

/** State and services shared by all components of a page. */
export interface PageContext {
  readonly address: Address;
  /** Storage of this tab for this service. */
  readonly storage: KeyValueStore;
  /** Messages that the service has not acknowledged. */
  readonly outbox: Outbox;
  /** Pending requests to the browser's wallet. */
  readonly walletRequests: WalletRequests;
  /** A search result to scroll to. */
  readonly jumps: MessageJumps;
  /** Name of the page in the tab's title; "Colloquy" by default. */
  readonly name?: string | undefined;
  /** Heading of a new conversation; a default text when absent. */
  readonly greeting?: string | undefined;
  /** Images that answers load; none when absent. */
  readonly images?: AllowedImages | undefined;
  /** The App of new conversations. */
  readonly app: string;
  /** The App of the shown conversation, or that of new ones. */
  readonly requestApp: string;
  /** Sets the App of the shown conversation; `null` if none is shown. */
  readonly setConversationApp: (app: string | null) => void;
  /** Returns a client that uses this App, without the user's sign-in. */
  readonly clientOf: (app: string) => Client;
  /** Adds a new conversation to this browser's list, titled by its first message. */
  readonly remember: (sessionId: string, firstMessage: string) => void;
  /** Opens the page's form for an App key; `null` if the page has none. */
  readonly askForKey: (() => void) | null;
}

const Context = createContext<PageContext | null>(null);

export const PageContextProvider = Context.Provider;

/** Returns the images that the page allows; `null` for none, and without a page. */
export function useAllowedImages(): AllowedImages | null {
  return use(Context)?.images ?? null;
}

export function usePage(): PageContext {
  const page = use(Context);
  if (page === null) throw new Error("Colloquy's components need a <ChatProvider> or <ChatPage> above them.");
  return page;
}
