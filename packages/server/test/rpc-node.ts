// A JSON-RPC server on loopback that answers like the node of a chain with contract wallets, for tests without a chain. It understands the
// call by which viem checks a signature: the code of a validator, followed by address, hash and signature (ERC-6492).

import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { json } from "node:stream/consumers";
import {
  decodeAbiParameters,
  erc6492SignatureValidatorByteCode,
  isAddressEqual,
  isErc6492Signature,
  parseErc6492Signature,
  recoverAddress,
  type Address,
  type Hex,
} from "viem";
import type { ChainSettings } from "@colloquy/engine/internal/core/app-settings";
import { Hidden } from "@colloquy/engine/internal/core/hidden";

interface Call {
  readonly to?: Address;
  readonly data?: Hex;
}

interface Account {
  readonly address: Address;
  /** Signer that the wallet accepts. */
  readonly owner: Address;
  /** `0x` for a wallet that a factory has not created yet. */
  readonly code: Hex;
}

/** A revert, as geth reports it: error 3 with the data. */
export class Reverted extends Error {
  readonly data: Hex;

  constructor(data: Hex = "0x") {
    super("execution reverted");
    this.data = data;
  }
}

export class RpcNode {
  readonly chainId: number;
  /** Methods that were called, in order. */
  readonly calls: string[] = [];
  /** A method that the server cannot answer. */
  failing: string | null = null;
  /** Answers all other calls. */
  callContract: (call: Call) => Hex = () => "0x";
  readonly #accounts: Account[] = [];
  readonly #server = createServer((request, response) => void this.#respond(request, response));

  constructor(chainId: number) {
    this.chainId = chainId;
  }

  static async start(chainId: number): Promise<RpcNode> {
    const node = new RpcNode(chainId);
    node.#server.listen(0, "127.0.0.1");
    await once(node.#server, "listening");
    return node;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  get settings(): ChainSettings {
    const currency = { symbol: "ETH", decimals: 18 };
    return { id: this.chainId, name: "Test", rpcURL: new Hidden(this.url), currency, contracts: null };
  }

  /** Adds a wallet that accepts its owner's signatures. */
  add(address: Address, owner: Address, code: Hex = "0x60806040"): void {
    this.#accounts.push({ address, owner, code });
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, "close");
  }

  async #respond(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { id, method, params } = (await json(request)) as {
      readonly id: number;
      readonly method: string;
      readonly params: readonly unknown[];
    };
    const answer = await this.#answer(method, params).then(
      (result) => ({ result }),
      (error: unknown) => ({
        error:
          error instanceof Reverted
            ? { code: 3, message: error.message, data: error.data }
            : { code: -32_601, message: String(error) },
      }),
    );
    response.setHeader("content-type", "application/json");
    response.end(JSON.stringify({ jsonrpc: "2.0", id, ...answer }));
  }

  async #answer(method: string, params: readonly unknown[]): Promise<Hex> {
    this.calls.push(method);
    if (method === this.failing) throw new Error("the server is busy");
    if (method === "eth_chainId") return `0x${this.chainId.toString(16)}`;
    if (method === "eth_getCode") return this.#find(params[0] as Address)?.code ?? "0x";
    if (method !== "eth_call") throw new Error(`the method ${method} does not exist`);
    const call = params[0] as Call;
    const isValidation = call.data?.startsWith(erc6492SignatureValidatorByteCode) === true;
    return isValidation ? await this.#validate(call.data) : this.callContract(call);
  }

  #find(address: Address): Account | undefined {
    return this.#accounts.find((account) => isAddressEqual(account.address, address));
  }

  async #validate(data: Hex): Promise<Hex> {
    const parameters = `0x${data.slice(erc6492SignatureValidatorByteCode.length)}` as const;
    const types = [{ type: "address" }, { type: "bytes32" }, { type: "bytes" }] as const;
    const [address, hash, sent] = decodeAbiParameters(types, parameters);
    const wallet = this.#find(address);
    const signature = isErc6492Signature(sent) ? parseErc6492Signature(sent).signature : sent;
    const isMissing = wallet === undefined || (wallet.code === "0x" && signature === sent);
    if (isMissing || signature.length !== 132) throw new Reverted();
    return isAddressEqual(await recoverAddress({ hash, signature }), wallet.owner) ? "0x01" : "0x00";
  }
}
