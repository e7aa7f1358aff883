// Actions decided at the terminal: approvals, questions, transactions and wallet signatures.

import { type TypedDataDefinition, verifyTypedData } from "viem";
import { generatePrivateKey, privateKeyToAccount } from "viem/accounts";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { type LocalChain, isWithoutChain, localChainId, startLocalChain } from "../local-chain.ts";
import { ScriptedModel } from "@colloquy/testing/internal/models/scripted-model";
import { PROMPT, useSeats } from "./terminals.ts";
import { Service } from "./service.ts";
import { CTRL_C } from "./terminal.ts";

// Long, because processes start one after another on busy machines.
vi.setConfig({ testTimeout: 90_000, hookTimeout: 90_000 });

const MODEL = "test/scripted";

describe("an approval", () => {
  let service: Service;
  beforeAll(async () => {
    const app = { models: ["demo/assistant"], approvals: { calculator: "always" } };
    service = await Service.start({ config: { apps: { default: app } } });
  });
  afterAll(() => service.remove());
  const { openTerminal, lastId, remembered } = useSeats(() => service);

  it("prompts, and ignores answers typed before the prompt", async () => {
    const user = openTerminal(["chat"]);
    await user.shows(PROMPT);
    user.type("what is 3 * 4?\ry\r");
    await user.shows(
      /The assistant wants to call calculator with \{"expression":"3 \* 4"\}\nAllow it\? \[y\/n\]$/,
    );
    user.enter("maybe");
    await user.shows(/Answer y or n\.\nAllow it\? \[y\/n\]$/);
    user.enter("y");
    await user.shows(/\(calculator: approved\)[\s\S]*3 \* 4 = 12\.\n>$/);
    user.enter("what is 5 * 5?");
    await user.shows(/5 \* 5"\}\nAllow it\? \[y\/n\]$/);
    user.enter("n");
    await user.shows(/\(calculator: denied\)[\s\S]*\n>$/);
    expect(await remembered()).toHaveLength(1);
  });

  it("disappears when somebody else decides; Ctrl-C stops the turn", async () => {
    const { client } = service;
    const user = openTerminal(["chat"]);
    await user.shows(PROMPT);
    user.enter("what is 3 * 4?");
    await user.shows(/Allow it\? \[y\/n\]$/);
    const id = await lastId();
    const [action] = (await client.getState(id)).pending_actions;
    await client.decideAction(id, action!.id, { decision: "approve" });
    await user.shows(/\(calculator: approved\)[\s\S]*3 \* 4 = 12\.\n>$/);
    user.enter("what is 5 * 5?");
    await user.shows(/5 \* 5"\}\nAllow it\? \[y\/n\]$/);
    user.type(CTRL_C);
    await user.shows(/\(interrupted\)[\s\S]*\n>$/);
    expect(await client.getState(id)).toMatchObject({ status: "interrupted", pending_actions: [] });
  });
});

describe("a question", () => {
  let service: Service;
  const model = new ScriptedModel();
  beforeAll(async () => {
    const app = { models: [MODEL], utilityModel: "demo/assistant", tools: ["ask_user"] };
    const providers = { test: { kind: "openai-compatible", baseURL: "http://127.0.0.1:1/v1" } };
    service = await Service.start({
      config: { providers, apps: { default: app } },
      models: { [MODEL]: model },
    });
  });
  afterAll(() => service.remove());
  const { openTerminal } = useSeats(() => service);

  it("is answered by the number of a suggestion, with free text, or not at all", async () => {
    const user = openTerminal(["chat"]);
    await user.shows(PROMPT);
    const ask = async (input: object): Promise<void> => {
      user.enter("go on");
      (await model.next()).callTool("ask_user", input).finish("tool-calls");
    };
    /** Returns the result that the model receives, and ends its answer. */
    const told = async (): Promise<string> => {
      const call = await model.next();
      call.say("Thank you.").finish();
      await user.shows(/Thank you\.\n>$/);
      return call.prompt.at(-1) ?? "";
    };
    const colours = { question: "Which colour?", choices: ["red", "green"] };
    await ask(colours);
    await user.shows(
      /The assistant asks: Which colour\?\n +1\. red\n +2\. green\nA number, or your answer \(\/deny for none\):$/,
    );
    user.enter("");
    await user.shows(/Type an answer, or \/deny\.\nA number[^\n]*$/);
    user.enter("2");
    expect(await told()).toContain("green");
    await ask(colours);
    await user.shows(/green\nA number[^\n]*:$/);
    user.enter("rather blue");
    expect(await told()).toContain("rather blue");
    await ask({ question: "Why?" });
    await user.shows(/The assistant asks: Why\?\nYour answer \(\/deny for none\):$/);
    user.enter("/deny");
    expect(await told()).toContain("denied");
  });

  it("fits a narrow terminal, and reports a failed answer", async () => {
    const user = openTerminal(["chat"], { columns: 40, rows: 14 });
    await user.shows(PROMPT);
    user.enter("go on");
    const question = "Which of the many colours that there are shall it be this time?";
    (await model.next()).callTool("ask_user", { question, choices: ["red"] }).finish("tool-calls");
    await user.shows(`The assistant asks: ${question}`);
    await user.shows(/1\. red\nA number, or your answer \(\/deny for none\):$/);
    user.enter("1");
    const failing = await model.next();
    failing.say("It is ");
    await user.shows(/\nIt is$/);
    failing.fail(new Error("the provider is gone"));
    await user.shows(/It is\nThe assistant's model failed[^>]*\n>$/);
    user.enter("once more");
    (await model.next()).say("Red.").finish();
    await user.shows(/Red\.\n>$/);
    user.type("\u0004");
    expect(await user.exits()).toBe(0);
  });
});

describe("a call of a client tool", () => {
  let service: Service;
  const model = new ScriptedModel();
  beforeAll(async () => {
    const read_page = {
      description: "Reads the page that the user sees",
      inputSchema: { type: "object", properties: { part: { type: "string" } } },
    };
    const app = { models: [MODEL], utilityModel: "demo/assistant", clientTools: { read_page } };
    const providers = { test: { kind: "openai-compatible", baseURL: "http://127.0.0.1:1/v1" } };
    service = await Service.start({
      config: { providers, apps: { default: app } },
      models: { [MODEL]: model },
    });
  });
  afterAll(() => service.remove());
  const { openTerminal } = useSeats(() => service);

  it("takes its output as JSON, or a denial", async () => {
    const user = openTerminal(["chat"]);
    await user.shows(PROMPT);
    user.enter("what do I see?");
    (await model.next()).callTool("read_page", { part: "title" }).finish("tool-calls");
    await user.shows(
      /waits for a client that runs read_page with \{"part":"title"\}\nThe result as JSON, or n:$/,
    );
    user.enter("Tea");
    await user.shows(/This is not JSON\.[^\n]*\nThe result as JSON, or n:$/);
    user.enter('{"title": "Tea"}');
    const told = await model.next();
    expect(told.prompt.at(-1)).toContain('{"title":"Tea"}');
    told.callTool("read_page", { part: "text" }).finish("tool-calls");
    await user.shows(/"text"[\s\S]*\nThe result as JSON, or n:$/);
    user.enter("n");
    const denied = await model.next();
    expect(denied.prompt.at(-1)).toContain("denied");
    denied.say("As you like.").finish();
    await user.shows(/As you like\.\n>$/);
  });
});

describe.skipIf(isWithoutChain)("a wallet", () => {
  let chain: LocalChain;
  let service: Service;
  const model = new ScriptedModel();
  beforeAll(async () => {
    chain = await startLocalChain();
    const app = { models: [MODEL], utilityModel: "demo/assistant", wallet: true };
    const providers = { test: { kind: "openai-compatible", baseURL: "http://127.0.0.1:1/v1" } };
    const chains = { [localChainId]: { name: "Local", rpcURL: chain.url } };
    service = await Service.start({
      config: { providers, chains, apps: { default: app } },
      models: { [MODEL]: model },
    });
  });
  afterAll(async () => {
    await service.remove();
    await chain.close();
  });
  const { openTerminal } = useSeats(() => service);

  it("takes the hash of a transaction sent elsewhere, or a denial", async () => {
    const [alice = "0x", bob = "0x"] = chain.accounts.slice(1, 3);
    const session = service.client.session();
    await session.setUserState({ evm: { address: alice, chain_id: localChainId } });
    const user = openTerminal(["chat", "--session", session.id, "--wallet", alice]);
    session.stop();
    await user.shows(PROMPT);
    user.enter("send Bob 5 wei");
    (await model.next())
      .callTool("wallet_request_transaction", { to: bob, value_wei: "5" })
      .finish("tool-calls");
    await user.shows(
      /send this transaction with your wallet \(value in the smallest unit\): [^\n]*"value":"5"/,
    );
    await user.shows(/Transaction hash once sent, or n:$/);
    user.enter("y");
    await user.shows(/A hash is 0x and 64 hexadecimal digits\.[^\n]*\nTransaction hash[^\n]*$/);
    const hash = await chain.send({ from: alice, to: bob, value: "0x5" });
    user.enter(hash);
    const sent = await model.next();
    expect(sent.prompt.at(-1)).toContain(hash);
    sent.callTool("wallet_request_transaction", { to: bob, value_wei: "6" }).finish("tool-calls");
    await user.shows(/"value":"6"[^\n]*\nValue: 0\.0{17}6 ETH\nTransaction hash once sent, or n:$/);
    user.enter("n");
    const denied = await model.next();
    expect(denied.prompt.at(-1)).toContain("denied");
    denied.say("As you like.").finish();
    await user.shows(/As you like\.\n>$/);
  });

  it("takes a signature made elsewhere for the displayed data, or a denial", async () => {
    const wallet = privateKeyToAccount(generatePrivateKey());
    const typed_data = (text: string) => ({
      domain: { name: "Notes", chainId: localChainId },
      primaryType: "Note",
      types: {
        EIP712Domain: [
          { name: "name", type: "string" },
          { name: "chainId", type: "uint256" },
        ],
        Note: [{ name: "text", type: "string" }],
      },
      message: { text },
    });
    const user = openTerminal(["chat", "--wallet", wallet.address]);
    await user.shows(PROMPT);
    user.enter("sign my note");
    const hidden = "It is mine\u200B \u202E漢";
    (await model.next())
      .callTool("wallet_request_signature", { typed_data: typed_data(hidden) })
      .finish("tool-calls");
    await user.shows(/paste the signature here\.\nThe signature \(0x…\), or n:$/);
    const [, shown = ""] = /sign this typed data with your wallet: (\{[^\n]+\})\n/.exec(user.text) ?? [];
    const signed = JSON.parse(shown) as TypedDataDefinition;
    expect(signed.message).toEqual({ text: hidden });
    user.enter("yes");
    await user.shows(/A signature is 0x and hexadecimal digits\.[^\n]*\nThe signature[^\n]*$/);
    const signature = await wallet.signTypedData(signed);
    user.type(`\u001B[200~${signature}\u001B[201~`);
    user.enter("");
    await user.shows(/\(wallet_request_signature: approved\)/);
    const told = await model.next();
    const [, pasted] = /"signature":"(0x[0-9a-f]+)"/.exec(told.prompt.at(-1) ?? "") ?? [];
    expect(pasted).toBe(signature);
    expect(await verifyTypedData({ ...signed, address: wallet.address, signature })).toBe(true);
    const again = { typed_data: typed_data("Another") };
    told.callTool("wallet_request_signature", again).finish("tool-calls");
    await user.shows(/"Another"[\s\S]*\nThe signature \(0x…\), or n:$/);
    user.enter("n");
    const denied = await model.next();
    expect(denied.prompt.at(-1)).toContain("denied");
    denied.say("As you like.").finish();
    await user.shows(/As you like\.\n>$/);
  });
});
