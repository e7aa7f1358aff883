// Sign-in with wallets (EIP-4361). `npm run test:nodes` runs this on three nodes too.

import { randomBytes } from "node:crypto";
import { pathToFileURL } from "node:url";
import { decodeJwt } from "jose";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { findInstalled } from "../../../../test/installed.ts";
import { Issuer } from "../issuer.ts";
import { addressOfWallet, newAccount, SignIns } from "../sign-in-messages.ts";
import { type Call, expectProblem, newSession, send } from "./client.ts";
import { NODES } from "./processes.ts";
import { Program } from "./server.ts";

/** The used parts of the packages siwe and ethers, which are installed in test/programs. */
interface Libraries {
  readonly SiweMessage: new (parts: object) => { prepareMessage(): string };
  readonly Wallet: {
    createRandom(): { readonly address: string; signMessage(text: string): Promise<string> };
  };
}
const SIWE = findInstalled("programs", "siwe/dist/siwe.js");
const ETHERS = findInstalled("programs", "ethers/lib.esm/index.js");
const importOf = async (path: string | null): Promise<Libraries> =>
  (await import(pathToFileURL(path ?? "").href)) as Libraries;

const SECRET_KEY = randomBytes(32).toString("base64");

let issuer: Issuer;
let program: Program;
let wallets: SignIns;
beforeAll(async () => {
  issuer = await Issuer.start();
  const users = (audience: string) => ({ issuer: issuer.url, audience, claimSessions: true });
  program = await Program.start(
    {
      apps: { default: { users: users("here") }, shop: { users: users("shop") } },
      siwe: { domains: ["Chat.example.com", "localhost:3000"] },
    },
    { COLLOQUY_SECRET_KEY: SECRET_KEY },
  );
  wallets = new SignIns(program.url);
});
afterAll(async () => {
  await program.remove();
  await issuer.stop();
});

const HERE = { domain: "chat.example.com", uri: "https://chat.example.com/chat" };
const bearer = (token: string): Call => ({ headers: { Authorization: `Bearer ${token}` } });
const tokenOf = (answer: { json(): unknown }) =>
  answer.json() as { token: string; expires_at: string; wallets: string[] };
const request = (method: string, path: string, session: string, call: Call = {}) =>
  send(program.url, method, path, { session, ...call });

/** Repeats a request until every node refuses it. */
async function untilRefused(ask: () => Promise<{ readonly status: number }>): Promise<void> {
  for (let same = 0; same < 2 * (NODES?.count ?? 1); ) same = (await ask()).status === 401 ? same + 1 : 0;
}

