import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { gzipSync } from "node:zlib";
import { exportJWK, generateKeyPair, type JWK, SignJWT } from "jose";
import { beforeAll, beforeEach, describe, expect, it, onTestFinished, vi } from "vitest";
import { ManualClock } from "../../../../server/test/manual-clock.ts";
import type { TokenIssuer } from "../../core/app-settings.ts";
import { TokenVerifier } from "./token-verifier.ts";

const AUDIENCE = "https://shop.test";
const CONFIGURATION = "/.well-known/openid-configuration";

interface Pair {
  readonly jwk: JWK;
  readonly privateKey: CryptoKey;
}

let first: Pair;
let second: Pair;
let third: Pair;
beforeAll(async () => {
  [first, second, third] = [await newPair("first"), await newPair("second"), await newPair("third")];
});

async function newPair(kid: string, alg = "ES256"): Promise<Pair> {
  const { publicKey, privateKey } = await generateKeyPair(alg, { modulusLength: 2048 });
  return { jwk: { ...(await exportJWK(publicKey)), kid, use: "sig", alg }, privateKey };
}

type Answer = (request: IncomingMessage, response: ServerResponse) => void;
const json =
  (content: unknown): Answer =>
  (_, response) =>
    void response.end(JSON.stringify(content));
const down: Answer = (_, response) => void response.writeHead(500).end();

/** Answers by path; it counts the requests. */
let issuer: { readonly url: string; readonly answers: Record<string, Answer>; readonly requests: string[] };
let clock: ManualClock;
let warnings: string[];
let verifier: TokenVerifier;

