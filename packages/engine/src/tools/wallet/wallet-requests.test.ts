// Tests of the tools that ask the user's wallet, against a real chain: a Hardhat node that the test starts.

import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import {
  encodeFunctionData,
  erc20Abi,
  parseAbi,
  recoverTypedDataAddress,
  type Address,
  type Hex,
  type TypedDataDefinition,
} from "viem";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ManualClock } from "../../../../server/test/manual-clock.ts";
import { isWithoutChain, localChainId, type LocalChain } from "../../../../server/test/local-chain.ts";
import { Hidden } from "../../core/hidden.ts";
import type { CannedAnswer } from "./testing/canned-contract.ts";
import { connected, createWalletCaller, type WalletCaller } from "./testing/wallet-caller.ts";
import { number, question, startWalletChain, type WalletChain } from "./testing/wallet-chain.ts";

let chain: LocalChain;
let wallet: WalletCaller;
let alice: Address;
let bob: Address;
let token: Address;
let deploy: WalletChain["deploy"];

beforeAll(async () => {
  ({ chain, wallet, alice, bob, token, deploy } = await startWalletChain());
});

afterAll(() => chain.close());

describe.skipIf(isWithoutChain)("wallet_request_transaction", () => {
  it("requests the transaction with its value in wei, checksummed addresses and the chain id", async () => {
    const input = { to: bob.toLowerCase(), value_ether: "1.25" };
    expect(await wallet.ask("wallet_request_transaction", input, connected(alice))).toEqual({
      kind: "wallet_transaction",
      request: {
        to: bob,
        value: "1250000000000000000",
        data: "0x",
        chain_id: localChainId,
        currency: { symbol: "ETH", decimals: 18 },
        call: null,
      },
    });
    const inWei = { to: bob, value_wei: "7", data: "0xABcd" };
    expect(await wallet.ask("wallet_request_transaction", inWei)).toMatchObject({
      request: { value: "7", data: "0xabcd" },
    });
  });

  it("does not request a transaction that would fail, and reports why when called", async () => {
    const data = encodeFunctionData({ abi: erc20Abi, functionName: "transfer", args: [alice, 5n] });
    const fails = [
      [{ to: token, data }, '"ERC20: transfer amount exceeds balance"'],
      [{ to: alice, value_ether: "10001" }, `the user's wallet ${bob} has `],
      [{ to: alice.replace(/[a-f]/, (letter) => letter.toUpperCase()) }, "to has a wrong checksum"],
    ] as const;
    for (const [input, reason] of fails) {
      expect(await wallet.ask("wallet_request_transaction", input, connected(bob))).toBeNull();
      await expect(wallet.call("wallet_request_transaction", input, connected(bob))).rejects.toThrow(reason);
    }
  });

  /** Requests a transaction, and returns how the request describes its call. */
  async function describedCall(to: Address, data: Hex, of: WalletCaller = wallet) {
    const asked = await of.ask("wallet_request_transaction", { to, data });
    if (asked?.kind !== "wallet_transaction") throw new Error("Nothing was asked.");
    return asked.request.call;
  }
  const sending = (amount: bigint): Hex =>
    encodeFunctionData({ abi: erc20Abi, functionName: "transfer", args: [bob, amount] });
  const described = (contract: Address, decimals: number | null, amount = "25000000") => ({
    function: "transfer(address to, uint256 amount)",
    arguments: [
      { name: "to", type: "address", value: bob },
      { name: "amount", type: "uint256", value: amount, token: contract, decimals },
    ],
  });

  it("describes a token call with the decimals that the token claims", async () => {
    const usdc = await deploy({ call: question("decimals"), returns: number(6n) });
    expect(await describedCall(usdc, sending(25_000_000n))).toEqual(described(usdc, 6));
    expect(await describedCall(token, sending(25_000_000n))).toEqual(described(token, 18));
  });

  it.each<readonly [string, CannedAnswer]>([
    ["reverts", { call: question("decimals"), reverts: "0x" }],
    ["returns no bytes", { call: question("decimals"), returns: "0x" }],
    ["returns one byte", { call: question("decimals"), returns: "0x06" }],
    ["returns more than a word", { call: question("decimals"), returns: `${number(6n)}00` }],
    ["returns more than the maximum", { call: question("decimals"), returns: number(256n) }],
  ])("keeps amounts raw if the token's decimals() %s", async (_what, answer) => {
    const strange = await deploy(answer);
    expect(await describedCall(strange, sending(25_000_000n))).toEqual(described(strange, null));
  });

  it("looks up the decimals of at most four tokens of a batch call", async () => {
    const tokens: Address[] = [];
    for (let count = 0; count < 5; count += 1)
      tokens.push(await deploy({ call: question("decimals"), returns: number(6n) }));
    const data = encodeFunctionData({
      abi: parseAbi(["function transferFrom((address,address,uint160,address)[])"]),
      args: [tokens.map((one) => [alice, bob, 5n, one] as const)],
    });
    const call = await describedCall(token, data);
    const amounts = call?.arguments.filter(({ decimals }) => decimals !== undefined);
    expect(amounts?.map(({ decimals }) => decimals)).toEqual([6, 6, 6, 6, null]);
  });

  it("does not describe non-canonical data, unknown functions and calls without a contract", async () => {
    expect(await describedCall(token, `${sending(5n)}00`)).toBeNull();
    expect(await describedCall(token, "0x12345678")).toBeNull();
    expect(await describedCall(bob, sending(5n))).toBeNull();
  });

  it("keeps amounts raw if the chain does not return the decimals within five seconds", async () => {
    const isAsked = Promise.withResolvers<void>();
    const silent = createServer(() => isAsked.resolve());
    await new Promise<void>((resolve) => silent.listen(0, "127.0.0.1", resolve));
    const { port } = silent.address() as AddressInfo;
    const clock = new ManualClock();
    const settings = { ...chain.settings, rpcURL: new Hidden(`http://127.0.0.1:${port}`) };
    const call = describedCall(token, sending(5n), createWalletCaller([settings], clock));
    await isAsked.promise;
    await clock.advance(5_000);
    expect(await call).toEqual(described(token, null, "5"));
    expect(clock.timers).toBe(0);
    silent.closeAllConnections();
    silent.close();
  });

  it("is never executed by the service", async () => {
    const before = await chain.request("eth_blockNumber");
    await expect(wallet.call("wallet_request_transaction", { to: bob }, connected(alice))).rejects.toThrow(
      "Call the tool again",
    );
    expect(await chain.request("eth_blockNumber")).toBe(before);
  });

  it("requests a transaction that, once sent, changes the token balance", async () => {
    const data = encodeFunctionData({ abi: erc20Abi, functionName: "transfer", args: [bob, 10n ** 18n] });
    const asked = await wallet.ask("wallet_request_transaction", { to: token, data }, connected(alice));
    if (asked?.kind !== "wallet_transaction") throw new Error("Nothing was asked.");
    const { to, value, data: sent } = asked.request;
    await chain.send({
      from: alice,
      to: to as Address,
      value: `0x${BigInt(value).toString(16)}`,
      data: sent as Hex,
    });
    expect(await wallet.call("wallet_token_balance", { token }, connected(bob))).toMatchObject({
      balance: { formatted: "1" },
    });
  });
});

