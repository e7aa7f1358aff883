import type { Client, LiveSession } from "@colloquy/client";
import { createContext, useContext, useEffect, useMemo, useState, type ReactNode } from "react";
import { SessionPool } from "./session-pool.ts";
import { storedThreadList, type ThreadList } from "./thread-list.ts";
import { memoryThreads, type ThreadStorage } from "./thread-storage.ts";
import { WalletThreadList } from "./wallet-thread-list.ts";

export interface ColloquyProviderProps {
  readonly client: Client;
  /** The user's wallet address. With it, threads are listed for the wallet and messages bind their session to it. */
  readonly publicKey?: string | null | undefined;
  /**
   * True if the client has a `token`: threads are then listed for the user. Pass a new client when the user
   * changes.
   */
  readonly signedIn?: boolean | undefined;
  /** Stores the page's own conversations if there is neither a wallet nor a user; in memory when absent. */
  readonly storage?: ThreadStorage | undefined;
  /** Number of threads of a wallet per page, 1 to 200; 50 when absent. */
  readonly pageSize?: number | undefined;
  /**
   * Number of latest messages that a session loads, from 1 to 1,000; all if absent. `loadEarlier` of
   * `useSession` loads earlier ones.
   */
  readonly messages?: number | undefined;
  readonly children?: ReactNode;
}

/** Context that the provider passes to hooks. */
export interface ColloquyContext {
  readonly client: Client;
  readonly publicKey: string | null;
  /** True if the client has a user's token. */
  readonly isSignedIn: boolean;
  readonly pool: SessionPool;
  readonly list: ThreadList;
}

const Context = createContext<ColloquyContext | null>(null);

/** Provides one client, one live session per id, and one list of threads to everything below it. */
export function ColloquyProvider(props: ColloquyProviderProps): ReactNode {
  const { client, publicKey = null, signedIn = false, pageSize = 50, messages, children } = props;
  const [memory] = useState(memoryThreads);
  const storage = props.storage ?? memory;
  const pool = useMemo(() => new SessionPool(client, messages), [client, messages]);
  const list = useMemo(
    () =>
      publicKey === null && !signedIn
        ? storedThreadList(storage)
        : new WalletThreadList({ client, publicKey, pageSize }),
    [client, publicKey, signedIn, pageSize, storage],
  );
  useEffect(() => pool.observe(list.onSummary), [pool, list]);
  const value = useMemo(
    () => ({ client, publicKey, isSignedIn: signedIn, pool, list }),
    [client, publicKey, signedIn, pool, list],
  );
  return <Context.Provider value={value}>{children}</Context.Provider>;
}

/** Returns the context of the provider above. Throws if there is none. */
export function useColloquyContext(): ColloquyContext {
  const context = useContext(Context);
  if (context === null) throw new Error("Colloquy's hooks need a <ColloquyProvider client={…}> above them.");
  return context;
}

export interface Colloquy {
  readonly client: Client;
  readonly publicKey: string | null;
  /** Returns the session with this id, shared by all hooks below the provider. */
  readonly session: (id: string) => LiveSession;
}

/**
 * Returns the client, wallet and sessions of the provider above. The same object until one of them changes.
 */
export function useColloquy(): Colloquy {
  const { client, publicKey, pool } = useColloquyContext();
  return useMemo(() => ({ client, publicKey, session: (id) => pool.session(id) }), [client, publicKey, pool]);
}
