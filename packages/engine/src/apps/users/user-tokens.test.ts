import { createHash, randomBytes } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { exportJWK, generateKeyPair, SignJWT } from "jose";
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from "vitest";
import { BAD_TOKENS, claimsFor } from "../../../../server/test/bad-tokens.ts";
import { Issuer } from "../../../../server/test/issuer.ts";
import { ManualClock } from "../../../../server/test/manual-clock.ts";
import type { UserSettings } from "../../core/app-settings.ts";
import { ServiceError, Unavailable } from "../../core/errors.ts";
import type { UserGrant } from "../../core/ports/driving/credentials.ts";
import type { AppCatalog } from "../../core/ports/driven/apps.ts";
import { CheckedTokens } from "./user-tokens.ts";

/** Orders of the curves (SEC 2, section 2). */
const ORDERS: Readonly<Record<string, bigint>> = {
  ES256: 0xffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551n,
  ES384: 0xffffffffffffffffffffffffffffffffffffffffffffffffc7634d81f4372ddf581a0db248b0a77aecec196accc52973n,
  ES512:
    0x01fffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffa51868783bf2f966b7fcc0148f709a5d03bb5c9b8899c47aebb6fb71e91386409n,
};
const AUDIENCE = "https://shop.test";

let issuer: Issuer;
beforeEach(async () => {
  issuer = await Issuer.start();
});
afterEach(() => issuer.stop().catch(() => undefined));

function users(more: Partial<UserSettings> = {}): UserSettings {
  const base = { jwksUri: null, keys: null, required: false, claimSessions: false };
  return { issuer: issuer.url, audience: AUDIENCE, ...base, ...more };
}

const APPROVALS = {
  free: "never",
  refund: { when: "always", approvers: { claim: "org.roles", values: ["lead", "cfo"] }, owner: "may_not" },
  close: { when: "always", approvers: { claim: "role", values: ["agent"] }, owner: "may" },
  slow: { when: "always", expiresMs: 60_000 },
} as const;

/** Creates a token checker for these Apps, with a store that counts its reads. */
function given(apps: Readonly<Record<string, UserSettings | null>> = { shop: users() }) {
  const clock = new ManualClock(Date.now());
  const revoked = new Set<string>();
  const state = { reads: 0, failure: null as Error | null };
  const store = {
    revokeToken: async (id: string) => revoked.size < revoked.add(id).size,
    isTokenRevoked: async (id: string) => {
      state.reads += 1;
      if (state.failure !== null) throw state.failure;
      return revoked.has(id);
    },
    forgetRevokedTokens: async () => 0,
  };
  const names = Object.keys(apps);
  const catalog: AppCatalog = {
    names: () => names,
    get: (name) => (name in apps ? ({ users: apps[name], tools: { approvals: APPROVALS } } as never) : null),
  };
  const warnings: object[] = [];
  const logger = { warn: (details: object) => void warnings.push(details) };
  const tokens = new CheckedTokens({ store, clock, logger, apps: catalog, keys: null });
  return { tokens, clock, state, warnings, revoked };
}

const claims = (more: Readonly<Record<string, unknown>> = {}) =>
  claimsFor({ issuer, audience: AUDIENCE }, more);

async function codeOf(token: string, tokens = given().tokens): Promise<string> {
  const answer = await tokens.check(token);
  return answer instanceof ServiceError ? `${answer.status} ${answer.code}` : "accepted";
}

