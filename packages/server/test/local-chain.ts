// A real chain for tests: a Hardhat node in this process, on its own port, without network access or a
// compiler. Hardhat is installed in test/programs.

import { dirname } from "node:path";
import { pathToFileURL } from "node:url";
import { encodeAbiParameters, getAddress, type Address, type Hex } from "viem";
import type { ChainSettings } from "@colloquy/engine/internal/core/app-settings";
import { Hidden } from "@colloquy/engine/internal/core/hidden";
import type { JsonObject } from "@colloquy/engine/internal/core/json";
import { findInstalled } from "../../../test/installed.ts";
import erc20 from "./erc20-fixed-supply.json" with { type: "json" };

export interface LocalChain {
  readonly url: string;
  /** Accounts with 10,000 ETH each, whose transactions the node signs. */
  readonly accounts: readonly Address[];
  readonly settings: ChainSettings;
  settingsWith(contracts: JsonObject | null): ChainSettings;
  request<Result>(method: string, params?: readonly unknown[]): Promise<Result>;
  /** Sends a transaction, and returns its hash once it is in a block. */
  send(transaction: { from: Address; to?: Address; value?: Hex; data?: Hex }): Promise<Hex>;
  deploy(code: Hex): Promise<Address>;
  /** Deploys a real ERC-20 token with 18 decimals and its entire supply at `owner`. */
  deployToken(name: string, symbol: string, supply: bigint, owner: Address): Promise<Address>;
  close(): Promise<void>;
}

export const localChainId = 31_337;

const HARDHAT = findInstalled("programs", "hardhat/dist/src/hre.js");

/** The used parts of the module `hardhat/hre`. */
interface HardhatModule {
  createHardhatRuntimeEnvironment(config: object, options: object, project: string): Promise<Hardhat>;
}
interface Hardhat {
  readonly network: {
    createServer(parameters: object, host: string, port: number): Promise<HardhatServer>;
  };
}
interface HardhatServer {
  listen(): Promise<{ address: string; port: number }>;
  close(): Promise<void>;
}

/** True if Hardhat is not installed. The tests that need it are then skipped. */
export const isWithoutChain = HARDHAT === null;

export async function startLocalChain(): Promise<LocalChain> {
  if (HARDHAT === null) throw new Error("There is no Hardhat here. Run npm run install:tests.");
  const { createHardhatRuntimeEnvironment } = (await import(pathToFileURL(HARDHAT).href)) as HardhatModule;
  const hardhat = await createHardhatRuntimeEnvironment({}, {}, dirname(HARDHAT));
  const server = await hardhat.network.createServer({ override: { chainId: localChainId } }, "127.0.0.1", 0);
  const { address, port } = await server.listen();
  const url = `http://${address}:${port}`;
  const request = async <Result>(method: string, params: readonly unknown[] = []): Promise<Result> => {
    const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method, params });
    const response = await fetch(url, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body,
    });
    const { result, error } = (await response.json()) as { result: Result; error?: { message: string } };
    if (error !== undefined) throw new Error(error.message);
    return result;
  };
  const accounts = (await request<Address[]>("eth_accounts")).map((account) => getAddress(account));
  const send: LocalChain["send"] = (transaction) => request("eth_sendTransaction", [transaction]);
  const deploy = async (code: Hex): Promise<Address> => {
    const hash = await send({ from: firstOf(accounts), data: code });
    const receipt = await request<{ contractAddress: Address }>("eth_getTransactionReceipt", [hash]);
    return getAddress(receipt.contractAddress);
  };
  const settingsWith = (contracts: JsonObject | null): ChainSettings => ({
    id: localChainId,
    name: "Local",
    rpcURL: new Hidden(url),
    currency: { symbol: "ETH", decimals: 18 },
    contracts,
  });
  return {
    url,
    accounts,
    settings: settingsWith(null),
    settingsWith,
    request,
    send,
    deploy,
    async deployToken(name, symbol, supply, owner) {
      const parameters = [
        { type: "string" },
        { type: "string" },
        { type: "uint256" },
        { type: "address" },
      ] as const;
      const values = encodeAbiParameters(parameters, [name, symbol, supply, owner]);
      return await deploy(`${erc20.bytecode as Hex}${values.slice(2)}`);
    },
    close: () => server.close(),
  };
}

function firstOf(accounts: readonly Address[]): Address {
  const [first] = accounts;
  if (first === undefined) throw new Error("The node has no accounts.");
  return first;
}
