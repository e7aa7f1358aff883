import crypto from "node:crypto";
import { readFile } from "node:fs/promises";
import { syncBuiltinESMExports } from "node:module";
import { join } from "node:path";
import type { InjectOptions } from "fastify";
import { afterEach, describe, expect, it, vi } from "vitest";
import { Unavailable } from "@colloquy/engine/internal/core/errors";
import type { RateCounters } from "@colloquy/engine/internal/core/ports/driven/rate-counters";
import { GatedCounters } from "../testing/gated-counters.ts";
import { ADMIN_KEY as KEY, type EdgeChanges, startEdges } from "../testing/edge.ts";

const edges = await startEdges({ apps: { defi: {} } });
const { testEdge } = edges;
const RIGHT = { authorization: `Bearer ${KEY}` };

/** Creates an edge with the admin API. `get` reads its Apps, which is `asked` of the service. */
function givenAdmin(changes: EdgeChanges = {}, rateCounters: RateCounters | null = null) {
  const edge = testEdge(changes, { rateCounters, hasAdmin: true });
  const asked = vi.spyOn(edges.service.tools, "sources");
  const get = (headers: InjectOptions["headers"] = {}, options: InjectOptions = {}) =>
    edge.app.inject({ url: "/api/admin/apps", ...options, headers });
  return { ...edge, get, asked };
}

afterEach(() => vi.restoreAllMocks());

