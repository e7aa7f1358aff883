import type { Client, LiveSession } from "@colloquy/client";
import { createContext, useContext, useEffect, useMemo, useState, type ReactNode } from "react";
import { SessionPool } from "./session-pool.ts";
import { storedThreadList, type ThreadList } from "./thread-list.ts";
import { memoryThreads, type ThreadStorage } from "./thread-storage.ts";
import { WalletThreadList } from "./wallet-thread-list.ts";

export interface ColloquyProviderProps {
  readonly client: Client;
  /** Address of the person's wallet: the list of threads is the wallet's then, and what is said belongs to it. */
  readonly publicKey?: string | null | undefined;
  /** Remembers which conversations are the page's own, where there is no wallet; as long as the page lives when absent. */
  readonly storage?: ThreadStorage | undefined;
  /** How many threads of a wallet come with each page, 1 to 200; 50 when absent. */
  readonly pageSize?: number | undefined;
  readonly children?: ReactNode;
}

/** What the provider gives to the hooks below it. */
export interface ColloquyContext {
  readonly client: Client;
  readonly publicKey: string | null;
  readonly pool: SessionPool;
  readonly list: ThreadList;
}

const Context = createContext<ColloquyContext | null>(null);

/** Gives everything below it one client, one live session an id, and one list of threads. */
export function ColloquyProvider(props: ColloquyProviderProps): ReactNode {
  const { client, publicKey = null, pageSize = 50, children } = props;
  const [memory] = useState(memoryThreads);
  const storage = props.storage ?? memory;
  const pool = useMemo(() => new SessionPool(client), [client]);
  const list = useMemo(
    () =>
      publicKey === null ? storedThreadList(storage) : new WalletThreadList({ client, publicKey, pageSize }),
    [client, publicKey, pageSize, storage],
  );
  useEffect(() => pool.observe(list.notice), [pool, list]);
  const value = useMemo(() => ({ client, publicKey, pool, list }), [client, publicKey, pool, list]);
  return <Context.Provider value={value}>{children}</Context.Provider>;
}

/** What the provider above gives. Throws where there is none. */
export function useColloquyContext(): ColloquyContext {
  const context = useContext(Context);
  if (context === null) throw new Error("Colloquy's hooks need a <ColloquyProvider client={…}> above them.");
  return context;
}

export interface Colloquy {
  readonly client: Client;
  readonly publicKey: string | null;
  /** The session with this id: the one that all hooks below the provider show. */
  readonly session: (id: string) => LiveSession;
}

/** The client, the wallet and the sessions of the provider above. The same object until one of these changes. */
export function useColloquy(): Colloquy {
  const { client, publicKey, pool } = useColloquyContext();
  return useMemo(() => ({ client, publicKey, session: (id) => pool.session(id) }), [client, publicKey, pool]);
}
