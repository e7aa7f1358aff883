// ENS against a canned universal resolver on a Hardhat node: no local chain has the real resolver with its
// names. The chain, viem's ENS client and the bytes between them are real.

import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import {
  encodeAbiParameters,
  encodeErrorResult,
  encodeFunctionData,
  encodeFunctionResult,
  parseAbi,
  toHex,
  zeroAddress,
  type Address,
  type Hex,
} from "viem";
import { namehash, packetToBytes } from "viem/ens";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { ChainSettings } from "../../core/app-settings.ts";
import { ManualClock } from "../../../../server/test/manual-clock.ts";
import { cannedContract, type CannedAnswer } from "./testing/canned-contract.ts";
import {
  isWithoutChain,
  localChainId,
  startLocalChain,
  type LocalChain,
} from "../../../../server/test/local-chain.ts";
import { connected, createWalletCaller, type WalletCaller } from "./testing/wallet-caller.ts";

const resolverAbi = parseAbi([
  "function resolveWithGateways(bytes name, bytes data, string[] gateways) view returns (bytes result, address resolver)",
  "function reverseWithGateways(bytes reverseName, uint256 coinType, string[] gateways) view returns (string resolvedName, address resolver, address reverseResolver)",
  "function addr(bytes32 name) view returns (address)",
  "error ResolverNotFound(bytes name)",
  "error OffchainLookup(address sender, string[] urls, bytes callData, bytes4 callbackFunction, bytes extraData)",
]);
const gateways = ["x-batch-gateway:true"];

/** Encodes the calls that viem makes to a universal resolver. */
function questionOfName(name: string): Hex {
  const data = encodeFunctionData({ abi: resolverAbi, functionName: "addr", args: [namehash(name)] });
  const args = [toHex(packetToBytes(name)), data, gateways] as const;
  return encodeFunctionData({ abi: resolverAbi, functionName: "resolveWithGateways", args });
}

function questionOfAddress(address: Address): Hex {
  return encodeFunctionData({
    abi: resolverAbi,
    functionName: "reverseWithGateways",
    args: [address, 60n, gateways],
  });
}

function addressAnswer(address: Address): Hex {
  const result = [encodeAbiParameters([{ type: "address" }], [address]), zeroAddress] as const;
  return encodeFunctionResult({ abi: resolverAbi, functionName: "resolveWithGateways", result });
}

function nameAnswer(name: string): Hex {
  return encodeFunctionResult({
    abi: resolverAbi,
    functionName: "reverseWithGateways",
    result: [name, zeroAddress, zeroAddress],
  });
}

const fetched: string[] = [];
const outside = createServer((request, response) => {
  fetched.push(request.url ?? "");
  response.end("{}");
});
let chain: LocalChain;
let wallet: WalletCaller;
let settings: ChainSettings;

beforeAll(async () => {
  outside.listen(0, "127.0.0.1");
  await once(outside, "listening");
  chain = await startLocalChain();
  const { port } = outside.address() as AddressInfo;
  const [, alice, bob, carol] = chain.accounts as [Address, Address, Address, Address];
  const notFound = encodeErrorResult({ abi: resolverAbi, errorName: "ResolverNotFound", args: ["0x00"] });
  // Hardhat deploys to predictable addresses, so the resolver can name itself as the sender, as ERC-3668
  // requires.
  const itself = "0x5FbDB2315678afecb367f032d93F642f64180aa3";
  const lookup = encodeErrorResult({
    abi: resolverAbi,
    errorName: "OffchainLookup",
    args: [itself, [`http://127.0.0.1:${port}/{sender}/{data}`], "0x01", "0x01020304", "0x"],
  });
  const answers: CannedAnswer[] = [
    { call: questionOfName("alice.eth"), returns: addressAnswer(alice) },
    { call: questionOfName("empty.eth"), returns: addressAnswer(zeroAddress) },
    { call: questionOfName("nobody.eth"), reverts: notFound },
    { call: questionOfName("outside.eth"), reverts: lookup },
    { call: questionOfName("garbage.eth"), returns: "0x1234" },
    { call: questionOfAddress(alice), returns: nameAnswer("alice.eth") },
    { call: questionOfAddress(bob), reverts: notFound },
    { call: questionOfAddress(carol), returns: nameAnswer("ALICE.eth") },
  ];
  const resolver = await chain.deploy(cannedContract(answers));
  expect(resolver).toBe(itself);
  settings = chain.settingsWith({ ensUniversalResolver: { address: resolver } });
  wallet = createWalletCaller([settings], new ManualClock());
});

