import { describe, expect, it } from "vitest";
import {
  browserWallet,
  connectWallet,
  sendTransaction,
  signTypedData,
  type BrowserWallet,
} from "./browser-wallet.ts";

const ANN = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8";
const BOB = "0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC";
const HASH = `0x${"ab".repeat(32)}`;
const TRANSACTION = { to: BOB, value: "1250000000000000000", data: "0x", chain_id: 8453 };

interface Wallet extends BrowserWallet {
  readonly calls: string[];
  readonly sent: unknown[];
}

/**
 * Returns a wallet with these accounts on a chain, which switches chains on request unless it is stubborn.
 */
function wallet(answers: Record<string, unknown> = {}, accounts: readonly string[] = [ANN]): Wallet {
  let chain = "0x1";
  const calls: string[] = [];
  const sent: unknown[] = [];
  return {
    calls,
    sent,
    request: async ({ method, params = [] }) => {
      calls.push(method);
      if (method in answers) {
        const answer = answers[method];
        if (typeof answer === "function") return (answer as () => unknown)();
        throw answer;
      }
      if (method === "eth_requestAccounts") return accounts;
      if (method === "eth_chainId") return chain;
      if (method === "wallet_switchEthereumChain") {
        chain = (params[0] as { chainId: string }).chainId;
        return null;
      }
      sent.push(...params);
      return HASH;
    },
  };
}

describe("a transaction", () => {
  it("is sent from the page's account on the requested chain", async () => {
    const two = wallet({}, [BOB, ANN]);
    expect(await sendTransaction(two, TRANSACTION, ANN.toLowerCase())).toBe(HASH);
    expect(two.calls).toEqual([
      "eth_requestAccounts",
      "eth_chainId",
      "wallet_switchEthereumChain",
      "eth_chainId",
      "eth_sendTransaction",
    ]);
    expect(two.sent).toEqual([
      { from: ANN, to: BOB, value: "0x1158e460913d0000", data: "0x", chainId: "0x2105" },
    ]);
  });

  it("is not sent from another account than the connected one", async () => {
    const other = wallet({}, [BOB]);
    await expect(sendTransaction(other, TRANSACTION, ANN)).rejects.toThrow(`does not offer ${ANN}`);
    expect(other.sent).toEqual([]);
  });

  it("is not sent on another chain, even if the wallet claims to have switched", async () => {
    const stubborn = wallet({ wallet_switchEthereumChain: () => null });
    await expect(sendTransaction(stubborn, TRANSACTION, null)).rejects.toThrow("did not switch to chain");
    expect(stubborn.sent).toEqual([]);
  });

  it.each([
    ["eth_sendTransaction", { code: 4001, message: "User rejected" }, "You declined in the wallet"],
    ["wallet_switchEthereumChain", { code: 4902 }, "does not know this chain"],
    ["eth_requestAccounts", { code: -32_002 }, "already has a request open"],
    ["eth_sendTransaction", { code: -32_603, message: "insufficient funds" }, "refused. insufficient funds"],
    ["eth_sendTransaction", null, "refused. It gave no reason."],
    ["eth_sendTransaction", new Error("out of gas"), "out of gas"],
    ["eth_sendTransaction", () => 5, "returned an invalid answer"],
  ])("is reported as a sentence if it fails at %s with %j", async (method, thrown, sentence) => {
    const failing = wallet({ [method]: thrown });
    await expect(sendTransaction(failing, TRANSACTION, null)).rejects.toThrow(sentence);
  });
});

it("signs typed data unchanged, on its chain", async () => {
  const typedData = { domain: { chainId: "8453" }, primaryType: "Mail", types: {}, message: { n: "1" } };
  const signing = wallet();
  expect(await signTypedData(signing, typedData, ANN)).toBe(HASH);
  expect(signing.sent).toEqual([ANN, JSON.stringify(typedData)]);
  expect(signing.calls).toContain("wallet_switchEthereumChain");
});

it("reports a wallet that returns no account as locked", async () => {
  expect(await connectWallet(wallet())).toBe(ANN);
  await expect(connectWallet(wallet({}, []))).rejects.toThrow("Unlock it");
  await expect(connectWallet(wallet({ eth_requestAccounts: () => "odd" }))).rejects.toThrow("Unlock it");
});

it("finds no wallet on a page without an extension", () => {
  expect(browserWallet({})).toBeNull();
  expect(browserWallet({ ethereum: {} })).toBeNull();
  expect(browserWallet({ ethereum: wallet() })).not.toBeNull();
});
