// Tests of the tools that read, against a real chain: a Hardhat node that the test starts.

import { execFile } from "node:child_process";
import { promisify } from "node:util";
import {
  encodeAbiParameters,
  encodeFunctionData,
  encodeErrorResult,
  erc20Abi,
  parseAbi,
  stringToHex,
  type Address,
  type Hex,
} from "viem";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ManualClock } from "../../../../server/test/manual-clock.ts";
import { isWithoutChain, localChainId, type LocalChain } from "../../../../server/test/local-chain.ts";
import { createInputCheck } from "../input-check.ts";
import { connected, createWalletCaller, type WalletCaller } from "./testing/wallet-caller.ts";
import { number, question, startWalletChain, supply, type WalletChain } from "./testing/wallet-chain.ts";

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

const summary = { id: localChainId, name: "Local" };
const ether = (raw: string, formatted: string) => ({ raw, formatted, symbol: "ETH", decimals: 18 });
const balanceOf = (holder: Address): Hex =>
  encodeFunctionData({ abi: erc20Abi, functionName: "balanceOf", args: [holder] });
const text = (value: string): Hex => encodeAbiParameters([{ type: "string" }], [value]);

describe.skipIf(isWithoutChain)("the wallet tools", () => {
  it("have schemas that the toolset accepts, and the effect `read`", () => {
    expect(wallet.tools.map(({ name, effect }) => [name, effect])).toEqual([
      ["wallet_balance", "read"],
      ["wallet_token_balance", "read"],
      ["wallet_token_info", "read"],
      ["wallet_ens_name", "read"],
      ["wallet_estimate_gas", "read"],
      ["wallet_request_transaction", "read"],
      ["wallet_request_signature", "read"],
    ]);
    const [balance] = wallet.tools.map((tool) => createInputCheck(tool));
    expect(balance?.({})).toBeNull();
    expect(balance?.({ address: alice, chain_id: localChainId })).toBeNull();
    expect(balance?.({ chain_id: 5 })).toContain(`chain_id: Invalid input: expected ${localChainId}`);
    expect(balance?.({ address: "vitalik.eth" })).toContain("address");
    expect(balance?.({ owner: alice })).toContain("owner");
  });

  it("load viem with their first call, not before", async () => {
    const url = new URL("wallet-tools.ts", import.meta.url);
    const program = `
      import { registerHooks } from "node:module";
      registerHooks({
        resolve(name, context, next) {
          if (/^viem(\\/|$)/.test(name)) throw new Error("viem is loaded");
          return next(name, context);
        },
      });
      const { createWalletTools } = await import(${JSON.stringify(url.href)});
      const rpcURL = { reveal: () => "http://127.0.0.1:1" };
      const tools = createWalletTools({ chains: [{ id: 1, name: "Ethereum", rpcURL }] }, {});
      console.log(tools.length);
      await tools[0].execute({}, {}).catch((error) => console.log(error.message));
    `;
    const { stdout } = await promisify(execFile)(process.execPath, ["--input-type=module", "-e", program]);
    expect(stdout).toBe("7\nviem is loaded\n");
  });
});

