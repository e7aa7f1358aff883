// The assistant requests a transaction, the user's wallet sends it, and the assistant reads the result: the
// whole service over HTTP, a scripted model, and Hardhat's node as the chain.

import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Snapshot } from "@colloquy/protocol";
import { encodeFunctionData, erc20Abi, numberToHex, type Address, type Hex } from "viem";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { createSystemClock } from "@colloquy/engine/internal/wiring/clock";
import { loadConfig } from "../src/config/load-config.ts";
import { buildServer, type ColloquyServer } from "../src/wiring/server.ts";
import { openSqliteStore } from "@colloquy/engine/internal/store/sqlite/open";
import { isWithoutChain, localChainId, startLocalChain, type LocalChain } from "./local-chain.ts";
import { ScriptedModel } from "@colloquy/testing/internal/models/scripted-model";
import { MODEL, newId, until } from "./service.ts";

const RPC_KEY = "a-key-of-the-rpc-provider";
const COIN = 10n ** 18n;

let chain: LocalChain;
let alice: Address;
let bob: Address;
let token: Address;
let directory: string;
let server: ColloquyServer;
let base: string;
let model: ScriptedModel;
let sessionId: string;
const logged: string[] = [];

beforeAll(async () => {
  chain = await startLocalChain();
  alice = chain.accounts[1]!;
  bob = chain.accounts[2]!;
  token = await chain.deployToken("Test Gold", "TGLD", 100n * COIN, alice);
  directory = await mkdtemp(join(tmpdir(), "colloquy-wallet-"));
  const file = {
    chains: {
      [localChainId]: { name: "Local", rpcURL: `${chain.url}/v3/{{env.RPC_KEY}}` },
      2: { name: "Gone", rpcURL: "http://127.0.0.1:1/v3/{{env.RPC_KEY}}" },
    },
    apps: { default: { models: ["demo/assistant"], wallet: true } },
  };
  await writeFile(join(directory, "colloquy.config.json"), JSON.stringify(file));
});

afterAll(async () => {
  await chain.close();
  await rm(directory, { recursive: true });
});

beforeEach(async () => {
  const environment = { HOST: "127.0.0.1", PORT: "0", RPC_KEY };
  const loaded = await loadConfig({ environment, workingDirectory: directory });
  if (!loaded.ok) throw new Error(JSON.stringify(loaded.problems));
  const { config } = loaded;
  const app = { ...config.apps["default"]!, models: [MODEL], utilityModel: "demo/assistant" };
  model = new ScriptedModel();
  sessionId = newId();
  const clock = createSystemClock();
  const onFatal = (error: Error): never => {
    throw error;
  };
  const log = (...words: unknown[]): void => void logged.push(JSON.stringify(words));
  server = await buildServer(
    { ...config, apps: { default: app } },
    {
      clock,
      store: await openSqliteStore({ directory: null, clock, onFatal }),
      logger: { debug: log, info: log, warn: log, error: log },
      onFatal,
      models: { [MODEL]: model },
    },
  );
  base = (await server.listen()).url;
});

afterEach(() => server.stop({ graceMs: 0 }));