describe("the sign-in with a wallet", () => {
  it("returns a token for 15 minutes, with the wallet as its subject", async () => {
    const account = newAccount();
    const answer = await wallets.signIn(account, {}, HERE);
    expect(answer.status).toBe(200);
    const { token, expires_at, wallets: held } = tokenOf(answer);
    expect(held).toEqual([addressOfWallet(account)]);
    const minutes = (Date.parse(expires_at) - Date.now()) / 60_000;
    expect(minutes).toBeGreaterThan(14);
    expect(minutes).toBeLessThanOrEqual(15);
    expect(decodeJwt(token).sub).toBe(`eip155:${addressOfWallet(account)}`);
  });

  it("accepts a message for any configured domain and any chain, with all optional parts", async () => {
    const later = new Date(Date.now() + 60_000);
    const changes = {
      domain: "localhost:3000",
      uri: "http://localhost:3000",
      scheme: "http",
      chainId: 424_242,
      statement: "I accept the terms: https://chat.example.com/terms",
      expirationTime: later,
      notBefore: new Date(0),
      requestId: "r1",
      resources: ["https://chat.example.com/a"],
    };
    const answer = await wallets.signIn(newAccount(), {}, changes);
    expect(answer.status).toBe(200);
    // The token does not outlive the message.
    expect(Date.parse(tokenOf(answer).expires_at)).toBeLessThanOrEqual(later.getTime());
  });

  it.skipIf(SIWE === null)("accepts a message that the library siwe writes, signed with ethers", async () => {
    const [{ SiweMessage }, { Wallet }] = await Promise.all([importOf(SIWE), importOf(ETHERS)]);
    const wallet = Wallet.createRandom();
    const { address } = wallet;
    const parts = { ...HERE, address, version: "1", chainId: 10, nonce: await wallets.nonce() };
    const statement = "Sign in to Example.";
    const message = new SiweMessage({ ...parts, statement, resources: [HERE.uri] }).prepareMessage();
    const answer = await wallets.verify(message, await wallet.signMessage(message));
    expect(answer.status).toBe(200);
    expect(tokenOf(answer).wallets).toEqual([address.toLowerCase()]);
  });

  it("accepts a nonce once, even from concurrent requests, and no foreign nonce", async () => {
    const account = newAccount();
    const message = await wallets.message(account, HERE);
    const signature = await account.signMessage({ message });
    const answers = await Promise.all(Array.from({ length: 6 }, () => wallets.verify(message, signature)));
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
    for (const answer of answers.filter(({ status }) => status !== 200))
      expectProblem(answer, 401, "siwe_nonce_invalid");
    const nonce = await wallets.nonce();
    for (const foreign of ["a0nonce0of0the0test", `${nonce.slice(0, -1)}${nonce.endsWith("0") ? "1" : "0"}`])
      expectProblem(
        await wallets.signIn(account, {}, { ...HERE, nonce: foreign }),
        401,
        "siwe_nonce_invalid",
      );
  });

  it("does not use up the nonce of a rejected message", async () => {
    const [account, other] = [newAccount(), newAccount()];
    const message = await wallets.message(account, HERE);
    const wrong = await other.signMessage({ message });
    expectProblem(await wallets.verify(message, wrong), 401, "siwe_signature_wrong");
    const signature = await account.signMessage({ message });
    expect((await wallets.verify(message, signature)).status).toBe(200);
  });

  it.each([
    ["siwe_domain_refused", { ...HERE, domain: "evil.example.com" }],
    ["siwe_domain_refused", { ...HERE, domain: "chat.example.com:8443" }],
    ["siwe_message_expired", { ...HERE, expirationTime: new Date(Date.now() - 1000) }],
    ["siwe_message_expired", { ...HERE, notBefore: new Date(Date.now() + 3_600_000) }],
  ] as const)("refuses a signed message with 401 %s: %j", async (code, changes) => {
    const answer = await wallets.signIn(newAccount(), {}, changes);
    expectProblem(answer, 401, code);
    expect(answer.headers["www-authenticate"]).toContain("Bearer");
  });

  it("rejects a malformed message with 400, and a wrong signature with 401", async () => {
    const account = newAccount();
    const message = await wallets.message(account, HERE);
    const signature = await account.signMessage({ message });
    for (const bad of [
      "nonsense",
      message.replace("Version: 1", "Version: 2"),
      message.replace(/Issued At: .*/, "Issued At: yesterday"),
      message.replace(
        account.address,
        account.address.replace(/[a-f]/, (digit) => digit.toUpperCase()),
      ),
    ])
      if (bad !== message) expectProblem(await wallets.verify(bad, signature), 400, "siwe_message_invalid");
    for (const bad of [7, "", "x".repeat(8193), null])
      expectProblem(await wallets.verify(bad, signature), 400, "parameter_invalid");
    for (const bad of [7, "", "0x", "0x0", "0xzz", signature.slice(2)])
      expectProblem(await wallets.verify(message, bad), 400, "parameter_invalid");
    for (const bad of ["0x00", `${signature}00`, `0x${"00".repeat(65)}`, `0x${"ff".repeat(65)}`])
      expectProblem(await wallets.verify(message, bad), 401, "siwe_signature_wrong");
  });
});

