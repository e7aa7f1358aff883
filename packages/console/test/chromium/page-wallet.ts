// A scripted wallet with one account, injected like an extension's (EIP-1193).

import type { BrowserContext } from "playwright-core";

export interface WalletCall {
  readonly method: string;
  readonly params?: readonly unknown[];
}

/** The wallet's answer; an object with `code` is thrown, as wallets do. */
export type WalletAnswer = (call: WalletCall) => unknown;

const BINDING = "answerOfTheWallet";

/** Injects the wallet into every page of the context from its next load on. Returns the recorded calls. */
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

/** A wallet shared by several tests, with other answers for each. */
export class ChangingWallet {
  #answer: WalletAnswer = () => null;
  #calls: WalletCall[] = [];

  /** Answers so from now on. Returns the calls made from now on. */
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