async function request<Answer>(method: string, path: string, body?: object): Promise<Answer> {
  const headers = { "x-session-id": sessionId, "content-type": "application/json" };
  const response = await fetch(`${base}${path}`, {
    method,
    headers,
    ...(body && { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`${response.status}: ${text}`);
  return JSON.parse(text) as Answer;
}

async function chat(message: string, wallet: Address): Promise<void> {
  const user_state = { connection: { is_connected: true }, evm: { address: wallet, chain_id: localChainId } };
  const query = new URLSearchParams({ message, user_state: JSON.stringify(user_state) });
  await request("POST", `/api/chat?${query.toString()}`);
}

const state = (): Promise<Snapshot> => request("GET", "/api/state");

/** Returns the pending action for the requested transaction. */
async function pendingTransaction() {
  await until(async () => (await state()).pending_actions.length > 0);
  const { pending_actions, is_processing } = await state();
  expect(is_processing).toBe(true);
  const [action] = pending_actions;
  if (action?.kind !== "wallet_transaction") throw new Error("No transaction was requested.");
  return action;
}

const transfer = (amount: bigint): Hex =>
  encodeFunctionData({ abi: erc20Abi, functionName: "transfer", args: [bob, amount] });

describe.skipIf(isWithoutChain)("a transaction requested by the assistant", () => {
  it("is sent by the user's wallet, and the assistant reads the changed balance", async () => {
    await chat("Send Bob 25 of my gold", alice);
    (await model.next())
      .callTool(
        "wallet_request_transaction",
        { to: token.toLowerCase(), data: transfer(25n * COIN) },
        "call-1",
      )
      .finish("tool-calls");
    const { id, request: asked } = await pendingTransaction();
    expect(asked).toEqual({
      to: token,
      value: "0",
      data: transfer(25n * COIN),
      chain_id: localChainId,
      currency: { symbol: "ETH", decimals: 18 },
      call: {
        function: "transfer(address to, uint256 amount)",
        arguments: [
          { name: "to", type: "address", value: bob },
          { name: "amount", type: "uint256", value: (25n * COIN).toString(), token, decimals: 18 },
        ],
      },
    });
    expect(await request<readonly unknown[]>("GET", "/api/actions")).toMatchObject([{ request: asked }]);

    const { to, value, data } = asked as { to: Address; value: string; data: Hex };
    const transaction_hash = await chain.send({ from: alice, to, value: numberToHex(BigInt(value)), data });
    await request("POST", `/api/actions/${id}`, { decision: "approve", result: { transaction_hash } });

    const second = await model.next();
    expect(second.prompt.at(-1)).toContain(transaction_hash);
    second.callTool("wallet_token_balance", { token, address: bob }).finish("tool-calls");
    const third = await model.next();
    expect(third.prompt.at(-1)).toContain('"formatted":"25"');
    third.say("Bob has 25 TGLD now.").finish();

    await until(async () => !(await state()).is_processing);
    const { messages, pending_actions } = await state();
    expect(messages?.at(-1)?.content).toBe("Bob has 25 TGLD now.");
    expect(pending_actions).toEqual([]);
  });

  it("is not sent when the user denies it, and the assistant is informed", async () => {
    await chat("Send Bob 5 of my gold", alice);
    (await model.next())
      .callTool("wallet_request_transaction", { to: token, data: transfer(5n * COIN) })
      .finish("tool-calls");
    const { id } = await pendingTransaction();
    await request("POST", `/api/actions/${id}`, { decision: "deny" });
    const second = await model.next();
    expect(second.prompt.at(-1)).toContain("denied");
    second.say("All right.").finish();
    await until(async () => !(await state()).is_processing);
  });

  it("is never shown to the user if it would fail; the assistant learns why", async () => {
    await chat("Send Bob 5,000 of my gold", alice);
    (await model.next())
      .callTool("wallet_request_transaction", { to: token, data: transfer(5_000n * COIN) })
      .finish("tool-calls");
    const second = await model.next();
    expect(second.prompt.at(-1)).toContain("ERC20: transfer amount exceeds balance");
    second.say("You do not have that much.").finish();
    await until(async () => !(await state()).is_processing);
    expect((await state()).pending_actions).toEqual([]);
  });

  it("never exposes the key of the chain's server, even when that is down", async () => {
    await chat("What do I have?", alice);
    (await model.next())
      .callTool("wallet_balance", {})
      .callTool("wallet_balance", { chain_id: 2 })
      .finish("tool-calls");
    const second = await model.next();
    expect(second.prompt.at(-1)).toContain('"symbol":"ETH"');
    expect(second.prompt.at(-1)).toContain("The RPC server of Gone (chain 2) cannot be reached.");
    second.say("I do not know.").finish();
    await until(async () => !(await state()).is_processing);
    const shown = [
      second.options,
      await state(),
      await request("GET", `/api/sessions/${sessionId}/messages`),
      logged,
    ];
    expect(JSON.stringify(shown)).not.toContain(RPC_KEY);
  });
});
