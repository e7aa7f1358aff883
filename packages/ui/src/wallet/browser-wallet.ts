// The wallet that a browser extension provides (EIP-1193). Account and chain are checked right before each
// use, because users change them outside the page.

import { hexadecimal } from "./amount.ts";

export interface BrowserWallet {
  request(call: { readonly method: string; readonly params?: readonly unknown[] }): Promise<unknown>;
}

export interface WalletTransaction {
  readonly to: string;
  /** Wei, decimal. */
  readonly value: string;
  /** Hexadecimal, with `0x`. */
  readonly data: string;
  readonly chain_id: number;
}

/** Returns `null` if there is no extension. */
export function browserWallet(page: object = window): BrowserWallet | null {
  const { ethereum } = page as { readonly ethereum?: Partial<BrowserWallet> };
  return typeof ethereum?.request === "function" ? (ethereum as BrowserWallet) : null;
}

/** Asks the user which accounts the page may use, unless that is already decided, and returns the current one. */
export async function connectWallet(wallet: BrowserWallet): Promise<string> {
  const [account] = await accountsOf(wallet);
  if (account === undefined) throw new Error("The wallet gave no account. Unlock it, and try again.");
  return account;
}

/**
 * Sends the transaction with the wallet and returns its hash. `expected` is the address that the page is
 * connected to, `null` for the wallet's current one. Throws an `Error` with a user-facing message.
 */
export async function sendTransaction(
  wallet: BrowserWallet,
  { to, value, data, chain_id }: WalletTransaction,
  expected: string | null,
): Promise<string> {
  return withUserFacingErrors(async () => {
    const from = await accountFor(wallet, expected);
    await switchTo(wallet, chain_id);
    const transaction = { from, to, value: hexadecimal(value), data, chainId: hexadecimal(chain_id) };
    return textOf(await wallet.request({ method: "eth_sendTransaction", params: [transaction] }));
  });
}

/** Signs EIP-712 typed data with the wallet and returns the signature. */
export async function signTypedData(
  wallet: BrowserWallet,
  typedData: Readonly<Record<string, unknown>>,
  expected: string | null,
): Promise<string> {
  return withUserFacingErrors(async () => {
    const from = await accountFor(wallet, expected);
    const chain = (typedData["domain"] as { readonly chainId?: string | number } | undefined)?.chainId;
    if (chain !== undefined) await switchTo(wallet, chain);
    const params = [from, JSON.stringify(typedData)];
    return textOf(await wallet.request({ method: "eth_signTypedData_v4", params }));
  });
}

/**
 * Signs a message (EIP-191) with the wallet. `write` gets the wallet's chain and returns the message, with
 * the bytes to sign as hexadecimal text.
 */
export async function signMessage(
  wallet: BrowserWallet,
  address: string,
  write: (chainId: number) => { readonly message: string; readonly bytes: string },
): Promise<{ readonly message: string; readonly signature: string }> {
  return withUserFacingErrors(async () => {
    const from = await accountFor(wallet, address);
    const { message, bytes } = write(Number(textOf(await wallet.request({ method: "eth_chainId" }))));
    const signature = textOf(await wallet.request({ method: "personal_sign", params: [bytes, from] }));
    return { message, signature };
  });
}

async function accountsOf(wallet: BrowserWallet): Promise<readonly string[]> {
  const accounts = await withUserFacingErrors(() => wallet.request({ method: "eth_requestAccounts" }));
  return Array.isArray(accounts) ? accounts.filter((account) => typeof account === "string") : [];
}

/** Returns the account that the page shows. Throws if the wallet does not offer it, instead of using another one. */
async function accountFor(wallet: BrowserWallet, expected: string | null): Promise<string> {
  if (expected === null) return connectWallet(wallet);
  const accounts = await accountsOf(wallet);
  const account = accounts.find((one) => one.toLowerCase() === expected.toLowerCase());
  if (account !== undefined) return account;
  throw new Error(
    `The wallet does not offer ${expected}, which this page is connected to. Choose that account there, or connect another one, and try again.`,
  );
}

async function switchTo(wallet: BrowserWallet, chain: string | number): Promise<void> {
  const chainId = hexadecimal(chain);
  const isOnIt = async (): Promise<boolean> =>
    textOf(await wallet.request({ method: "eth_chainId" })).toLowerCase() === chainId;
  if (await isOnIt()) return;
  await wallet.request({ method: "wallet_switchEthereumChain", params: [{ chainId }] });
  if (!(await isOnIt())) throw new Error(`The wallet did not switch to chain ${chain}. Switch it there.`);
}

function textOf(answer: unknown): string {
  if (typeof answer === "string") return answer;
  throw new Error("The wallet returned an invalid answer. Try again, or use another wallet.");
}

/**
 * Runs `work` and rethrows its failure with a user-facing message. Wallets rarely throw an `Error`, and their
 * messages are for developers.
 */
async function withUserFacingErrors<Result>(work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (thrown) {
    const { code, message } = (thrown ?? {}) as { readonly code?: unknown; readonly message?: unknown };
    const sentence = typeof code === "number" ? SENTENCES.get(code) : undefined;
    const words = typeof message === "string" && message !== "" ? message : "It gave no reason.";
    if (sentence === undefined && thrown instanceof Error && code === undefined) throw thrown;
    throw new Error(sentence ?? `The wallet refused. ${words}`, { cause: thrown });
  }
}

/**
 * User-facing messages by error code: EIP-1193, EIP-3326, and MetaMask's code for a request that is already
 * open.
 */
const SENTENCES: ReadonlyMap<number, string> = new Map([
  [4001, "You declined in the wallet. Nothing was sent or signed."],
  [4100, "The wallet does not let this page use that account. Allow it there, and try again."],
  [4900, "The wallet is not connected to any chain. Check the wallet, and try again."],
  [4902, "The wallet does not know this chain. Add it there, and try again."],
  [-32_002, "The wallet already has a request open. Look at its window."],
]);
