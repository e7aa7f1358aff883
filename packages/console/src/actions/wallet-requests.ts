// What the browser's wallet is asked for, and what it gave: one of these for the page, because cards come and go while a wallet's prompt
// stands open. A transaction is noted before the wallet is asked for it, where every tab of the browser sees it and the next load of the
// page: a wallet that was asked may have sent it, whoever was there to hear the answer.

import { tabStorage, type Kept } from "../connection/tab-storage.ts";
import type { BrowserWallet } from "../wallet/browser-wallet.ts";
import { browserStorage, forgetOld, withMemory, type WalletPage } from "./wallet-storage.ts";
import { ASKED, forgetResult, keepResult, keptResult, type WalletResult } from "./wallet-results.ts";

/** Codes of EIP-1193 that say that nothing was done: declined, not allowed, not known. With any other one nobody knows. */
const REFUSALS: ReadonlySet<unknown> = new Set([4001, 4100, 4200]);

/** One for the page. Fits `useSyncExternalStore`. */
export class WalletRequests {
  readonly #page: WalletPage;
  /** Signatures: they are secrets of a kind, and to give one again sends nothing. */
  readonly #tab: Kept;
  /** Transactions, which are public: no tab may send again what another one has sent. */
  readonly #browser: Kept;
  readonly #open = new Map<string, Promise<void>>();
  readonly #listeners = new Set<() => void>();
  #version = 0;

  constructor(page: WalletPage) {
    this.#page = page;
    this.#tab = withMemory(tabStorage(page));
    this.#browser = withMemory(browserStorage(page));
    forgetOld(page, new Date());
  }

  readonly getSnapshot = (): number => this.#version;

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    // Other tabs ask and tell, too.
    this.#page.addEventListener("storage", this.#changed);
    return () => {
      this.#listeners.delete(listener);
      if (this.#listeners.size === 0) this.#page.removeEventListener("storage", this.#changed);
    };
  };

  /** What the wallet gave, and the service does not know; `null` for nothing. */
  given(actionId: string): WalletResult | null {
    return keptResult(this.#browser, actionId) ?? keptResult(this.#tab, actionId);
  }

  /** Whether a wallet was asked for this transaction, here or in another tab, and did not decline. */
  wasAsked(actionId: string): boolean {
    return this.#browser.getItem(`${ASKED}${actionId}`) !== null;
  }

  /** What this page does for the action at the moment; `null` for nothing. */
  underWay(actionId: string): Promise<void> | null {
    return this.#open.get(actionId) ?? null;
  }

  /** Does `work`, or joins what is under way for the action. */
  join(actionId: string, work: () => Promise<void>): Promise<void> {
    const open = this.underWay(actionId);
    if (open !== null) return open;
    const begun = work().finally(() => {
      this.#open.delete(actionId);
      this.#changed();
    });
    this.#open.set(actionId, begun);
    this.#changed();
    return begun;
  }

  /** Does `work` while no other tab does any for the action. Throws an Error with a sentence for the person where one does. */
  async alone<Result>(actionId: string, work: () => Promise<Result>): Promise<Result> {
    const locks = this.#page.navigator.locks;
    // Browsers have none for pages without TLS.
    if (locks === undefined) return work();
    const seen: { begun: Promise<Result> | null; isTaken: boolean } = { begun: null, isTaken: false };
    try {
      await locks.request(`colloquy.wallet.${actionId}`, { ifAvailable: true }, async (lock) => {
        seen.isTaken = lock === null;
        if (lock !== null) await (seen.begun = work());
      });
    } catch {
      // Of the work: it is thrown below. Of the request: the tabs cannot agree here, and the note of who was asked has to do.
    }
    if (seen.isTaken)
      throw new Error(
        "Another tab of this browser is asking the wallet for this. Look into the wallet’s window.",
      );
    return seen.begun ?? work();
  }

  /** The wallet, with the transaction noted for the action right before it is asked to send it. `until` is when the action is over. */
  noting(
    wallet: BrowserWallet,
    { id, until }: { readonly id: string; readonly until: string },
  ): BrowserWallet {
    return {
      request: async (call) => {
        if (call.method !== "eth_sendTransaction") return wallet.request(call);
        const wasAskedBefore = this.wasAsked(id);
        this.#browser.setItem(`${ASKED}${id}`, until);
        this.#changed();
        try {
          return await wallet.request(call);
        } catch (thrown) {
          // To decline the second time says nothing about the first.
          if (!wasAskedBefore && isRefusal(thrown)) this.forget(id);
          throw thrown;
        }
      },
    };
  }

  keep(actionId: string, result: WalletResult): void {
    keepResult("signature" in result ? this.#tab : this.#browser, actionId, result);
    this.#changed();
  }

  /** The action is decided, or what was given is no good. */
  forget(actionId: string): void {
    this.#browser.removeItem(`${ASKED}${actionId}`);
    for (const storage of [this.#browser, this.#tab]) forgetResult(storage, actionId);
    this.#changed();
  }

  readonly #changed = (): void => {
    this.#version += 1;
    for (const listener of this.#listeners) listener();
  };
}

function isRefusal(thrown: unknown): boolean {
  return REFUSALS.has((thrown as { readonly code?: unknown } | null)?.code);
}
