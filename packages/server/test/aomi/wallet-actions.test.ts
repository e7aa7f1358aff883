// Wallet requests as actions, with Hardhat's node as the chain.

import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Address } from "viem";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { createSystemClock } from "@colloquy/engine/internal/wiring/clock";
import { openSqliteStore } from "@colloquy/engine/internal/store/sqlite/open";
import { ScriptedModel } from "@colloquy/testing/internal/models/scripted-model";
import { createClient } from "@colloquy/client";
import { loadConfig } from "../../src/config/load-config.ts";
import { buildServer, type ColloquyServer } from "../../src/wiring/server.ts";
import { isWithoutChain, localChainId, type LocalChain, startLocalChain } from "../local-chain.ts";
import { MODEL } from "../service.ts";
import { AgentApiError, type AgentEvent, AgentSession } from "./agent-session.ts";

const SILENT = { debug() {}, info() {}, warn() {}, error() {} };
const HASH = `0x${"ab".repeat(32)}`;

/** Returns events as they are after the decision. */
function withoutWallet(events: readonly AgentEvent[]): readonly AgentEvent[] {
  return events.map((event) => {
    const { transactions, ...request } = (event["request"] ?? {}) as { readonly transactions?: object[] };
    if (transactions === undefined) return event;
    return {
      ...event,
      request: { ...request, transactions: transactions.map((one) => ({ ...one, from: "" })) },
    };
  });
}

