// A wallet as extensions put it into pages (EIP-1193), with one account, that answers what a test tells it to.

import type { BrowserContext } from "playwright-core";

export interface WalletCall {
  readonly method: string;
  readonly params?: readonly unknown[];
}

/** What the wallet answers; an object with `code` is thrown, as wallets do. */
export type WalletAnswer = (call: WalletCall) => unknown;

const BINDING = "answerOfTheWallet";

/** Every page of the context has the wallet from its next load on. Answers the calls that were made. */
export async function givePageWallet(
  context: BrowserContext,
  answer: WalletAnswer,
): Promise<readonly WalletCall[]> {
  const calls: WalletCall[] = [];
  await context.exposeBinding(BINDING, (_source, call: WalletCall) => {
    calls.push(call);
    return answer(call);
  });
  await context.addInitScript((binding) => {
    const page = window as unknown as Record<string, (call: unknown) => Promise<unknown>> & {
      ethereum: object;
    };
    const ask = page[binding];
    page.ethereum = {
      async request(call: unknown) {
        const answer = (await ask?.(call)) as { code?: unknown; message?: string } | null;
        if (typeof answer?.code === "number") throw Object.assign(new Error(answer.message), answer);
        return answer;
      },
    };
  }, BINDING);
  return calls;
}

/** A wallet for pages that more than one test has, each with answers of its own. */
export class ChangingWallet {
  #answer: WalletAnswer = () => null;
  #calls: WalletCall[] = [];

  /** Answers so from now on. Gives the calls that are made from now on. */
  change(answer: WalletAnswer): readonly WalletCall[] {
    this.#answer = answer;
    this.#calls = [];
    return this.#calls;
  }

  async give(context: BrowserContext): Promise<void> {
    await givePageWallet(context, (call) => {
      this.#calls.push(call);
      return this.#answer(call);
    });
  }
}