describe("a token of an OpenID Connect issuer", () => {
  it("is accepted by the Apps with its issuer and audience, with the keys that the issuer publishes", async () => {
    const { tokens } = given({
      default: null,
      shop: users(),
      games: users({ audience: "https://games.test" }),
      direct: users({ jwksUri: `${issuer.url}/jwks` }),
      fixed: users({ keys: [{ kty: "EC", ...issuer.publicKey }] }),
    });
    expect(await tokens.check(await issuer.token("alice", AUDIENCE))).toMatchObject({
      owner: tokens.ownerOf(issuer.url, "alice"),
      apps: ["shop", "direct", "fixed"],
    });
  });

  it.each([
    [{ role: "agent" }, ["close"], null],
    [
      { role: ["x", "agent"], org: { roles: ["cfo"] }, name: " Mia\u202e\n Roe " },
      ["refund", "close"],
      "Mia Roe",
    ],
    [{ "org.roles": "lead", email: "m@example.com" }, ["refund"], "m@example.com"],
    [{ role: "Agent" }, null, null],
    [{ role: { agent: true } }, null, null],
    [{ org: "lead" }, null, null],
    [{}, null, null],
  ])("recognizes approvers by their claims: %j", async (more, tools, name) => {
    const { tokens } = given();
    const grant = await tokens.check(await issuer.sign(claims(more)));
    const rules = tools?.map((tool) => JSON.stringify(["shop", tool]));
    expect((grant as UserGrant).approver).toEqual(rules === undefined ? undefined : { name, rules });
  });

  it("identifies its user by a pseudonym of issuer and subject", async () => {
    const { tokens } = given();
    const pseudonyms = [
      tokens.ownerOf("https://a.test", "alice"),
      tokens.ownerOf("https://a.test", "bob"),
      tokens.ownerOf("https://b.test", "alice"),
      tokens.ownerOf("https://a.test/alice", ""),
    ];
    expect(new Set(pseudonyms).size).toBe(4);
    for (const pseudonym of pseudonyms) expect(pseudonym).toMatch(/^[\w-]{43}$/);
  });

  it("stays valid after the issuer rotates its keys, as do tokens with the new key", async () => {
    const { tokens, clock } = given();
    const old = await issuer.token("alice", AUDIENCE);
    expect(await codeOf(old, tokens)).toBe("accepted");
    await issuer.rotate();
    const next = await issuer.token("alice", AUDIENCE);
    // An unknown key id is looked up at most every 30 seconds.
    expect(await codeOf(next, tokens)).toBe("401 token_key_unknown");
    expect(await codeOf(next, given().tokens)).toBe("accepted");
    await clock.advance(3_000);
    expect(await codeOf(old, tokens)).toBe("accepted");
    await clock.advance(10 * 60_000);
    // Reads the keys again in the background.
    await codeOf(old, tokens);
    await expect.poll(() => codeOf(next, tokens)).toBe("accepted");
  });

  it("stays valid while the issuer is down if its keys are cached, and is answered with 503 otherwise", async () => {
    const { tokens, clock, warnings } = given();
    const token = await issuer.token("alice", AUDIENCE);
    expect(await codeOf(token, tokens)).toBe("accepted");
    await issuer.stop();
    await clock.advance(11 * 60_000);
    expect(await codeOf(token, tokens)).toBe("accepted");
    await expect.poll(() => warnings.length).toBe(1);
    const unknown = given().tokens;
    const failed = await Promise.resolve(unknown.check(token)).catch((error: unknown) => error);
    expect(failed).toMatchObject({
      status: 503,
      code: "issuer_unavailable",
      headers: { "retry-after": "30" },
    });
    await issuer.resume();
    expect(await codeOf(token, given().tokens)).toBe("accepted");
  });

  it("is rejected if the discovery document names another issuer", async () => {
    const { tokens } = given({ shop: users({ issuer: `${issuer.url}/` }) });
    const token = await issuer.sign(claims({ iss: `${issuer.url}/` }));
    await expect(Promise.resolve(tokens.check(token))).rejects.toMatchObject({ code: "issuer_unavailable" });
  });

  it("is rejected if the discovery document is a redirect", async () => {
    const server = createServer(({ url }, response) => {
      if (url === "/elsewhere") response.end(JSON.stringify({ issuer: own, jwks_uri: `${issuer.url}/jwks` }));
      else response.writeHead(302, { location: "/elsewhere" }).end();
    });
    await once(server.listen(0, "127.0.0.1"), "listening");
    const own = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    onTestFinished(() => void server.close());
    const { tokens } = given({ shop: users({ issuer: own }) });
    const token = await issuer.sign(claims({ iss: own }));
    await expect(Promise.resolve(tokens.check(token))).rejects.toMatchObject({ code: "issuer_unavailable" });
  });
});

