// Asks a browser wallet (EIP-1193) and returns its result as a decision.

import type { Decision, PendingAction } from "@colloquy/client";

interface Wallet {
  request(call: { readonly method: string; readonly params?: readonly unknown[] }): Promise<unknown>;
}

/** Throws the wallet's error if it refuses. */
export async function decideWithWallet(action: PendingAction): Promise<Decision> {
  const { ethereum } = globalThis as { readonly ethereum?: Wallet };
  if (ethereum === undefined) throw new Error("This browser has no wallet.");
  const [from] = (await ethereum.request({ method: "eth_requestAccounts" })) as readonly string[];
  if (action.kind === "wallet_transaction") {
    const { to, value, data, chain_id } = action.request;
    const chainId = hexadecimal(chain_id);
    await ethereum.request({ method: "wallet_switchEthereumChain", params: [{ chainId }] });
    const transaction = { from, to, value: hexadecimal(value), data };
    const hash = await ethereum.request({ method: "eth_sendTransaction", params: [transaction] });
    return { decision: "approve", result: { transaction_hash: String(hash) } };
  }
  if (action.kind !== "wallet_signature") throw new Error("This action does not use a wallet.");
  const typedData = JSON.stringify(action.request.typed_data);
  const signature = await ethereum.request({ method: "eth_signTypedData_v4", params: [from, typedData] });
  return { decision: "approve", result: { signature: String(signature) } };
}

function hexadecimal(value: string | number): string {
  return `0x${BigInt(value).toString(16)}`;
}
