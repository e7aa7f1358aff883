// Requests to the browser's wallet and their results. One object per page, because cards mount and unmount
// while a wallet's prompt is open. A transaction is recorded, visible to all tabs and to the next page load,
// before the wallet is asked: the wallet may send it even if no page sees the result.

import { tabStorage, type KeyValueStore } from "../service/tab-storage.ts";
import type { BrowserWallet } from "../wallet/browser-wallet.ts";
import { browserStorage, removeExpired, withMemory, type WalletPage } from "./wallet-storage.ts";
import { ASKED, forgetResult, storeResult, storedResult, type WalletResult } from "./wallet-results.ts";

/**
 * EIP-1193 codes after which the wallet has certainly done nothing: rejected, unauthorized, unsupported.
 * After any other error the outcome is unknown.
 */
const REFUSALS: ReadonlySet<unknown> = new Set([4001, 4100, 4200]);

/** The wallet requests of a page. Fits `useSyncExternalStore`. */
export class WalletRequests {
  readonly #page: WalletPage;
  /** Stores signatures per tab: they are sensitive, and reporting one again has no effect. */
  readonly #tab: KeyValueStore;
  /** Stores transactions per browser: they are public, and no tab may repeat one that another has sent. */
  readonly #browser: KeyValueStore;
  readonly #open = new Map<string, Promise<void>>();
  readonly #listeners = new Set<() => void>();
  #version = 0;

  constructor(page: WalletPage) {
    this.#page = page;
    this.#tab = withMemory(tabStorage(page));
    this.#browser = withMemory(browserStorage(page));
    removeExpired(page, new Date());
  }

  readonly getSnapshot = (): number => this.#version;

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    // Other tabs also send and report requests.
    this.#page.addEventListener("storage", this.#changed);
    return () => {
      this.#listeners.delete(listener);
      if (this.#listeners.size === 0) this.#page.removeEventListener("storage", this.#changed);
    };
  };

  /** Returns the wallet's result that is not reported to the service yet, or `null`. */
  given(actionId: string): WalletResult | null {
    return storedResult(this.#browser, actionId) ?? storedResult(this.#tab, actionId);
  }

  /** Returns true if a wallet was asked for this transaction, in any tab, and did not reject it. */
  wasAsked(actionId: string): boolean {
    return this.#browser.getItem(`${ASKED}${actionId}`) !== null;
  }

  /** Returns this page's pending request for the action; `null` if none. */
  inFlight(actionId: string): Promise<void> | null {
    return this.#open.get(actionId) ?? null;
  }

  /** Runs `work`, or joins the pending request for the action. */
  join(actionId: string, work: () => Promise<void>): Promise<void> {
    const open = this.inFlight(actionId);
    if (open !== null) return open;
    const begun = work().finally(() => {
      this.#open.delete(actionId);
      this.#changed();
    });
    this.#open.set(actionId, begun);
    this.#changed();
    return begun;
  }

  /**
   * Runs `work` unless another tab runs it for this action; then throws an `Error` with a user-facing
   * message.
   */
  async alone<Result>(actionId: string, work: () => Promise<Result>): Promise<Result> {
    const locks = this.#page.navigator.locks;
    // Browsers have no locks on pages without TLS.
    if (locks === undefined) return work();
    const seen: { begun: Promise<Result> | null; isTaken: boolean } = { begun: null, isTaken: false };
    try {
      await locks.request(`colloquy.wallet.${actionId}`, { ifAvailable: true }, async (lock) => {
        seen.isTaken = lock === null;
        if (lock !== null) await (seen.begun = work());
      });
    } catch {
      // Errors of `work` are rethrown below. If the lock request itself failed, tabs cannot coordinate and
      // rely on the record of the request.
    }
    if (seen.isTaken)
      throw new Error(
        "Another tab of this browser is asking the wallet for this. Look at the wallet’s window.",
      );
    return seen.begun ?? work();
  }

  /**
   * Returns the wallet, wrapped to record the transaction right before it is asked to send it. `until` is the
   * expiry of the action.
   */
  recording(
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
          // A rejection of a repeated request does not tell whether the first one was sent.
          if (!wasAskedBefore && isRefusal(thrown)) this.forget(id);
          throw thrown;
        }
      },
    };
  }

  keep(actionId: string, result: WalletResult): void {
    storeResult("signature" in result ? this.#tab : this.#browser, actionId, result);
    this.#changed();
  }

  /** Removes the records of an action. Call when the action is decided, or the result is unusable. */
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