describe.skipIf(isWithoutChain)("wallet_balance", () => {
  it("returns the balance of an address, raw and formatted", async () => {
    const poor = "0x00000000000000000000000000000000000A11cE";
    expect(await wallet.call("wallet_balance", { address: poor.toLowerCase() })).toMatchObject({
      address_source: "given",
      chain: summary,
      balance: ether("0", "0"),
    });
    await chain.send({ from: bob, to: poor.toLowerCase() as Address, value: "0x14d1120d7b160001" });
    const { balance } = (await wallet.call("wallet_balance", { address: poor.toLowerCase() })) as {
      balance: unknown;
    };
    expect(balance).toEqual(ether("1500000000000000001", "1.500000000000000001"));
  });

  it("uses the connected wallet, else the one that the session is bound to, and names the source", async () => {
    const both = { ...connected(bob), publicKey: alice.toLowerCase() };
    expect(await wallet.call("wallet_balance", {}, both)).toMatchObject({
      address: bob,
      address_source: "connected wallet of the user (claimed by the client, not verified)",
    });
    const disconnected = { ...both, userState: { ...both.userState, connection: { is_connected: false } } };
    expect(await wallet.call("wallet_balance", {}, disconnected)).toMatchObject({
      address: alice,
      address_source: "wallet that the session is bound to (claimed by the client, not verified)",
    });
    expect(await wallet.call("wallet_balance", {}, { publicKey: alice })).toMatchObject({ address: alice });
    const solana = { publicKey: "7EcDhSYGxXyscszYEp35KHN8vvw3svAuLKTzXwCFLtV" };
    await expect(wallet.call("wallet_balance", {}, solana)).rejects.toThrow("wallet address is not known");
    await expect(wallet.call("wallet_balance", {}, { userState: { evm: "?" } })).rejects.toThrow(
      "is not known",
    );
  });

  it("rejects a wrong checksum, and accepts capital letters without one", async () => {
    const wrong = alice.replace(/[a-f]/, (letter) => letter.toUpperCase());
    await expect(wallet.call("wallet_balance", { address: wrong })).rejects.toThrow(
      "address has a wrong checksum, so it was mistyped or altered.",
    );
    const capitals = `0x${alice.slice(2).toUpperCase()}`;
    expect(await wallet.call("wallet_balance", { address: capitals })).toMatchObject({ address: alice });
    await expect(wallet.call("wallet_balance", {}, connected(wrong))).rejects.toThrow("is not known");
  });

  it.each([[localChainId], ["31337"], ["0x7a69"], ["0x7A69"], ["eip155:31337"]])(
    "parses the chain id %j in the user state",
    async (chainId) => {
      const two = createWalletCaller(
        [{ ...chain.settings, id: 1, name: "Ethereum" }, chain.settings],
        new ManualClock(),
      );
      expect(await two.call("wallet_balance", {}, connected(alice, chainId))).toMatchObject({
        chain: summary,
      });
    },
  );

  it.each([[null], ["some chain"], [""], [1.5]])(
    "uses the first chain if the chain id in the user state is %j",
    async (chainId) => {
      const two = createWalletCaller(
        [chain.settings, { ...chain.settings, id: 1, name: "Ethereum" }],
        new ManualClock(),
      );
      expect(await two.call("wallet_balance", {}, connected(alice, chainId))).toMatchObject({
        chain: summary,
      });
    },
  );

  it("rejects an unconfigured chain of the user, unless another chain is given", async () => {
    await expect(wallet.call("wallet_balance", {}, connected(alice, 5))).rejects.toThrow(
      "The user's wallet is on the chain 5, which is not configured. Name one of these as chain_id: 31337 (Local).",
    );
    const told = await wallet.call("wallet_balance", { chain_id: localChainId }, connected(alice, 5));
    expect(told).toMatchObject({ chain: summary });
  });
});

describe.skipIf(isWithoutChain)("wallet_token_balance and wallet_token_info", () => {
  it("read a real ERC-20 token", async () => {
    const gold = { address: token, symbol: "TGLD", name: "Test Gold", decimals: 18 };
    expect(
      await wallet.call("wallet_token_balance", { token: token.toLowerCase() }, connected(alice)),
    ).toMatchObject({
      address: alice,
      chain: summary,
      token: gold,
      balance: { raw: supply.toString(), formatted: "1000000", symbol: "TGLD", decimals: 18 },
      notes: [expect.stringContaining("what the contract says of itself")],
    });
    expect(await wallet.call("wallet_token_info", { token })).toMatchObject({
      token: gold,
      total_supply: { raw: supply.toString(), formatted: "1000000" },
    });
  });

  it("read a token that returns bytes32", async () => {
    const maker = await deploy(
      { call: question("symbol"), returns: stringToHex("MKR", { size: 32 }) },
      { call: question("name"), returns: stringToHex("Maker", { size: 32 }) },
      { call: question("decimals"), returns: number(18n) },
      { call: question("totalSupply"), returns: number(5n) },
    );
    expect(await wallet.call("wallet_token_info", { token: maker })).toMatchObject({
      token: { symbol: "MKR", name: "Maker", decimals: 18 },
    });
  });

  it("return raw amounts and a note if a token has no decimals", async () => {
    const silent = await deploy(
      { call: balanceOf(bob), returns: number(77n) },
      { call: question("totalSupply"), returns: number(99n) },
    );
    expect(await wallet.call("wallet_token_balance", { token: silent, address: bob })).toMatchObject({
      token: { symbol: null, name: null, decimals: null },
      balance: { raw: "77", formatted: null, symbol: null, decimals: null },
      notes: [
        expect.any(String),
        "The contract does not tell its symbol, name in a form that can be read.",
        "The contract does not tell its decimals, so amounts are only given raw, in its smallest unit.",
      ],
    });
  });

  it("ignore invalid values and clean untrusted text", async () => {
    const liar = await deploy(
      { call: question("symbol"), returns: text(`US\u202eD\u0000C\n\n${"!".repeat(5_000)}`) },
      { call: question("name"), returns: `${number(2n ** 255n)}${number(7n).slice(2)}` as Hex },
      { call: question("decimals"), returns: number(2n ** 200n) },
      { call: question("totalSupply"), returns: number(10n) },
      { call: balanceOf(bob), returns: number(11n) },
    );
    const answer = await wallet.call("wallet_token_balance", { token: liar, address: bob });
    expect(answer).toMatchObject({
      token: { symbol: `USDC ${"!".repeat(59)}…`, name: null, decimals: null },
      notes: expect.arrayContaining([
        "The contract reports a balance above its total supply, so one of the two is wrong.",
      ]),
    });
  });

  it("report a missing contract, a contract that is no token, and a revert", async () => {
    const at = { address: bob };
    await expect(wallet.call("wallet_token_balance", { token: bob, ...at })).rejects.toThrow(
      `There is no contract at ${bob} on Local (chain 31337).`,
    );
    await expect(wallet.call("wallet_token_info", { token: bob })).rejects.toThrow("There is no contract at");
    const other = await deploy();
    await expect(wallet.call("wallet_token_info", { token: other })).rejects.toThrow(
      "is not an ERC-20 token",
    );
    const paused = await deploy(
      { call: question("symbol"), returns: text("PSD") },
      {
        call: balanceOf(bob),
        reverts: encodeErrorResult({ abi: parseAbi(["error Error(string)"]), args: ["paused"] }),
      },
    );
    await expect(wallet.call("wallet_token_balance", { token: paused, ...at })).rejects.toThrow(
      `returns no ERC-20 balance: it refuses: "paused".`,
    );
    const short = await deploy(
      { call: question("symbol"), returns: text("SHT") },
      { call: balanceOf(bob), returns: "0x01" },
    );
    await expect(wallet.call("wallet_token_balance", { token: short, ...at })).rejects.toThrow(
      "answers 1 bytes, not a number",
    );
  });
});

