// Verifies signatures of contract wallets by calling their contracts on a configured chain (EIP-1271, ERC-6492).

import { createClient, custom, type Hex } from "viem";
import { verifyMessage } from "viem/actions";
import { isErc6492Signature } from "viem/utils";
import type { ChainSettings } from "../../core/app-settings.ts";
import type { Clock } from "../../core/ports/driven/clock.ts";
import type { ContractWallets } from "../../core/ports/driven/contract-wallets.ts";
import { createChains, readCode, type Chain } from "./chains.ts";
import { RpcRefusal, RpcUnavailable } from "./rpc-failures.ts";

export function createContractWallets(chains: readonly ChainSettings[], clock: Clock): ContractWallets {
  const configured = createChains({ chains }, clock);
  return {
    async signerOf({ chainId, address, text, signature }) {
      if (!chains.some(({ id }) => id === chainId)) return null;
      const chain = configured.open(chainId, new AbortController().signal);
      if (!(await accepts(chain, { address, message: text, signature }))) return null;
      const code = await readCode(chain, address);
      const isContract = code === "0x" ? isErc6492Signature(signature) : !isDelegation(code);
      return isContract ? "contract" : "delegate";
    },
  };
}

/** Returns true for the code of an account that has delegated to a contract (EIP-7702). */
function isDelegation(code: Hex): boolean {
  return code.toLowerCase().startsWith("0xef0100");
}

async function accepts(
  chain: Chain,
  signed: Pick<Parameters<typeof verifyMessage>[1], "address" | "message" | "signature">,
): Promise<boolean> {
  const failures: unknown[] = [];
  const request = async ({ method, params }: { method: string; params?: readonly unknown[] }) => {
    try {
      return await chain.request(method, params ?? []);
    } catch (error) {
      // viem reports every failed call as an invalid signature, but only a reverted call means that.
      if (!(error instanceof RpcRefusal && error.isReverted)) failures.push(error);
      throw error;
    }
  };
  // `chain` retries requests itself. `ccipRead` would let a contract choose URLs to fetch (ERC-3668).
  const client = createClient({ transport: custom({ request }, { retryCount: 0 }), ccipRead: false });
  const isSigned = await verifyMessage(client, signed).catch((error: unknown) => {
    failures.push(error);
    return false;
  });
  if (failures.length === 0) return isSigned;
  throw new RpcUnavailable(`${chain.label} could not check a signature.`, { cause: failures[0] });
}
