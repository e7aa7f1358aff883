// Where the tab keeps what a person has entered. Services that stand under paths of one host share the storage of the browser: each has
// names of its own there, so that the keys of one never reach another.

export type Kept = Pick<Storage, "getItem" | "setItem" | "removeItem">;

/** What there is of the page. */
export interface StoringPage {
  readonly sessionStorage: Kept;
  readonly location: { readonly href: string };
}

/** The name of an entry for the service that the page belongs to: the plain one at the root of the host. */
export function nameHere(entry: string, { href }: StoringPage["location"]): string {
  const { pathname } = new URL(".", href);
  return pathname === "/" ? entry : `${entry} ${pathname}`;
}

/** The tab's storage as the page's own service has it. Throws where the browser allows none, with each use. */
export function tabStorage(page: StoringPage): Kept {
  return {
    getItem: (entry) => page.sessionStorage.getItem(nameHere(entry, page.location)),
    setItem: (entry, value) => page.sessionStorage.setItem(nameHere(entry, page.location), value),
    removeItem: (entry) => page.sessionStorage.removeItem(nameHere(entry, page.location)),
  };
}