describe("a token that holds wallets", () => {
  const user = async (subject: string, seconds = 3600): Promise<string> =>
    await issuer.token(subject, "here", seconds);

  it("belongs to the user whose token was sent, and lets them claim their wallet's session", async () => {
    const [account, session] = [newAccount(), newSession()];
    const asked = { headers: { Prefer: "wait=20" }, json: { message: "hi", public_key: account.address } };
    expect((await request("POST", "/api/chat", session, asked)).status).toBe(200);
    const alice = await user("alice");
    const claim = (token: string) =>
      request("POST", `/api/sessions/${session}/claim`, session, bearer(token));
    expectProblem(await claim(alice), 403, "wallet_not_proved");
    const other = tokenOf(await wallets.signIn(newAccount(), bearer(alice), HERE)).token;
    expectProblem(await claim(other), 403, "wallet_not_proved");
    const { token } = tokenOf(await wallets.signIn(account, bearer(alice), HERE));
    expect((await claim(token)).status).toBe(200);
    for (const one of [token, alice])
      expect((await request("GET", "/api/state", session, bearer(one))).status).toBe(200);
    expectProblem(
      await request("GET", "/api/state", session, bearer(await user("bob"))),
      404,
      "session_not_found",
    );
  });

  it("is valid only in Apps that accept the user's own token", async () => {
    const { token } = tokenOf(await wallets.signIn(newAccount(), bearer(await user("alice")), HERE));
    const session = newSession();
    const answer = await request("POST", "/api/chat?message=hello&app=shop", session, bearer(token));
    expectProblem(answer, 401, "token_required");
  });

  it("holds several wallets after several sign-ins", async () => {
    const [first, second] = [newAccount(), newAccount()];
    const { token } = tokenOf(await wallets.signIn(first, bearer(await user("alice")), HERE));
    const both = tokenOf(await wallets.signIn(second, bearer(token), HERE));
    expect(both.wallets).toEqual([first, second].map(addressOfWallet));
  });

  it("keeps its claims when refreshed, and expires with the user's token at the latest", async () => {
    const account = newAccount();
    const alice = await user("alice", 60);
    const given = tokenOf(await wallets.signIn(account, bearer(alice), HERE));
    const next = await wallets.refresh(bearer(given.token));
    expect(next.status).toBe(200);
    const ends = (decodeJwt(alice).exp ?? 0) * 1000;
    for (const { expires_at, wallets: held } of [given, tokenOf(next)]) {
      expect(Date.parse(expires_at)).toBeLessThanOrEqual(ends);
      expect(held).toEqual([addressOfWallet(account)]);
    }
    expectProblem(await wallets.refresh(bearer(alice)), 403, "wallet_not_proved");
    expectProblem(await wallets.refresh({}), 401, "token_required");
    expectProblem(await wallets.refresh(bearer("nonsense")), 401, "token_malformed");
  });

  it("is revoked with the user's token or its own sign-in, even after a refresh", async () => {
    const [alice, other] = [await user("alice"), await user("alice")];
    const given = tokenOf(await wallets.signIn(newAccount(), bearer(alice), HERE)).token;
    const revoke = (token: string) => request("POST", "/api/auth/revoke", newSession(), bearer(token));
    expect((await revoke(alice)).status).toBe(204);
    await untilRefused(() => wallets.refresh(bearer(given)));
    expectProblem(await wallets.refresh(bearer(given)), 401, "token_revoked");
    expectProblem(await request("GET", "/api/state", newSession(), bearer(given)), 401, "token_revoked");
    expectProblem(await wallets.signIn(newAccount(), bearer(alice), HERE), 401, "token_revoked");

    const mine = tokenOf(await wallets.signIn(newAccount(), bearer(other), HERE)).token;
    const refreshed = tokenOf(await wallets.refresh(bearer(mine))).token;
    expect((await revoke(mine)).status).toBe(204);
    expectProblem(await wallets.refresh(bearer(refreshed)), 401, "token_revoked");
    expect((await request("GET", "/api/state", newSession(), bearer(other))).status).toBe(200);
  });

  it("is rejected if it was modified or signed with another key", async () => {
    const { token } = tokenOf(await wallets.signIn(newAccount(), bearer(await user("alice")), HERE));
    const [head = "", , tail = ""] = token.split(".");
    const claims = { ...decodeJwt(token), wallets: [addressOfWallet(newAccount())] };
    const forged = [head, Buffer.from(JSON.stringify(claims)).toString("base64url"), tail].join(".");
    expectProblem(await wallets.refresh(bearer(forged)), 401, "token_signature_wrong");
    const unsigned = Buffer.from('{"alg":"none"}').toString("base64url");
    expectProblem(
      await wallets.refresh(bearer(`${unsigned}.${forged.split(".")[1]}.`)),
      401,
      "token_key_unknown",
    );
    const foreign = await issuer.sign({ ...decodeJwt(token) });
    expectProblem(await wallets.refresh(bearer(foreign)), 401, "token_key_unknown");
  });
});

describe("a service without domains", () => {
  it("accepts the host of the request on a loopback address, and behind a proxy that of its public URL", async () => {
    const local = await Program.start(null, { COLLOQUY_SECRET_KEY: SECRET_KEY });
    try {
      const at = new SignIns(local.url);
      expect((await at.signIn(newAccount())).status).toBe(200);
      expectProblem(await at.signIn(newAccount(), {}, HERE), 401, "siwe_domain_refused");
    } finally {
      await local.remove();
    }
    const proxied = { COLLOQUY_SECRET_KEY: SECRET_KEY, COLLOQUY_TRUSTED_PROXIES: "192.0.2.1" };
    const unnamed = await Program.start(null, proxied);
    try {
      expectProblem(await new SignIns(unnamed.url).signIn(newAccount()), 503, "siwe_unavailable");
    } finally {
      await unnamed.remove();
    }
    const named = await Program.start(null, {
      ...proxied,
      COLLOQUY_PUBLIC_URL: "https://Chat.example.com/app",
    });
    try {
      expect((await new SignIns(named.url).signIn(newAccount(), {}, HERE)).status).toBe(200);
    } finally {
      await named.remove();
    }
  });
});
