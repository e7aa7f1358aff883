// The wallet that an extension of the browser puts into the page (EIP-1193). Everything is asked for at the moment it is needed, because
// people change account and chain behind the page's back.

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

/** `null` where no extension offers one. */
export function browserWallet(page: object = window): BrowserWallet | null {
  const { ethereum } = page as { readonly ethereum?: Partial<BrowserWallet> };
  return typeof ethereum?.request === "function" ? (ethereum as BrowserWallet) : null;
}

/** Asks the person which accounts the page may know, unless that is settled, and answers the one in use. */
export async function connectWallet(wallet: BrowserWallet): Promise<string> {
  const [account] = await accountsOf(wallet);
  if (account === undefined) throw new Error("The wallet gave no account. Unlock it, and try again.");
  return account;
}

/**
 * Has the wallet send the transaction, and answers its hash. `expected` is the address that the page is connected to, `null` for whichever the wallet has.
 * Throws an Error with a sentence for the person.
 */
export async function sendTransaction(
  wallet: BrowserWallet,
  { to, value, data, chain_id }: WalletTransaction,
  expected: string | null,
): Promise<string> {
  return told(async () => {
    const from = await accountFor(wallet, expected);
    await switchTo(wallet, chain_id);
    const transaction = { from, to, value: hexadecimal(value), data, chainId: hexadecimal(chain_id) };
    return textOf(await wallet.request({ method: "eth_sendTransaction", params: [transaction] }));
  });
}

/** Has the wallet sign EIP-712 typed data, and answers the signature. */
export async function signTypedData(
  wallet: BrowserWallet,
  typedData: Readonly<Record<string, unknown>>,
  expected: string | null,
): Promise<string> {
  return told(async () => {
    const from = await accountFor(wallet, expected);
    const chain = (typedData["domain"] as { readonly chainId?: string | number } | undefined)?.chainId;
    if (chain !== undefined) await switchTo(wallet, chain);
    const params = [from, JSON.stringify(typedData)];
    return textOf(await wallet.request({ method: "eth_signTypedData_v4", params }));
  });
}

async function accountsOf(wallet: BrowserWallet): Promise<readonly string[]> {
  const accounts = await told(() => wallet.request({ method: "eth_requestAccounts" }));
  return Array.isArray(accounts) ? accounts.filter((account) => typeof account === "string") : [];
}

/** What is signed with another account than the one that the person was told is not what was meant. */
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
  if (!(await isOnIt()))
    throw new Error(`The wallet stayed on another chain than ${chain}. Choose it there.`);
}

function textOf(answer: unknown): string {
  if (typeof answer === "string") return answer;
  throw new Error("The wallet answered something that it should not. Try again, or use another wallet.");
}

/** What wallets throw is seldom an Error, and its words are made for programs. */
async function told<Result>(work: () => Promise<Result>): Promise<Result> {
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

/** EIP-1193, EIP-3326, and the one that a wallet answers when its window is open already. */
const SENTENCES: ReadonlyMap<number, string> = new Map([
  [4001, "You declined in the wallet. Nothing was sent or signed."],
  [4100, "The wallet does not let this page use that account. Allow it there, and try again."],
  [4900, "The wallet is not connected to any chain. Look into it, and try again."],
  [4902, "The wallet does not know this chain. Add it there, and try again."],
  [-32_002, "The wallet has a question open already. Look into its window."],
]);