describe("a bad token", () => {
  it.each(BAD_TOKENS)("is rejected with 401 and a code: %s", async (_what, code, token) => {
    expect(await codeOf(await token({ issuer, audience: AUDIENCE }))).toBe(`401 ${code}`);
  });

  it("is rejected with 401 if it is signed with a shared secret, even a configured one", async () => {
    const secret = randomBytes(32);
    const shared = { kty: "oct", kid: "shared", alg: "HS256", k: secret.toString("base64url") };
    const { tokens } = given({ shop: users({ keys: [shared] }) });
    const token = await new SignJWT(claims())
      .setProtectedHeader({ alg: "HS256", kid: "shared" })
      .sign(secret);
    expect(await codeOf(token, tokens)).toBe("401 token_algorithm_refused");
  });

  it("is rejected with 401 if its algorithm is not allowed, even if its key is configured", async () => {
    const { publicKey, privateKey } = await generateKeyPair("Ed25519");
    const { tokens } = given({ shop: users({ keys: [{ kty: "OKP", ...(await exportJWK(publicKey)) }] }) });
    const token = await new SignJWT(claims()).setProtectedHeader({ alg: "Ed25519" }).sign(privateKey);
    expect(await codeOf(token, tokens)).toBe("401 token_algorithm_refused");
  });

  it("is verified once for all Apps of an issuer, however many audiences it names", async () => {
    const names = Array.from({ length: 20 }, (_, index) => `https://shop-${index}.test`);
    const { tokens } = given(Object.fromEntries(names.map((audience) => [audience, users({ audience })])));
    const forged = await new SignJWT(claims({ aud: names }))
      .setProtectedHeader({ alg: "ES256", kid: issuer.publicKey.kid ?? "" })
      .sign((await generateKeyPair("ES256")).privateKey);
    const verify = vi.spyOn(crypto.subtle, "verify");
    onTestFinished(() => verify.mockRestore());
    expect(await codeOf(forged, tokens)).toBe("401 token_signature_wrong");
    expect(verify).toHaveBeenCalledTimes(1);
  });

  it("is answered with the WWW-Authenticate error of RFC 6750, which does not quote the token", async () => {
    const token = await issuer.sign(claims({ exp: 1 }));
    const refusal = (await given().tokens.check(token)) as ServiceError;
    expect(refusal.headers["www-authenticate"]).toBe('Bearer realm="colloquy", error="invalid_token"');
    expect(refusal.detail).not.toContain(token);
  });
});

describe("a revoked token", () => {
  it("is rejected at once, and stays rejected after the cache expires", async () => {
    const { tokens, clock } = given();
    const token = await issuer.token("alice", AUDIENCE);
    expect(await codeOf(token, tokens)).toBe("accepted");
    await tokens.revoke(token);
    expect(await codeOf(token, tokens)).toBe("401 token_revoked");
    await clock.advance(2_000);
    expect(await codeOf(token, tokens)).toBe("401 token_revoked");
    expect(await codeOf(await issuer.token("alice", AUDIENCE), tokens)).toBe("accepted");
  });

  it("can be revoked again, unlike a malformed token", async () => {
    const { tokens } = given();
    const token = await issuer.token("alice", AUDIENCE);
    await tokens.revoke(token);
    await tokens.revoke(token);
    await expect(tokens.revoke("nonsense")).rejects.toMatchObject({ status: 401, code: "token_malformed" });
  });

  it.each([{}, { jti: "" }, { jti: null }])(
    "is identified by what its signature covers without a usable jti: %j",
    async (more) => {
      const { tokens } = given();
      const [one, other] = [
        await issuer.sign(claims(more)),
        await issuer.sign(claims({ ...more, sub: "bob" })),
      ];
      await tokens.revoke(one);
      expect(await codeOf(one, tokens)).toBe("401 token_revoked");
      expect(await codeOf(other, tokens)).toBe("accepted");
    },
  );

  it("is revoked by issuer and jti", async () => {
    const { tokens } = given();
    await tokens.revoke(await issuer.sign(claims({ jti: "one" })));
    expect(await codeOf(await issuer.sign(claims({ jti: "one", exp: 9_999_999_999 })), tokens)).toBe(
      "401 token_revoked",
    );
    expect(await codeOf(await issuer.sign(claims({ jti: "two" })), tokens)).toBe("accepted");
  });

  describe.each([
    ["ES256", 64],
    ["ES384", 96],
    ["ES512", 132],
  ])("signed with %s", (alg, length) => {
    async function givenToken() {
      const { publicKey, privateKey } = await generateKeyPair(alg);
      const keys = [{ kty: "EC", ...(await exportJWK(publicKey)) }];
      const token = await new SignJWT(claims()).setProtectedHeader({ alg }).sign(privateKey);
      return { ...given({ shop: users({ keys }) }), token };
    }

    /** Returns the token with the signature (r, n - s). */
    function otherSignature(token: string): string {
      const [header, payload, signature = ""] = token.split(".");
      const bytes = Buffer.from(signature, "base64url");
      expect(bytes).toHaveLength(length);
      const s = BigInt(`0x${bytes.subarray(length / 2).toString("hex")}`);
      const order = ORDERS[alg] ?? 0n;
      const hex = (order - s).toString(16).padStart(length, "0");
      const changed = Buffer.concat([bytes.subarray(0, length / 2), Buffer.from(hex, "hex")]);
      return [header, payload, changed.toString("base64url")].join(".");
    }

    it("stays rejected with the other signature that the key accepts", async () => {
      const { tokens, token, clock } = await givenToken();
      const other = otherSignature(token);
      expect(await codeOf(other, tokens)).toBe("accepted");
      await tokens.revoke(token);
      await clock.advance(2_000);
      expect(await codeOf(other, tokens)).toBe("401 token_revoked");
    });

    it("stays rejected if an earlier version stored its revocation, with either signature", async () => {
      const { tokens, token, revoked } = await givenToken();
      revoked.add(
        createHash("sha256")
          .update(JSON.stringify([token]))
          .digest("base64url"),
      );
      expect(await codeOf(token, tokens)).toBe("401 token_revoked");
      expect(await codeOf(otherSignature(token), tokens)).toBe("401 token_revoked");
    });

    it("is rejected by nodes of an earlier version too", async () => {
      const { tokens, token, revoked } = await givenToken();
      await tokens.revoke(token);
      expect([...revoked]).toContain(
        createHash("sha256")
          .update(JSON.stringify([token]))
          .digest("base64url"),
      );
    });
  });

  it.each<[string, (token: string) => string]>([
    ["padding", (token) => `${token}==`],
    ["unused bits in the signature", (token) => `${token.slice(0, -1)}${nextOf(token.at(-1))}`],
    [
      "the other base64 alphabet",
      (token) => token.replace(/[^.]*$/, (part) => part.replaceAll("_", "/").replaceAll("-", "+")),
    ],
    ["a line break", (token) => `${token.slice(0, -4)}\n${token.slice(-4)}`],
    ["a trailing dot", (token) => `${token}.`],
    ["padding of the header", (token) => token.replace(".", "=.")],
    ["padding of the payload", (token) => token.replace(/\.([^.]*)$/, "=.$1")],
  ])("is malformed with %s", async (_what, change) => {
    const { tokens } = given();
    let token = "";
    // The other alphabet needs a character that differs.
    while (!/[-_][^.]*$/.test(token)) token = await issuer.sign(claims());
    await tokens.revoke(token);
    expect(await codeOf(change(token), tokens)).toBe("401 token_malformed");
  });
});