describe("without an admin key", () => {
  const methods = ["GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS"] as const;

  it.each(methods)("responds to %s as for an unknown path", async (method) => {
    const { app } = testEdge();
    const answers = await Promise.all(
      ["/api/admin/apps", "/api/admin/keys/x/rotate", "/api/nothing/here"].map(async (url) => {
        const { statusCode, headers, body } = await app.inject({ method, url, headers: RIGHT });
        const { "x-request-id": _id, date: _date, ...others } = headers;
        return { statusCode, others, body: body.replace(/"request_id":"[^"]*"/, "") };
      }),
    );
    expect(answers[0]!.statusCode).toBe(404);
    expect(answers[0]).toEqual(answers[2]);
    expect(answers[1]).toEqual(answers[2]);
  });

  it("omits the area from the OpenAPI document", async () => {
    const { app } = testEdge();
    const { body } = await app.inject({ url: "/openapi.json" });
    expect(body).not.toMatch(/admin/i);
  });
});

describe("with an admin key", () => {
  it("responds to a request with the key, and forbids caching", async () => {
    const { get, asked } = givenAdmin();
    const answer = await get(RIGHT);
    expect(answer.statusCode).toBe(200);
    expect(answer.json<object[]>()).toMatchObject([{ name: "default" }, { name: "defi" }]);
    expect(asked).toHaveBeenCalled();
    expect(answer.headers["cache-control"]).toBe("no-store");
    // The scheme is case-insensitive (RFC 9110 section 11.1).
    expect((await get({ authorization: `bearer  ${KEY}` })).statusCode).toBe(200);
  });

  it.each([
    {},
    { authorization: "" },
    { authorization: "Bearer" },
    { authorization: "Bearer " },
    { authorization: KEY },
    { authorization: `Basic ${KEY}` },
    { authorization: `Bearer ${KEY}x` },
    { authorization: `Bearer ${KEY.slice(1)}` },
    { authorization: `Bearer ${KEY.toUpperCase()}` },
    { authorization: `Bearer ${KEY} ${KEY}` },
    { "service-app-key": KEY },
    { cookie: `authorization=Bearer ${KEY}` },
  ])("rejects %j", async (headers) => {
    const { get, asked, lines } = givenAdmin();
    const answer = await get(headers);
    expect(answer.statusCode).toBe(401);
    expect(answer.json()).toMatchObject({ status: 401, code: "admin_key_invalid" });
    expect(answer.headers["content-type"]).toBe("application/problem+json");
    expect(answer.headers["www-authenticate"]).toMatch(/^Bearer /);
    expect(asked).not.toHaveBeenCalled();
    expect(answer.body + JSON.stringify(lines)).not.toContain(KEY);
  });

  it("compares keys by digest, in constant time", async () => {
    const compare = vi.spyOn(crypto, "timingSafeEqual");
    syncBuiltinESMExports();
    try {
      const { get } = givenAdmin();
      for (const sent of [KEY, `${KEY.slice(0, -1)}x`, "short"])
        await get({ authorization: `Bearer ${sent}` });
      expect(compare.mock.results.map(({ value }) => value as boolean)).toEqual([true, false, false]);
      for (const compared of compare.mock.calls.flat()) {
        const text = Buffer.from(compared as Uint8Array).toString("latin1");
        expect([text.length, text.includes(KEY.slice(0, 4))]).toEqual([32, false]);
      }
    } finally {
      compare.mockRestore();
      syncBuiltinESMExports();
    }
  });

  it("ignores the key in the query", async () => {
    const { get } = givenAdmin();
    expect((await get({}, { url: `/api/admin/apps?access_token=${KEY}` })).statusCode).toBe(401);
  });

  it("requires it on every path of the area, before any other check", async () => {
    const { app } = givenAdmin();
    const { paths } = (await app.inject({ url: "/openapi.json" })).json() as {
      readonly paths: Record<string, Record<string, { readonly security?: unknown }>>;
    };
    const area = Object.entries(paths).filter(([path]) => path.startsWith("/api/admin"));
    expect(area.length).toBeGreaterThan(10);
    for (const [path, methods] of area) {
      for (const [method, { security }] of Object.entries(methods)) {
        const url = `${path.replace("{id}", "%20")}?limit=x&limit=y`;
        const headers = { "content-type": "text/plain" };
        const { statusCode } = await app.inject({ method: method as "GET", url, headers, payload: "{" });
        expect([method, path, statusCode]).toEqual([method, path, 401]);
        expect(security).toEqual([{ adminKey: [] }]);
      }
    }
    expect((await app.inject({ url: "/api/%61dmin/apps" })).statusCode).toBe(401);
  });

  it.each(["/api/admin/apps", "/api/%61dmin/apps?search=%25", "http://127.0.0.1/api/%61dmin"])(
    "rejects pages of other origins, even those allowed elsewhere, at %s",
    async (url) => {
      const { app } = givenAdmin({ corsOrigins: ["https://app.example.com"] });
      const preflight = await app.inject({
        method: "OPTIONS",
        url,
        headers: {
          origin: "https://app.example.com",
          "access-control-request-method": "GET",
          "access-control-request-headers": "authorization",
        },
      });
      expect(preflight.statusCode).toBe(204);
      expect(String(preflight.headers["access-control-allow-headers"])).not.toMatch(/authorization|\*/i);
      expect(preflight.headers["access-control-allow-credentials"]).toBeUndefined();
    },
  );
});

const SECURITY = join(import.meta.dirname, "../../../../../docs/security.md");
const operationText = ([method, path]: readonly [string, string]) => `${method.toUpperCase()} ${path}`;

describe("keys with scopes", () => {
  const bearing = (key: string) => ({ authorization: `Bearer ${key}` });

  /** Creates a key of an operator who reads, one of an operator who writes, and one of an App. */
  const createKeys = async () => ({
    reader: await edges.key([], ["admin:read"]),
    writer: await edges.key([], ["admin:write"]),
    defi: await edges.key(["defi"]),
  });

  it("open the operations in docs/security.md: `admin:read` only reads, `admin:write` everything", async () => {
    const { app } = givenAdmin();
    const { reader, writer, defi } = await createKeys();
    const { paths } = (await app.inject({ url: "/openapi.json" })).json() as {
      readonly paths: Record<string, Record<string, unknown>>;
    };
    const operations = Object.entries(paths)
      .filter(([path]) => path.startsWith("/api/admin"))
      .flatMap(([path, methods]) => Object.keys(methods).map((method) => [method, path] as const));
    expect(operations.length).toBeGreaterThan(10);
    const reading: string[] = [];
    for (const [method, path] of operations) {
      const send = async (key: string) => {
        const url = `${path.replace("{id}", "%20")}?limit=x&limit=y`;
        const answer = await app.inject({ method: method as "GET", url, headers: bearing(key) });
        return answer.statusCode === 403 ? answer.json<{ code: string }>().code : "admitted";
      };
      expect([await send(writer), await send(defi)]).toEqual(["admitted", "scope_missing"]);
      if ((await send(reader)) === "admitted") reading.push(operationText([method, path]));
    }
    const named = (list: readonly string[]) => list.map((operation) => `\`${operation}\``).join(", ");
    const writing = operations.map(operationText).filter((operation) => !reading.includes(operation));
    const security = await readFile(SECURITY, "utf8");
    expect(security).toContain(`| \`admin:read\` | ${named(reading)} |`);
    expect(security).toContain(`| \`admin:write\` | the same, and ${named(writing)} |`);
  });

  it("are not counted as guesses, even where they do not suffice", async () => {
    const { get } = givenAdmin({ loopback: false });
    const { reader, defi } = await createKeys();
    for (let count = 0; count < 12; count += 1) {
      expect((await get(bearing(reader))).statusCode).toBe(200);
      expect((await get(bearing(defi))).statusCode).toBe(403);
    }
  });

  it("cannot be checked without the store; the admin key can", async () => {
    const { get } = givenAdmin();
    const { reader } = await createKeys();
    edges.intercept((method) => {
      if (method !== "keys.find") return undefined;
      throw new Unavailable(503, "store_unavailable", "The store is away.", 1);
    });
    expect((await get(bearing(reader))).statusCode).toBe(503);
    expect((await get(RIGHT)).statusCode).toBe(200);
  });
});

describe("wrong keys", () => {
  const wrong = { authorization: "Bearer something-else-that-is-long" };

  it("are limited per minute if rate limits apply, after which the right key is refused too", async () => {
    const { get } = givenAdmin({ loopback: false });
    for (let count = 0; count < 10; count += 1) expect((await get(wrong)).statusCode).toBe(401);
    const refused = await get(wrong);
    expect(refused.statusCode).toBe(429);
    expect(refused.json()).toMatchObject({ code: "rate_limited" });
    expect(Number(refused.headers["retry-after"])).toBeLessThanOrEqual(60);
    expect((await get(RIGHT)).statusCode).toBe(429);
    expect((await get(RIGHT, { remoteAddress: "192.0.2.9" })).statusCode).toBe(200);
    await edges.pass(60_000);
    expect((await get(RIGHT)).statusCode).toBe(200);
  });

  it("are logged and counted without the key; those over the limit are only counted", async () => {
    const { get, lines, app } = givenAdmin({ loopback: false });
    const counted = async (): Promise<string[]> => {
      const { body } = await app.inject({ url: "/metrics" });
      return body.split("\n").filter((line) => line.startsWith("colloquy_admin_keys_refused_total"));
    };
    expect(await counted()).toEqual([
      'colloquy_admin_keys_refused_total{reason="wrong"} 0',
      'colloquy_admin_keys_refused_total{reason="limited"} 0',
    ]);
    for (let count = 0; count < 12; count += 1) await get(wrong);
    await get();
    await get(RIGHT, { remoteAddress: "192.0.2.9" });
    expect(await counted()).toEqual([
      'colloquy_admin_keys_refused_total{reason="wrong"} 10',
      'colloquy_admin_keys_refused_total{reason="limited"} 2',
    ]);
    expect(lines).toHaveLength(10);
    expect(lines[0]).toMatchObject({
      level: "warn",
      message: "wrong admin key",
      fields: { address: "127.0.0.1" },
    });
    expect(JSON.stringify(lines)).not.toContain("something-else");
  });

  it("are not counted if the key is missing or right", async () => {
    const { get } = givenAdmin({ loopback: false });
    for (let count = 0; count < 30; count += 1) {
      expect((await get()).statusCode).toBe(401);
      expect((await get(RIGHT)).statusCode).toBe(200);
    }
  });

  it("are limited per client, not per proxy, on a loopback bind behind a proxy", async () => {
    const { get } = givenAdmin({ trustedProxies: ["127.0.0.1"] });
    const from = (address: string, key: object) => get({ ...key, "x-forwarded-for": address });
    for (let count = 0; count < 10; count += 1) {
      // `X-Forwarded-For` lists the client's claims before the address that the proxy saw.
      expect((await from(`10.0.0.${count}, 192.0.2.1`, wrong)).statusCode).toBe(401);
    }
    expect((await from("192.0.2.1", RIGHT)).statusCode).toBe(429);
    expect((await from("192.0.2.2", RIGHT)).statusCode).toBe(200);
  });

  it("are limited on a loopback bind too", async () => {
    const { get } = givenAdmin();
    for (let count = 0; count < 10; count += 1) expect((await get(wrong)).statusCode).toBe(401);
    const refused = await get(wrong);
    expect(refused.statusCode).toBe(429);
    expect(refused.headers).toMatchObject({
      "ratelimit-policy": '"admin-keys";q=10;w=60',
      ratelimit: '"admin-keys";r=0;t=60',
    });
    expect((await get(RIGHT)).statusCode).toBe(429);
  });

  it("are all counted before the first response if sent concurrently", async () => {
    const { get } = givenAdmin();
    const answers = await Promise.all(
      [...Array.from({ length: 30 }, () => wrong), RIGHT].map((key) => get(key)),
    );
    const statuses = answers.map(({ statusCode }) => statusCode);
    expect(statuses).toEqual([...Array<number>(10).fill(401), ...Array<number>(21).fill(429)]);
  });

  describe("on several nodes with a shared count", () => {
    it("are counted across all nodes, in one row per address", async () => {
      const counters = new GatedCounters();
      const { get } = givenAdmin({}, counters);
      expect((await get(wrong)).statusCode).toBe(401);
      expect((await get(RIGHT)).statusCode).toBe(200);
      expect(counters.asked).toEqual(["take admin-keys 127.0.0.1", "peek admin-keys 127.0.0.1"]);
      counters.waitMs = 30_000;
      const refused = await get(RIGHT);
      expect([refused.statusCode, refused.headers["retry-after"]]).toEqual([429, "30"]);
      // The address is over its limit in memory, so it is refused without another count.
      expect((await get(wrong)).statusCode).toBe(429);
      expect(counters.asked).toHaveLength(3);
    });

    it("are counted locally at once, while the shared count is being updated", async () => {
      const counters = new GatedCounters();
      const gate = Promise.withResolvers<void>();
      counters.gate = gate.promise;
      const { get } = givenAdmin({}, counters);
      const guesses = Array.from({ length: 10 }, () => get(wrong));
      await expect.poll(() => counters.asked).toHaveLength(10);
      expect((await get(RIGHT)).statusCode).toBe(429);
      gate.resolve();
      for (const guess of await Promise.all(guesses)) expect(guess.statusCode).toBe(401);
    });

    it("are counted locally while the shared count is unavailable", async () => {
      const counters = new GatedCounters();
      counters.gate = Promise.reject(new Unavailable(503, "store_unavailable", "The store is away.", 1));
      const { get } = givenAdmin({}, counters);
      expect((await get(RIGHT)).statusCode).toBe(200);
      for (let count = 0; count < 10; count += 1) expect((await get(wrong)).statusCode).toBe(401);
      expect((await get(RIGHT)).statusCode).toBe(429);
    });
  });
});