describe.skipIf(isWithoutChain)("wallet_request_signature", () => {
  it("requests typed data that a wallet signs unchanged", async () => {
    const typedData = {
      types: {
        Mail: [
          { name: "to", type: "address" },
          { name: "text", type: "string" },
        ],
      },
      primaryType: "Mail",
      domain: { name: "Post", chainId: String(localChainId), verifyingContract: token },
      message: { to: bob, text: "Hello" },
    };
    const asked = await wallet.ask("wallet_request_signature", { typed_data: typedData }, connected(alice));
    if (asked?.kind !== "wallet_signature") throw new Error("Nothing was asked.");
    const signature = await chain.request<Hex>("eth_signTypedData_v4", [alice, asked.request.typed_data]);

    expect(
      await recoverTypedDataAddress({
        ...(asked.request.typed_data as unknown as TypedDataDefinition),
        signature,
      }),
    ).toBe(alice);
  });

  it("does not request a signature for another chain, and reports why when called", async () => {
    const typed_data = { types: { A: [] }, primaryType: "A", domain: { chainId: 1 }, message: {} };
    expect(await wallet.ask("wallet_request_signature", { typed_data })).toBeNull();
    await expect(wallet.call("wallet_request_signature", { typed_data })).rejects.toThrow(
      "The chain 1 is not configured",
    );
  });
});
