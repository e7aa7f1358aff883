// Sign-in with wallets that are contracts (EIP-1271, ERC-6492), on a chain of this machine.

import { randomBytes } from "node:crypto";
import type { Address, Hex } from "viem";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { factoryCode, futureWallet, walletCode } from "../contract-wallet.ts";
import { isWithoutChain, localChainId, startLocalChain, type LocalChain } from "../local-chain.ts";
import { newAccount, type PrivateKeyAccount, SignIns } from "../sign-in-messages.ts";
import { expectProblem, newSession, send } from "./client.ts";
import { Program } from "./server.ts";

const HERE = { domain: "chat.example.com", uri: "https://chat.example.com" };
const UNREACHABLE = 31_338;
const VERIFIED = `verified: the user signed in with it, as a contract on the chain ${localChainId} only`;

describe.skipIf(isWithoutChain)("the sign-in with a contract wallet", () => {
  let chain: LocalChain;
  let program: Program;
  let wallets: SignIns;
  let owner: PrivateKeyAccount;
  let wallet: Address;
  beforeAll(async () => {
    chain = await startLocalChain();
    const currency = { symbol: "ETH", decimals: 18 };
    program = await Program.start(
      {
        apps: { default: { wallets: "proved", wallet: true, models: ["demo/assistant"] } },
        siwe: { domains: [HERE.domain] },
        chains: {
          [localChainId]: { name: "Local", rpcURL: chain.url, currency },
          [UNREACHABLE]: { name: "Gone", rpcURL: "http://127.0.0.1:9", currency },
        },
      },
      { COLLOQUY_SECRET_KEY: randomBytes(32).toString("base64") },
    );
    wallets = new SignIns(program.url);
    owner = newAccount();
    wallet = await chain.deploy(walletCode(owner.address));
  });
  afterAll(async () => {
    await program.remove();
    await chain.close();
  });

  async function signIn(
    address: Address,
    signer: PrivateKeyAccount,
    { chainId = localChainId, wrap = (signature: Hex) => signature } = {},
  ) {
    const message = await wallets.message({ address }, { ...HERE, chainId });
    return await wallets.verify(message, wrap(await signer.signMessage({ message })));
  }

  it("accepts a signature that the wallet's contract accepts (EIP-1271)", async () => {
    const answer = await signIn(wallet, owner);
    expect(answer.status).toBe(200);
    expect(answer.json()).toMatchObject({ wallets: [wallet.toLowerCase()] });
  });

  it("rejects a signature that the contract rejects, or for an address without a contract", async () => {
    expectProblem(await signIn(wallet, newAccount()), 401, "siwe_signature_wrong");
    expectProblem(await signIn(newAccount().address, owner), 401, "siwe_signature_wrong");
    const wrap = (): Hex => "0x1234";
    expectProblem(await signIn(wallet, owner, { wrap }), 401, "siwe_signature_wrong");
  });

  it("accepts a signature of a wallet that is not deployed yet (ERC-6492)", async () => {
    const factory = await chain.deploy(factoryCode());
    const { address, wrap } = futureWallet(factory, owner.address);
    const answer = await signIn(address, owner, { wrap });
    expect(answer.status).toBe(200);
    expectProblem(await signIn(address, newAccount(), { wrap }), 401, "siwe_signature_wrong");
    // Another address than the factory creates.
    expectProblem(await signIn(newAccount().address, owner, { wrap }), 401, "siwe_signature_wrong");
    expect(await chain.request("eth_getCode", [address, "latest"])).toBe("0x");
  });

  it("calls only configured chains, and responds with 503 if one does not answer", async () => {
    expectProblem(await signIn(wallet, owner, { chainId: 1 }), 401, "siwe_signature_wrong");
    const answer = await signIn(wallet, owner, { chainId: UNREACHABLE });
    expectProblem(answer, 503, "siwe_unavailable");
    expect(answer.headers["retry-after"]).toBeDefined();
  });

  it("calls no chain for a message with a foreign nonce", async () => {
    const message = await wallets.message(
      { address: wallet },
      { ...HERE, chainId: UNREACHABLE, nonce: "a0nonce0of0the0test" },
    );
    const answer = await wallets.verify(message, await owner.signMessage({ message }));
    expectProblem(answer, 401, "siwe_nonce_invalid");
  });

  it("shows the wallet to tools and the model as verified, until a request claims another one", async () => {
    const { token } = (await signIn(wallet, owner)).json() as { readonly token: string };
    const session = newSession();
    const chat = async (body: object) => {
      const headers = { Authorization: `Bearer ${token}`, Prefer: "wait=20" };
      const json = { message: "use the tool wallet_balance with {}", public_key: wallet, ...body };
      const answer = await send(program.url, "POST", "/api/chat", { session, headers, json });
      expect(answer.status).toBe(200);
      return JSON.stringify((answer.json() as { messages: unknown[] }).messages.at(-1));
    };
    expect(await chat({})).toContain(`wallet that the session is bound to (${VERIFIED})`);
    const evm = (address: string) => ({
      user_state: { connection: { is_connected: true }, evm: { address } },
    });
    expect(await chat(evm(wallet))).toContain(`connected wallet of the user (${VERIFIED})`);
    const other = newAccount().address;
    expect(await chat(evm(other))).toContain(
      "connected wallet of the user (claimed by the client, not verified)",
    );
  });

  it("keeps the nonce usable when the chain does not answer", async () => {
    const gone = await wallets.message({ address: wallet }, { ...HERE, chainId: UNREACHABLE });
    expectProblem(
      await wallets.verify(gone, await owner.signMessage({ message: gone })),
      503,
      "siwe_unavailable",
    );
    const nonce = /^Nonce: (.*)$/m.exec(gone)?.[1] ?? "";
    const again = await wallets.message({ address: wallet }, { ...HERE, chainId: localChainId, nonce });
    expect((await wallets.verify(again, await owner.signMessage({ message: again }))).status).toBe(200);
  });
});
