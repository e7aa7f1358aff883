// Apps where wallets are proved by sign-in. `npm run test:nodes` runs this on three nodes too.

import { randomBytes } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Issuer } from "../issuer.ts";
import { addressOfWallet, newAccount, SignIns, type PrivateKeyAccount } from "../sign-in-messages.ts";
import { type Call, expectProblem, newSession, newWallet, send } from "./client.ts";
import { Program } from "./server.ts";

const ADMIN_KEY = "admin-key-of-the-proof-test";
const DOMAIN = { domain: "chat.example.com", uri: "https://chat.example.com" };

let issuer: Issuer;
let program: Program;
let signIns: SignIns;
beforeAll(async () => {
  issuer = await Issuer.start();
  const users = { issuer: issuer.url, audience: "shop" };
  program = await Program.start(
    {
      apps: {
        default: { wallets: "proved" },
        shop: { wallets: "proved", users },
        club: { wallets: "proved" },
        open: {},
      },
      siwe: { domains: [DOMAIN.domain] },
    },
    { COLLOQUY_ADMIN_KEY: ADMIN_KEY, COLLOQUY_SECRET_KEY: randomBytes(32).toString("base64") },
  );
  signIns = new SignIns(program.url);
});
afterAll(async () => {
  await program.remove();
  await issuer.stop();
});

const bearer = (token: string): Call => ({ headers: { Authorization: `Bearer ${token}` } });
const signIn = async (account: PrivateKeyAccount, call: Call = {}): Promise<Call> => {
  const answer = await signIns.signIn(account, call, DOMAIN);
  return bearer((answer.json() as { token: string }).token);
};
const userOf = async (subject: string): Promise<Call> => bearer(await issuer.token(subject, "shop"));
const request = (method: string, path: string, session: string, call: Call = {}) =>
  send(program.url, method, path, { session, ...call });
const chat = (session: string, body: object, { headers = {} }: Call = {}) =>
  request("POST", "/api/chat", session, {
    headers: { Prefer: "wait=20", ...headers },
    json: { message: "hello", ...body },
  });
const create = (session: string, wallet: string, call: Call = {}) =>
  request("POST", "/api/sessions", session, { ...call, json: { public_key: wallet } });
const list = (wallet: string, call: Call = {}) =>
  request("GET", `/api/sessions?public_key=${wallet}`, newSession(), call);
const idsOf = (answer: { json(): unknown }) =>
  (answer.json() as { session_id: string }[]).map(({ session_id }) => session_id);
const keyOf = async (app: string): Promise<Record<string, string>> => {
  const json = { apps: [app], scopes: ["chat", "read"] };
  const answer = await request("POST", "/api/admin/keys", newSession(), { ...bearer(ADMIN_KEY), json });
  return { "SERVICE-APP-KEY": (answer.json() as { key: string }).key };
};

