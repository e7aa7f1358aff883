// Guards of contract wallets' signatures, on a server that answers like a node. test/black-box/contract-wallets.test.ts runs real contracts.

import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import {
  concat,
  encodeAbiParameters,
  encodeErrorResult,
  encodeFunctionResult,
  multicall3Abi,
  parseAbi,
  serializeErc6492Signature,
  serializeErc8010Signature,
  type Address,
  type Hex,
} from "viem";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { ManualClock } from "../../../../server/test/manual-clock.ts";
import { Reverted, RpcNode } from "../../../../server/test/rpc-node.ts";
import { newAccount } from "../../../../server/test/sign-in-messages.ts";
import { createContractWallets } from "./contract-wallets.ts";
import { RpcUnavailable } from "./rpc-failures.ts";

const CHAIN = 8453;
const TEXT = "sign in";
const LOOKUP = parseAbi(["error OffchainLookup(address, string[], bytes, bytes4, bytes)"]);

let node: RpcNode;
beforeEach(async () => {
  node = await RpcNode.start(CHAIN);
});
afterEach(() => node.stop());

const [owner, wallet] = [newAccount(), newAccount().address];

/** Returns what accepts the signature of the wallet's message. */
async function signerOf({
  chainId = CHAIN,
  address = wallet,
  signer = owner,
  wrap = (signature: Hex) => signature,
}: {
  readonly chainId?: number;
  readonly address?: Address;
  readonly signer?: typeof owner;
  readonly wrap?: (signature: Hex) => Hex;
} = {}) {
  const wallets = createContractWallets([node.settings], new ManualClock());
  const signature = wrap(await signer.signMessage({ message: TEXT }));
  return await wallets.signerOf({ chainId, address, text: TEXT, signature });
}

/** Returns a function that adds to a signature how the account delegates to the contract (ERC-8010). */
async function delegating(account: typeof owner, contract: Address) {
  const address = contract.toLowerCase() as Address;
  const authorization = await account.signAuthorization({ address, chainId: CHAIN, nonce: 0 });
  return (signature: Hex) => serializeErc8010Signature({ authorization, signature });
}

describe("the signature of a contract wallet", () => {
  it("is accepted by a deployed contract for its owner only", async () => {
    node.add(wallet, owner.address);
    expect(await signerOf()).toBe("contract");
    expect(await signerOf({ signer: newAccount() })).toBeNull();
    expect(await signerOf({ address: newAccount().address })).toBeNull();
    expect(await signerOf({ wrap: () => "0x1234" })).toBeNull();
  });

  it("is accepted for a contract that is not deployed yet, if it says how to deploy it", async () => {
    node.add(wallet, owner.address, "0x");
    const wrap = (signature: Hex) =>
      serializeErc6492Signature({ address: newAccount().address, data: "0x12", signature });
    expect(await signerOf({ wrap })).toBe("contract");
    expect(await signerOf()).toBeNull();
  });

  it("is that of a delegate if an account has delegated to the code (EIP-7702)", async () => {
    node.add(wallet, owner.address, concat(["0xEF0100", newAccount().address]));
    expect(await signerOf()).toBe("delegate");
  });

  it("is that of a delegate if an account is about to delegate to the code (ERC-8010)", async () => {
    const account = newAccount();
    const wrap = await delegating(account, newAccount().address);
    const returnData = encodeAbiParameters([{ type: "bytes4" }], ["0x1626ba7e"]);
    node.callContract = () =>
      encodeFunctionResult({
        abi: multicall3Abi,
        functionName: "aggregate3",
        result: [{ success: true, returnData }],
      });
    expect(await signerOf({ address: account.address, wrap })).toBe("delegate");
    expect(await signerOf({ address: newAccount().address, wrap })).toBeNull();
  });

  it("is not sent to any chain if the operator has not configured the message's", async () => {
    node.add(wallet, owner.address);
    for (const chainId of [1, CHAIN + 1]) expect(await signerOf({ chainId })).toBeNull();
    expect(node.calls).toEqual([]);
  });

  it("is not checked by a server of another chain", async () => {
    const { settings } = node;
    const wallets = createContractWallets([{ ...settings, id: 1 }], new ManualClock());
    node.add(wallet, owner.address);
    const signature = await owner.signMessage({ message: TEXT });
    const signed = wallets.signerOf({ chainId: 1, address: wallet, text: TEXT, signature });
    await expect(signed).rejects.toThrow(RpcUnavailable);
    expect(node.calls).toEqual(["eth_chainId"]);
  });

  it("is not wrong, but unknown, if the server fails", async () => {
    node.add(wallet, owner.address);
    node.failing = "eth_call";
    await expect(signerOf()).rejects.toThrow(RpcUnavailable);
    node.failing = "eth_getCode";
    await expect(signerOf()).rejects.toThrow(RpcUnavailable);
  });

  // A contract may ask its caller to fetch a URL (ERC-3668). viem does that only for calls with an address, as for ERC-8010.
  it("makes the service fetch no URL that the contract names", async () => {
    const fetched: string[] = [];
    const gateway = createServer((request, response) => {
      fetched.push(request.url ?? "");
      response.end(JSON.stringify({ data: "0x" }));
    });
    gateway.listen(0, "127.0.0.1");
    await once(gateway, "listening");
    try {
      const delegation = newAccount().address;
      const account = newAccount();
      node.add(account.address, owner.address, concat(["0xef0100", delegation]).toLowerCase() as Hex);
      const url = `http://127.0.0.1:${(gateway.address() as AddressInfo).port}/{sender}/{data}`;
      let lookups = 0;
      node.callContract = ({ to }) => {
        lookups += 1;
        const args = [to ?? "0x", [url], "0x12", "0x12345678", "0x"] as const;
        throw new Reverted(encodeErrorResult({ abi: LOOKUP, args }));
      };
      const wrap = await delegating(account, delegation);
      expect(await signerOf({ address: account.address, wrap })).toBeNull();
      expect(lookups).toBe(1);
      expect(fetched).toEqual([]);
    } finally {
      gateway.close();
      await once(gateway, "close");
    }
  });
});