afterAll(async () => {
  outside.close();
  await chain.close();
});

describe.skipIf(isWithoutChain)("wallet_ens_name", () => {
  it("resolves a name case-insensitively", async () => {
    const answer = {
      chain: { id: localChainId, name: "Local" },
      name: "alice.eth",
      address: chain.accounts[1],
    };
    expect(await wallet.call("wallet_ens_name", { name: "alice.eth" })).toEqual(answer);
    expect(await wallet.call("wallet_ens_name", { name: " Alice.ETH" })).toEqual(answer);
  });

  it("returns a null address for a name without an address", async () => {
    expect(await wallet.call("wallet_ens_name", { name: "nobody.eth" })).toMatchObject({ address: null });
    expect(await wallet.call("wallet_ens_name", { name: "empty.eth" })).toMatchObject({ address: null });
  });

  it("returns the name of an address, by default the user's", async () => {
    const [, alice = "", bob = ""] = chain.accounts;
    expect(await wallet.call("wallet_ens_name", { address: alice })).toMatchObject({ name: "alice.eth" });
    expect(await wallet.call("wallet_ens_name", {}, connected(alice))).toMatchObject({
      address: alice,
      address_source: expect.stringContaining("not verified"),
      name: "alice.eth",
    });
    expect(await wallet.call("wallet_ens_name", { address: bob })).toMatchObject({ name: null });
  });

  it("hides a name that is not normalized", async () => {
    expect(await wallet.call("wallet_ens_name", { address: chain.accounts[3] })).toMatchObject({
      name: null,
    });
  });

  it("does not follow an off-chain lookup, and reports it", async () => {
    await expect(wallet.call("wallet_ens_name", { name: "outside.eth" })).rejects.toThrow(
      "This name is stored off-chain, and this service does not follow off-chain lookups.",
    );
    expect(fetched).toEqual([]);
  });

  it("reports an invalid response and a revert of the contract", async () => {
    await expect(wallet.call("wallet_ens_name", { name: "garbage.eth" })).rejects.toThrow(
      "returned an invalid response",
    );
    await expect(wallet.call("wallet_ens_name", { name: "unheard.eth" })).rejects.toThrow(
      "could not look this up",
    );
  });

  it.each([["alice"], ["a..eth"], ["under score.eth"], ["x\u202e.eth"], [`${"a".repeat(300)}.eth`]])(
    "rejects %j as an invalid name",
    async (name) => {
      await expect(wallet.call("wallet_ens_name", { name })).rejects.toThrow(
        /is not an ENS name|is invalid|does not fit/,
      );
    },
  );

  it("uses a chain that has ENS, preferably the user's", async () => {
    const nowhere: ChainSettings = { ...settings, id: 424_242, name: "Nowhere", contracts: {} };
    const both = createWalletCaller([nowhere, settings], new ManualClock());
    expect(await both.call("wallet_ens_name", { name: "alice.eth" })).toMatchObject({
      chain: { name: "Local" },
    });
    await expect(both.call("wallet_ens_name", { name: "alice.eth", chain_id: 424_242 })).rejects.toThrow(
      "There is no ENS on 424242. The chains are: 424242 (Nowhere), 31337 (Local).",
    );
    // viem knows this chain. The error about the chain id shows that the chain was queried.
    const mainnet: ChainSettings = { ...settings, id: 1, name: "Ethereum", contracts: null };
    const three = createWalletCaller([settings, mainnet], new ManualClock());
    await expect(
      three.call("wallet_ens_name", { name: "alice.eth" }, connected(zeroAddress, 1)),
    ).rejects.toThrow("The RPC server of Ethereum (chain 1) serves the chain 31337.");
  });
});