describe("an App where wallets are proved", () => {
  it("binds a session to a wallet only with a token that proves it, and otherwise creates nothing", async () => {
    const account = newAccount();
    const wallet = addressOfWallet(account);
    const other = await signIn(newAccount());
    for (const call of [{}, other]) {
      const session = newSession();
      expectProblem(await create(session, wallet, call), 403, "wallet_not_proved");
      expectProblem(await chat(session, { public_key: wallet }, call), 403, "wallet_not_proved");
      expectProblem(await request("GET", `/api/sessions/${session}`, session), 404, "session_not_found");
    }
    const call = await signIn(account);
    const [created, asked] = [newSession(), newSession()];
    expect((await create(created, account.address, call)).status).toBe(200);
    expect((await chat(asked, { public_key: wallet }, call)).status).toBe(200);
    expect(idsOf(await list(account.address, call)).toSorted()).toEqual([created, asked].toSorted());
    expect((await chat(created, {}, call)).status).toBe(200);
  });

  it("makes a signed-in wallet the owner of its new sessions", async () => {
    const [account, session] = [newAccount(), newSession()];
    const call = await signIn(account);
    expect((await chat(session, {}, call)).status).toBe(200);
    for (const others of [{}, await signIn(newAccount())])
      expectProblem(await request("GET", "/api/state", session, others), 404, "session_not_found");
    const again = await signIn(account);
    expect((await request("GET", "/api/state", session, again)).status).toBe(200);
    expect(idsOf(await request("GET", "/api/sessions", session, again))).toEqual([session]);
  });

  it("lists the threads of a wallet only with a token that proves it", async () => {
    const wallet = newWallet();
    for (const call of [{}, await signIn(newAccount())])
      expectProblem(await list(wallet, call), 403, "wallet_not_proved");
    expectProblem(
      await request("GET", "/api/sessions", newSession(), bearer("nonsense")),
      401,
      "token_malformed",
    );
  });

  it("needs no proof for a session without a wallet", async () => {
    const session = newSession();
    expect((await chat(session, {})).status).toBe(200);
    expect((await request("GET", "/api/state", session)).status).toBe(200);
    expectProblem(await chat(session, { public_key: newWallet() }), 403, "wallet_not_proved");
    expect((await chat(session, {})).status).toBe(200);
  });

  it("requires proof of a wallet that was bound before the session joined the App", async () => {
    const [account, session] = [newAccount(), newSession()];
    const [key, call] = [await keyOf("club"), await signIn(account)];
    expect((await create(session, account.address, call)).status).toBe(200);
    const stolen = { headers: { ...key } };
    expectProblem(await chat(session, { app: "club" }, stolen), 404, "session_not_found");
    const mine = { headers: { ...key, ...call.headers } };
    expect((await chat(session, { app: "club" }, mine)).status).toBe(200);
  });

  it("accepts a wallet token neither as the App's key nor as a user of its issuer", async () => {
    const account = newAccount();
    const [call, body] = [await signIn(account), { public_key: account.address }];
    expectProblem(await chat(newSession(), { ...body, app: "club" }, call), 401, "app_key_invalid");
    expectProblem(await chat(newSession(), { ...body, app: "shop" }, call), 401, "token_required");
    const keyed = { headers: { ...(await keyOf("shop")), ...call.headers } };
    expectProblem(await chat(newSession(), { ...body, app: "shop" }, keyed), 403, "wallet_not_proved");
  });

  it("accepts a user's token with the wallet, and rejects it without", async () => {
    const [account, session, alice] = [newAccount(), newSession(), await userOf("alice")];
    const body = { public_key: account.address, app: "shop" };
    expectProblem(await chat(session, body, alice), 403, "wallet_not_proved");
    const proved = await signIn(account, alice);
    expect((await chat(session, body, proved)).status).toBe(200);
    expect((await request("GET", "/api/state", session, alice)).status).toBe(200);
    expectProblem(await list(account.address, alice), 403, "wallet_not_proved");
    expect(idsOf(await list(account.address, proved))).toEqual([session]);
    const copy = newSession();
    const fork = (call: Call) =>
      request("POST", `/api/sessions/${session}/fork`, session, { ...call, json: { session_id: copy } });
    expectProblem(await fork(alice), 403, "wallet_not_proved");
    expectProblem(await request("GET", `/api/sessions/${copy}`, copy, alice), 404, "session_not_found");
    expect((await fork(proved)).status).toBe(200);
    expect(idsOf(await list(account.address, proved)).toSorted()).toEqual([session, copy].toSorted());
  });
});

describe("an App where wallets are claimed", () => {
  it("binds and lists without proof, even beside Apps that require it", async () => {
    const [wallet, session] = [newWallet(), newSession()];
    const headers = await keyOf("open");
    expect((await chat(session, { app: "open", public_key: wallet }, { headers })).status).toBe(200);
    expect(idsOf(await list(wallet, { headers }))).toEqual([session]);
  });
});