beforeEach(async () => {
  const server = createServer((request, response) => {
    issuer.requests.push(request.url ?? "");
    (issuer.answers[request.url ?? ""] ?? down)(request, response);
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  issuer = { url, answers: {}, requests: [] };
  announce(`${url}/jwks`);
  publish(first.jwk);
  clock = new ManualClock(Date.now());
  warnings = [];
  const logger = { warn: (_: object, text: string) => void warnings.push(text) };
  verifier = new TokenVerifier({ clock, logger });
});

const announce = (jwksUri: unknown): void =>
  void (issuer.answers[CONFIGURATION] = json({ issuer: issuer.url, jwks_uri: jwksUri }));
const publish = (...keys: readonly unknown[]): void => void (issuer.answers["/jwks"] = json({ keys }));

async function sign({ privateKey }: Pair, header: { kid?: string } = {}, alg = "ES256"): Promise<string> {
  return await new SignJWT({ aud: AUDIENCE, iss: issuer.url, sub: "alice" })
    .setExpirationTime("2h")
    .setProtectedHeader({ alg, ...header })
    .sign(privateKey);
}

const settings = (more: Partial<TokenIssuer> = {}): TokenIssuer => ({
  issuer: issuer.url,
  audience: AUDIENCE,
  jwksUri: null,
  keys: null,
  ...more,
});

/** Returns `accepted`, or the code of the refusal. */
async function outcomeOf(token: string, users = settings()): Promise<string> {
  try {
    const result = await verifier.verify(token, users);
    return typeof result === "string" ? result : "accepted";
  } catch (error) {
    return (error as { readonly code: string }).code;
  }
}

describe("an issuer that fails", () => {
  it("is read again at most every 30 seconds, however many tokens arrive", async () => {
    issuer.answers[CONFIGURATION] = down;
    const tokens = await Promise.all(
      Array.from({ length: 20 }, (_, index) => sign(second, { kid: `bogus ${index}` })),
    );
    const outcomes = await Promise.all(tokens.map((token) => outcomeOf(token)));
    expect(new Set(outcomes)).toEqual(new Set(["issuer_unavailable"]));
    expect(await outcomeOf(await sign(first, { kid: "first" }))).toBe("issuer_unavailable");
    expect(issuer.requests).toEqual([CONFIGURATION]);
    await clock.advance(29_999);
    expect(await outcomeOf(tokens[0]!)).toBe("issuer_unavailable");
    expect(issuer.requests).toHaveLength(1);
    await clock.advance(1);
    await Promise.all(tokens.map((token) => outcomeOf(token)));
    expect(issuer.requests).toHaveLength(2);
    expect(warnings).toHaveLength(1);
  });

  it("answers with the seconds until the next read", async () => {
    issuer.answers[CONFIGURATION] = down;
    const token = await sign(first, { kid: "first" });
    await expect(verifier.verify(token, settings())).rejects.toMatchObject({
      headers: { "retry-after": "30" },
    });
    await clock.advance(20_500);
    await expect(verifier.verify(token, settings())).rejects.toMatchObject({
      headers: { "retry-after": "10" },
    });
  });

  it("recovers from a wrong jwks_uri without a restart", async () => {
    announce(`${issuer.url}/nowhere`);
    const token = await sign(first, { kid: "first" });
    expect(await outcomeOf(token)).toBe("issuer_unavailable");
    announce(`${issuer.url}/jwks`);
    await clock.advance(30_000);
    expect(await outcomeOf(token)).toBe("accepted");
    expect(await outcomeOf(await sign(second, { kid: "second" }))).toBe("token_key_unknown");
  });

  it("recovers from a jwks_uri with other keys", async () => {
    issuer.answers["/old"] = json({ keys: [second.jwk] });
    announce(`${issuer.url}/old`);
    const token = await sign(first, { kid: "first" });
    expect(await outcomeOf(token)).toBe("token_key_unknown");
    announce(`${issuer.url}/jwks`);
    await clock.advance(30_000);
    expect(await outcomeOf(token)).toBe("accepted");
  });

  it("keeps its cached keys, and is retried every 30 seconds once they are ten minutes old", async () => {
    const token = await sign(first, { kid: "first" });
    expect(await outcomeOf(token)).toBe("accepted");
    issuer.answers[CONFIGURATION] = down;
    await clock.advance(10 * 60_000);
    for (let count = 3; count < 6; count += 1) {
      expect(await outcomeOf(token)).toBe("accepted");
      expect(await outcomeOf(token)).toBe("accepted");
      await expect.poll(() => issuer.requests.length).toBe(count);
      // The background read has failed once a token with an unknown key is answered with its failure.
      await expect.poll(async () => await outcomeOf(await sign(second))).toBe("issuer_unavailable");
      await clock.advance(30_000);
    }
    expect(warnings).toHaveLength(1);
  });

  it("is one issuer for Apps with other audiences", async () => {
    issuer.answers[CONFIGURATION] = down;
    const token = await sign(first, { kid: "first" });
    await outcomeOf(token);
    await outcomeOf(token, settings({ audience: "https://games.test" }));
    await outcomeOf(token, { ...settings() });
    expect(issuer.requests).toHaveLength(1);
  });
});

describe("a token whose key is not known", () => {
  it("causes a read at most every 30 seconds", async () => {
    expect(await outcomeOf(await sign(first, { kid: "first" }))).toBe("accepted");
    publish(first.jwk, second.jwk);
    const token = await sign(second, { kid: "second" });
    expect(await outcomeOf(token)).toBe("token_key_unknown");
    expect(issuer.requests).toHaveLength(2);
    await clock.advance(30_000);
    const bogus = await sign(third, { kid: "third" });
    const outcomes = await Promise.all([token, bogus, token, bogus].map((each) => outcomeOf(each)));
    expect(outcomes).toEqual(["accepted", "token_key_unknown", "accepted", "token_key_unknown"]);
    expect(await outcomeOf(bogus)).toBe("token_key_unknown");
    // Tokens with known keys are not affected.
    expect(await outcomeOf(await sign(first, { kid: "first" }))).toBe("accepted");
    expect(issuer.requests).toHaveLength(4);
  });

  it("is refused before anything is read if its algorithm is", async () => {
    const secret = Buffer.alloc(32);
    const token = await new SignJWT().setProtectedHeader({ alg: "HS256" }).sign(secret);
    expect(await outcomeOf(token)).toBe("token_algorithm_refused");
    expect(issuer.requests).toEqual([]);
  });
});

describe("a token without kid", () => {
  it("is tried against each key that suits it", async () => {
    const rsa = await newPair("rsa", "RS256");
    publish(rsa.jwk, first.jwk, { ...second.jwk, use: "enc" }, third.jwk);
    expect(await outcomeOf(await sign(first))).toBe("accepted");
    expect(await outcomeOf(await sign(third))).toBe("accepted");
    expect(await outcomeOf(await sign(rsa, {}, "RS256"))).toBe("accepted");
    expect(await outcomeOf(await sign(second))).toBe("token_signature_wrong");
  });

  it("is refused for its claims by the key that signed it", async () => {
    publish(first.jwk, second.jwk, third.jwk);
    const token = await sign(second);
    expect(await outcomeOf(token, settings({ audience: "https://games.test" }))).toBe("token_audience_wrong");
    await clock.advance(3 * 60 * 60_000);
    expect(await outcomeOf(token)).toBe("token_expired");
  });

  it("is tried against newer keys, at most every 30 seconds", async () => {
    expect(await outcomeOf(await sign(first))).toBe("accepted");
    publish(second.jwk);
    expect(await outcomeOf(await sign(second))).toBe("token_signature_wrong");
    expect(issuer.requests).toHaveLength(2);
    await clock.advance(30_000);
    expect(await outcomeOf(await sign(second))).toBe("accepted");
    expect(await outcomeOf(await sign(third))).toBe("token_signature_wrong");
    expect(issuer.requests).toHaveLength(4);
  });
});

describe("keys of an issuer", () => {
  it("are the first 100 for signatures, which the log mentions", async () => {
    const { jwk } = second;
    const others = Array.from({ length: 5_000 }, (_, index) => ({ ...jwk, kid: `other ${index}` }));
    const encryption = others.map((key) => ({ ...key, use: "enc" })).slice(0, 1_000);
    publish(...encryption, ...others.slice(0, 99), first.jwk, third.jwk, ...others.slice(99, 3_000));
    const verify = vi.spyOn(crypto.subtle, "verify");
    onTestFinished(() => verify.mockRestore());
    expect(await outcomeOf(await sign(first))).toBe("accepted");
    expect(await outcomeOf(await sign(third))).toBe("token_signature_wrong");
    expect(verify).toHaveBeenCalledTimes(200);
    expect(await outcomeOf(await sign(third, { kid: "third" }))).toBe("token_key_unknown");
    expect(warnings).toEqual(["the issuer has too many keys; using the first 100"]);
  });

  it("may share a kid", async () => {
    const rsa = await newPair("first", "RS256");
    publish({ ...second.jwk, kid: "first" }, rsa.jwk, first.jwk);
    expect(await outcomeOf(await sign(first, { kid: "first" }))).toBe("accepted");
    expect(await outcomeOf(await sign(rsa, { kid: "first" }, "RS256"))).toBe("accepted");
    expect(await outcomeOf(await sign(third, { kid: "first" }))).toBe("token_signature_wrong");
  });

  it("are used beside odd ones", async () => {
    const short = await generateKeyPair("RS256", { modulusLength: 2048 });
    const odd = [
      null,
      7,
      "key",
      [],
      {},
      { kty: "EC", crv: "P-256", x: "!", y: "!", kid: "broken" },
      { kty: "oct", k: "AAAA" },
      { kty: "AKP", alg: "ML-DSA-44", pub: "AAAA" },
      { kty: "RSA", n: "AQAB", e: "AQAB", kid: "short" },
    ];
    publish(...odd, { ...first.jwk, use: null, key_ops: null, x5c: null });
    expect(await outcomeOf(await sign(first, { kid: "first" }))).toBe("accepted");
    expect(await outcomeOf(await sign(first))).toBe("accepted");
    expect(await outcomeOf(await sign(first, { kid: "broken" }))).toBe("token_key_unknown");
    expect(await outcomeOf(await sign({ ...first, ...short }, { kid: "short" }, "RS256"))).toBe(
      "token_key_unknown",
    );
  });
});

describe("a document of an issuer", () => {
  const token = () => sign(first, { kid: "first" });

  it.each(["http://login.test/jwks", "ftp://127.0.0.1/jwks", "/jwks", null])(
    "is refused with the jwks_uri %s",
    async (jwksUri) => {
      announce(jwksUri);
      await expect(verifier.verify(await token(), settings())).rejects.toMatchObject({
        code: "issuer_unavailable",
        cause: { message: expect.stringMatching(/this machine|expected string/) },
      });
      expect(issuer.requests).toEqual([CONFIGURATION]);
    },
  );

  it.each([CONFIGURATION, "/jwks"])(
    "is refused above 1 MiB, counted after decompression: %s",
    async (path) => {
      const content = { issuer: issuer.url, jwks_uri: `${issuer.url}/jwks`, keys: [first.jwk] };
      const answer = (padding: number): Answer => {
        const text = JSON.stringify({ ...content, padding: "" });
        const bomb = gzipSync(
          text.replace('"padding":""', `"padding":"${" ".repeat(padding - text.length)}"`),
        );
        return (_, response) => void response.writeHead(200, { "content-encoding": "gzip" }).end(bomb);
      };
      issuer.answers[path] = answer(1_024 * 1_024 + 1);
      await expect(verifier.verify(await token(), settings())).rejects.toMatchObject({
        cause: { message: `${issuer.url}${path} answers more than 1048576 bytes` },
      });
      issuer.answers[path] = answer(1_024 * 1_024);
      await clock.advance(30_000);
      expect(await outcomeOf(await token())).toBe("accepted");
    },
  );

  it.each([CONFIGURATION, "/jwks"])("is refused as a redirect, even to the same origin: %s", async (path) => {
    issuer.answers["/moved"] = issuer.answers[path]!;
    issuer.answers[path] = (_, response) => void response.writeHead(302, { location: "/moved" }).end();
    expect(await outcomeOf(await token())).toBe("issuer_unavailable");
    expect(issuer.requests).not.toContain("/moved");
  });
});