const BASE64URL = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
/** Returns the character with the same used bits, where four are unused. */
function nextOf(character = ""): string {
  return BASE64URL[BASE64URL.indexOf(character) + 1] ?? "";
}

describe("the cache of checks", () => {
  it("serves a token for two seconds, and not beyond its expiry", async () => {
    const { tokens, clock, state } = given();
    const token = await issuer.token("alice", AUDIENCE);
    const first = await tokens.check(token);
    await clock.advance(1_999);
    expect(tokens.check(token)).toBe(first);
    expect(state.reads).toBe(1);
    await clock.advance(1);
    expect(await tokens.check(token)).toMatchObject({ checkedAt: 2_000 });
    expect(state.reads).toBe(2);
    const short = await issuer.sign(claims({ exp: Math.floor(clock.now() / 1000) + 1 }));
    expect(await codeOf(short, tokens)).toBe("accepted");
    await clock.advance(1_000);
    expect(await codeOf(short, tokens)).toBe("401 token_expired");
  });

  it("does not cache rejections, so bad tokens use no memory", async () => {
    const { tokens } = given();
    const bad = await issuer.sign(claims({ aud: "https://other.test" }));
    const answers = [tokens.check(bad), tokens.check(bad)];
    // Concurrent checks share one.
    expect(answers[1]).toBe(answers[0]);
    expect(await answers[0]).toMatchObject({ code: "token_audience_wrong" });
    const later = tokens.check(bad);
    expect(later).not.toBe(answers[0]);
    expect(await later).not.toBe(await answers[0]);
  });

  it("does not cache failures of the store", async () => {
    const { tokens, state } = given();
    const token = await issuer.token("alice", AUDIENCE);
    state.failure = new Unavailable(503, "store_unavailable", "Not now.", 1);
    await expect(Promise.resolve(tokens.check(token))).rejects.toBe(state.failure);
    state.failure = null;
    expect(await codeOf(token, tokens)).toBe("accepted");
  });
});

it("enables token checks only if an App has users", () => {
  expect(given({ default: null }).tokens.areUsed).toBe(false);
  expect(given({ default: null, shop: users() }).tokens.areUsed).toBe(true);
});
