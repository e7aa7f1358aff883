// The tab's storage. Its keys include the page's path: services under different paths of a host share the
// browser's storage, and one service must never read the App key of another.

export type KeyValueStore = Pick<Storage, "getItem" | "setItem" | "removeItem">;

/** The parts of the page used here. */
export interface StoringPage {
  readonly sessionStorage: KeyValueStore;
  readonly location: { readonly href: string };
}

/** Returns the storage key of an entry for this page's service; unchanged at the root of the host. */
export function serviceStorageKey(entry: string, { href }: StoringPage["location"]): string {
  const { pathname } = new URL(".", href);
  return pathname === "/" ? entry : `${entry} ${pathname}`;
}

/** Returns the tab's storage for this page's service. Every access throws if the browser refuses storage. */
export function tabStorage(page: StoringPage): KeyValueStore {
  return {
    getItem: (entry) => page.sessionStorage.getItem(serviceStorageKey(entry, page.location)),
    setItem: (entry, value) => page.sessionStorage.setItem(serviceStorageKey(entry, page.location), value),
    removeItem: (entry) => page.sessionStorage.removeItem(serviceStorageKey(entry, page.location)),
  };
}