describe.skipIf(isWithoutChain)("wallet_estimate_gas", () => {
  it("returns gas, price and fee", async () => {
    const answer = (await wallet.call(
      "wallet_estimate_gas",
      { to: bob, value_ether: "0.5" },
      connected(alice),
    )) as {
      gas: string;
      gas_price: { raw: string };
      fee: { raw: string };
    };
    expect(answer).toMatchObject({ from: alice, to: bob, value: ether("500000000000000000", "0.5") });
    expect(Number(answer.gas)).toBeGreaterThanOrEqual(21_000);
    expect(Number(answer.gas)).toBeLessThan(22_000);
    expect(BigInt(answer.fee.raw)).toBe(BigInt(answer.gas) * BigInt(answer.gas_price.raw));
  });

  it("reports why a transaction would fail", async () => {
    const data = encodeFunctionData({ abi: erc20Abi, functionName: "transfer", args: [alice, 5n] });
    await expect(wallet.call("wallet_estimate_gas", { to: token, data, from: bob })).rejects.toThrow(
      'This transaction would fail: "ERC20: transfer amount exceeds balance".',
    );
    await expect(wallet.call("wallet_estimate_gas", { to: token, data })).rejects.toThrow(
      "The sender is not known",
    );
    const panics = await deploy({
      call: "0x01",
      reverts: encodeErrorResult({ abi: parseAbi(["error Panic(uint256)"]), args: [0x11n] }),
    });
    await expect(wallet.call("wallet_estimate_gas", { to: panics, data: "0x01" })).rejects.toThrow(
      "the contract panics: an overflow in arithmetic",
    );
    const custom = await deploy({ call: "0x01", reverts: "0xdeadbeef0102" });
    await expect(wallet.call("wallet_estimate_gas", { to: custom, data: "0x01" })).rejects.toThrow(
      "the contract's error 0xdeadbeef",
    );
  });

  it.each([
    [{ value_ether: "1", value_wei: "1" }, "value_ether or value_wei, not both"],
    [{ value_ether: "0.0000000000000000001" }, "at most 18 decimal places"],
    [{ value_wei: `${2n ** 256n}` }, "larger than any transaction"],
    [{ value_ether: "1e18" }, "value_ether"],
    [{ value_ether: "-1" }, "value_ether"],
    [{ data: "0x123" }, "data"],
    [{ data: `0x${"00".repeat(16 * 1_024 + 1)}` }, "more than 16 KiB"],
    [{ to: "0x0000000000000000000000000000000000000000" }, "zero address"],
  ])("rejects %j", async (wrong, reason) => {
    await expect(wallet.call("wallet_estimate_gas", { to: bob, ...wrong }, connected(alice))).rejects.toThrow(
      reason,
    );
    expect(
      await wallet.ask("wallet_request_transaction", { to: bob, ...wrong }, connected(alice)),
    ).toBeNull();
  });
});
