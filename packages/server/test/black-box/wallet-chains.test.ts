// Contract wallets that share an address on two chains, with other owners. Their chains are servers that answer like nodes.

import { randomBytes } from "node:crypto";
import { concat, type Address } from "viem";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { RpcNode } from "../rpc-node.ts";
import { newAccount, SignIns, type PrivateKeyAccount } from "../sign-in-messages.ts";
import { type Call, expectProblem, newSession, send } from "./client.ts";
import { Program } from "./server.ts";

const ADMIN_KEY = "admin-key-of-the-chains-test";
const DOMAIN = { domain: "chat.example.com", uri: "https://chat.example.com" };
const [ONE, TEN] = [1, 10];
/** Sessions of requests for lists, which create them. */
const asking = new Set<string>();

let nodes: readonly RpcNode[];
let program: Program;
let signIns: SignIns;
beforeAll(async () => {
  nodes = [await RpcNode.start(ONE), await RpcNode.start(TEN)];
  const chains = nodes.map(({ chainId, url }) => [
    String(chainId),
    { name: `Chain ${chainId}`, rpcURL: url, currency: { symbol: "ETH", decimals: 18 } },
  ]);
  program = await Program.start(
    {
      apps: { default: { wallets: "proved" } },
      siwe: { domains: [DOMAIN.domain] },
      chains: Object.fromEntries(chains),
    },
    { COLLOQUY_SECRET_KEY: randomBytes(32).toString("base64"), COLLOQUY_ADMIN_KEY: ADMIN_KEY },
  );
  signIns = new SignIns(program.url);
});
afterAll(async () => {
  await program.remove();
  await Promise.all(nodes.map((node) => node.stop()));
});

const bearer = (token: string): Call => ({ headers: { Authorization: `Bearer ${token}` } });
const request = (method: string, path: string, session: string, call: Call = {}) =>
  send(program.url, method, path, { session, ...call });
const chat = (session: string, body: object, { headers = {} }: Call = {}) =>
  request("POST", "/api/chat", session, {
    headers: { Prefer: "wait=20", ...headers },
    json: { message: "hello", ...body },
  });
const read = (session: string, call: Call) => request("GET", "/api/state", session, call);
const idsOf = (answer: { json(): unknown }) =>
  (answer.json() as { session_id: string }[]).map(({ session_id }) => session_id);
const listed = async (call: Call, address?: string) => {
  const query = address === undefined ? "" : `?public_key=${address}`;
  const own = newSession();
  asking.add(own);
  const ids = idsOf(await request("GET", `/api/sessions${query}`, own, call));
  return ids.filter((id) => !asking.has(id)).toSorted();
};

/** Signs in a wallet on a chain, and returns its credentials. */
async function signIn(address: Address, signer: PrivateKeyAccount, chainId: number): Promise<Call> {
  const message = await signIns.message({ address }, { ...DOMAIN, chainId });
  const answer = await signIns.verify(message, await signer.signMessage({ message }));
  expect(answer.status).toBe(200);
  expect(answer.json()).toMatchObject({ wallets: [address.toLowerCase()] });
  return bearer((answer.json() as { token: string }).token);
}

/** Gives a session to the subject that earlier versions derived from the address alone, as they left it. */
async function asEarlier(session: string, address: string): Promise<void> {
  const json = { user: { issuer: "urn:colloquy:siwe", subject: `eip155:${address.toLowerCase()}` } };
  const path = `/api/admin/sessions/${session}/owner`;
  expect((await request("PUT", path, session, { ...bearer(ADMIN_KEY), json })).status).toBe(200);
}

describe("contract wallets at one address on two chains", () => {
  it("are two users: neither opens, lists, copies or claims a session of the other", async () => {
    const [alice, mallory] = [newAccount(), newAccount()];
    const { address } = newAccount();
    nodes[0]!.add(address, alice.address);
    nodes[1]!.add(address, mallory.address);
    const [onOne, onTen] = [await signIn(address, alice, ONE), await signIn(address, mallory, TEN)];
    const session = newSession();
    expect((await chat(session, { public_key: address }, onOne)).status).toBe(200);
    expect((await read(session, onOne)).status).toBe(200);
    expectProblem(await read(session, onTen), 404, "session_not_found");
    expectProblem(await chat(session, { public_key: address }, onTen), 404, "session_not_found");
    expect([await listed(onOne), await listed(onOne, address)]).toEqual([[session], [session]]);
    expect([await listed(onTen), await listed(onTen, address)]).toEqual([[], []]);
    // Without an owner, anyone with the id may read it, but the list still tells the two apart.
    const json = { user: null };
    const path = `/api/admin/sessions/${session}/owner`;
    expect((await request("PUT", path, session, { ...bearer(ADMIN_KEY), json })).status).toBe(200);
    expect([await listed(onOne, address), await listed(onTen, address)]).toEqual([[session], []]);
    const fork = (call: Call) =>
      request("POST", `/api/sessions/${session}/fork`, session, {
        ...call,
        json: { session_id: newSession() },
      });
    expectProblem(await fork(onTen), 403, "wallet_not_proved");
    expect((await fork(onOne)).status).toBe(200);
  });

  it("are one user each if they have the same owner on both", async () => {
    const owner = newAccount();
    const { address } = newAccount();
    for (const node of nodes) node.add(address, owner.address);
    const session = newSession();
    await chat(session, { public_key: address }, await signIn(address, owner, ONE));
    expectProblem(await read(session, await signIn(address, owner, TEN)), 404, "session_not_found");
    expect((await read(session, await signIn(address, owner, ONE))).status).toBe(200);
  });

  it("inherit the sessions of earlier versions with the first proof, once and for all", async () => {
    const [alice, mallory] = [newAccount(), newAccount()];
    const { address } = newAccount();
    nodes[0]!.add(address, alice.address);
    nodes[1]!.add(address, mallory.address);
    const before = await signIn(address, alice, ONE);
    const sessions = [newSession(), newSession()].toSorted();
    for (const session of sessions) {
      await chat(session, {}, before);
      await asEarlier(session, address);
      expectProblem(await read(session, before), 404, "session_not_found");
    }
    const onOne = await signIn(address, alice, ONE);
    expect(await listed(onOne)).toEqual(sessions);
    const onTen = await signIn(address, mallory, TEN);
    expect(await listed(onTen)).toEqual([]);
    for (const session of sessions) expectProblem(await read(session, onTen), 404, "session_not_found");
    expect(await listed(await signIn(address, alice, ONE))).toEqual(sessions);
  });
});

describe("an account", () => {
  it("is one user on every chain", async () => {
    const account = newAccount();
    const session = newSession();
    await chat(session, { public_key: account.address }, await signIn(account.address, account, ONE));
    for (const chain of [TEN, 424_242]) {
      const call = await signIn(account.address, account, chain);
      expect((await read(session, call)).status).toBe(200);
      expect(await listed(call, account.address)).toEqual([session]);
    }
  });

  it("stays the same user with code (EIP-7702), which signs as another one and inherits nothing", async () => {
    const [account, thief] = [newAccount(), newAccount()];
    const session = newSession();
    await chat(session, { public_key: account.address }, await signIn(account.address, account, ONE));
    nodes[0]!.add(account.address, thief.address, concat(["0xef0100", newAccount().address]));
    const stolen = await signIn(account.address, thief, ONE);
    expectProblem(await read(session, stolen), 404, "session_not_found");
    expect([await listed(stolen), await listed(stolen, account.address)]).toEqual([[], []]);
    const call = await signIn(account.address, account, ONE);
    expect((await read(session, call)).status).toBe(200);
  });
});