describe.skipIf(isWithoutChain)("a wallet request", () => {
  let chain: LocalChain;
  let alice: Address;
  let directory: string;
  let server: ColloquyServer;
  let url: string;
  let model: ScriptedModel;
  beforeAll(async () => {
    chain = await startLocalChain();
    alice = chain.accounts[1]!;
    directory = await mkdtemp(join(tmpdir(), "colloquy-aomi-"));
    const file = {
      chains: { [localChainId]: { name: "Local", rpcURL: chain.url } },
      apps: { default: { models: ["demo/assistant"], wallet: true } },
    };
    await writeFile(join(directory, "colloquy.config.json"), JSON.stringify(file));
  });
  afterAll(async () => {
    await chain.close();
    await rm(directory, { recursive: true });
  });
  beforeEach(async () => {
    const loaded = await loadConfig({
      environment: { HOST: "127.0.0.1", PORT: "0" },
      workingDirectory: directory,
    });
    if (!loaded.ok) throw new Error(JSON.stringify(loaded.problems));
    const { config } = loaded;
    const app = { ...config.apps["default"]!, models: [MODEL], utilityModel: "demo/assistant" };
    model = new ScriptedModel();
    const clock = createSystemClock();
    const onFatal = (error: Error): never => {
      throw error;
    };
    const store = await openSqliteStore({ directory: null, clock, onFatal });
    server = await buildServer(
      { ...config, apps: { default: app } },
      { clock, store, logger: SILENT, onFatal, models: { [MODEL]: model } },
    );
    ({ url } = await server.listen());
  });
  afterEach(() => server.stop({ graceMs: 0 }));

  /** Returns a session whose assistant asks for a transaction. */
  async function asked(
    session = new AgentSession(url),
  ): Promise<{ readonly session: AgentSession; readonly action: AgentEvent }> {
    const userState = {
      connection: { is_connected: true },
      evm: { address: alice, chain_id: localChainId },
    };
    await session.start("send it", { userState });
    const input = { to: chain.accounts[2], value_wei: "500000000000000000", chain_id: localChainId };
    (await model.next()).callTool("wallet_request_transaction", input, "call_0").finish("tool-calls");
    await session.follow(() => session.state === "awaiting_action");
    const action = session.events.find(({ type }) => type === "action");
    if (action === undefined) throw new Error("There is no action.");
    return { session, action };
  }

  /** Returns the events that a client reads which opens the session now. */
  async function eventsOfLate({ sessionId }: AgentSession): Promise<readonly AgentEvent[]> {
    const late = new AgentSession(url, { sessionId });
    await late.poll();
    return late.events;
  }

  it("is an action, which its result completes", async () => {
    const { session, action } = await asked();
    expect(session.types).toEqual(["user", "processing", "action", "awaiting_action"]);
    expect(action).toMatchObject({
      revision: 1,
      state: "pending",
      result: null,
      expires_at: expect.any(Number),
      request: {
        type: "execute_evm",
        transactions: [
          { chain_id: localChainId, from: alice, value: "500000000000000000", kind: expect.any(String) },
        ],
      },
    });
    const result = { status: "submitted", legs: [{ id: "1", status: "submitted", transactionId: HASH }] };
    const next = await session.respond(String(action["id"]), 1, result);
    expect(next).toMatchObject({ id: action["id"], revision: 2, state: "completed", result });
    const followed = session.follow();
    (await model.next()).say("Sent.").finish();
    await followed;
    expect(session.types).toEqual([
      "user",
      "processing",
      "action",
      "awaiting_action",
      "action",
      "processing",
      "tool_complete",
      "agent",
      "title_changed",
      "complete",
    ]);
    expect(session.events.filter(({ type }) => type === "action")[1]).toEqual(next);
    expect(await eventsOfLate(session)).toEqual(withoutWallet(session.events));
    expect(await session.respond(String(action["id"]), 1, result)).toEqual(next);
  });

  it("keeps its events when another wallet connects after the decision", async () => {
    const { session, action } = await asked();
    const next = await session.respond(String(action["id"]), 1, { status: "rejected", reason: "No" });
    (await model.next()).say("Then not.").finish();
    await session.follow();
    const before = await eventsOfLate(session);
    expect(before).toContainEqual(next);
    await session.start("another wallet", { userState: { evm: { address: chain.accounts[3] } } });
    (await model.next()).finish();
    expect((await eventsOfLate(session)).slice(0, before.length)).toEqual(before);
  });

  it("is decided in a conversation with a turn that has no answer", async () => {
    const { id } = (await (
      await fetch(`${url}/v1/conversations`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ items: [{ type: "message", role: "user", content: "only user" }] }),
      })
    ).json()) as { readonly id: string };
    const { session, action } = await asked(new AgentSession(url, { sessionId: id.replace("conv_", "") }));
    const rejected = { status: "rejected", reason: "No" };
    expect(await session.respond(String(action["id"]), 1, rejected)).toMatchObject({ revision: 2 });
    (await model.next()).say("Then not.").finish();
    await session.follow();
  });

  it.each([
    ["a rejection", { status: "rejected", reason: "Not now" }],
    [
      "a transaction that failed in the wallet",
      { status: "submitted", legs: [{ id: "1", status: "failed", reason: "Not now" }] },
    ],
  ])("is denied by %s", async (_what, result) => {
    const { session, action } = await asked();
    expect(await session.respond(String(action["id"]), 1, result)).toMatchObject({
      revision: 2,
      state: "rejected",
      result: { status: "rejected" },
    });
    const call = await model.next();
    expect(call.prompt.join()).toContain("Not now");
    call.say("Then not.").finish();
    await session.follow();
  });

  it("is refused with another revision, a result of another kind, and an unknown id", async () => {
    const { session, action } = await asked();
    const id = String(action["id"]);
    const rejected = { status: "rejected", reason: "No" };
    const cases = [
      [id, 2, rejected, 409, "action_revision_conflict"],
      [id, 1, { status: "signed", outputs: [{ id: "1", signature: "0xab" }] }, 400, "action_result_invalid"],
      [
        id,
        1,
        { status: "submitted", legs: [{ id: "1", status: "submitted" }] },
        400,
        "action_result_invalid",
      ],
      ["7f8d1f0e-8a54-4c4e-9d27-0b5c3c0b8d11", 1, rejected, 404, "action_not_found"],
    ] as const;
    for (const [of, revision, result, status, code] of cases) {
      const error: unknown = await session.respond(of, revision, result).catch((thrown: unknown) => thrown);
      expect(error).toBeInstanceOf(AgentApiError);
      expect(error).toMatchObject({ status, code });
    }
    expect((await createClient({ baseUrl: url }).getState(session.sessionId)).pending_actions).toHaveLength(
      1,
    );
  });

  it("ends with an interrupt of its turn", async () => {
    const { session } = await asked();
    await session.interrupt();
    expect(session.types).toEqual([
      "user",
      "processing",
      "action",
      "awaiting_action",
      "action",
      "processing",
      "tool_complete",
      "title_changed",
      "interrupted",
    ]);
    expect(session.events.filter(({ type }) => type === "action")[1]).toMatchObject({ state: "failed" });
    expect(await eventsOfLate(session)).toEqual(withoutWallet(session.events));
  });
});
