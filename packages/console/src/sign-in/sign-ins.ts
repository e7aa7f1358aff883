// The sign-ins of this tab: one per App for users, and one for operators.

import { createClient } from "@colloquy/client";
import { serviceStorageKey, type KeyValueStore } from "@colloquy/ui/parts";
import {
  beginSignIn,
  finishSignIn,
  renewSignIn,
  signOutAddress,
  type Purpose,
  type Returned,
} from "./requests.ts";
import type { PageSignIn } from "@colloquy/client";
import { SignIn } from "./sign-in.ts";

export class SignIns {
  readonly operator: SignIn;
  readonly #users = new Map<string, SignIn>();
  readonly #storage: KeyValueStore;
  readonly #listeners = new Set<() => void>();
  #returned: Returned | null;
  #isFinishing: boolean;

  /** `returned` is the issuer's response in the page's URL; `null` if there was none. */
  constructor(storage: KeyValueStore, returned: Returned | null) {
    this.#storage = storage;
    this.#returned = returned;
    this.#isFinishing = returned !== null && returned.pending !== null;
    this.operator = this.#create("colloquy.operator");
  }

  /** Returns the user's sign-in for an App: the same object each time. */
  user(app: string): SignIn {
    let signIn = this.#users.get(app);
    if (signIn === undefined) {
      signIn = this.#create(`colloquy.sign-in.${app}`);
      this.#users.set(app, signIn);
    }
    return signIn;
  }

  /** Snapshot for `useSyncExternalStore`: true while the issuer's response is exchanged for tokens. */
  readonly isFinishing = (): boolean => this.#isFinishing;
  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  };

  /** Redirects to the issuer. Rejects with an `Error` with a user-facing message. */
  begin(at: PageSignIn, wanted: { readonly purpose: Purpose; readonly app: string }): Promise<void> {
    return beginSignIn(at, wanted, window, this.#storage);
  }

  /** Finishes the sign-in that has returned to this page, once. `app` is the current App. */
  async finish(app: string): Promise<void> {
    const returned = this.#returned;
    this.#returned = null;
    if (returned === null) return;
    const signIn =
      returned.pending?.purpose === "operator" ? this.operator : this.user(returned.pending?.app ?? app);
    try {
      const baseUrl = new URL(".", window.location.href).href;
      const page = await createClient({ baseUrl, app: returned.pending?.app ?? app, retries: 2 }).getPage();
      const { tokens, at } = await finishSignIn(returned, page, window.location);
      signIn.accept(tokens, at);
    } catch (error) {
      // Reopening the response of a finished sign-in must not end that sign-in.
      if (signIn.state().signedIn === null) signIn.end(error instanceof Error ? error.message : null);
    } finally {
      this.#isFinishing = false;
      for (const listener of this.#listeners) listener();
    }
  }

  /**
   * Signs out here and at the issuer, and reloads or leaves the page, so that no user data stays in memory.
   */
  signOut(signIn: SignIn, alsoForget: readonly string[]): void {
    const { signedIn } = signIn.state();
    signIn.end(null);
    for (const entry of alsoForget) this.#storage.removeItem(entry);
    const address = signedIn === null ? null : signOutAddress(signedIn, window.location);
    if (address === null) window.location.reload();
    else window.location.assign(address);
  }

  #create(entry: string): SignIn {
    return new SignIn({
      storage: this.#storage,
      entry,
      now: () => Date.now(),
      locks: navigator.locks,
      renew: renewSignIn,
      wait: (ms) => new Promise((resolve) => setTimeout(resolve, ms)),
    });
  }
}

/** Returns the storage entries with a user's texts: drafts and messages in flight. */
export function textsOfUser(names: readonly string[], location: Pick<Location, "href">): readonly string[] {
  const own = (name: string): string | null => {
    const entry = name.replace(/ .*$/, "");
    return serviceStorageKey(entry, location) === name ? entry : null;
  };
  return names.flatMap((name) => {
    const entry = own(name);
    const isText = entry !== null && (entry.startsWith("colloquy.draft.") || entry === "colloquy.leaving");
    return isText ? [entry] : [];
  });
}
