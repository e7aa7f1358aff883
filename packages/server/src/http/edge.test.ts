import { describe, expect, it } from "vitest";
import { startEdges } from "./testing/edge.ts";

const { testEdge } = await startEdges();

const LISTED = "https://app.example.com";
const OWN = { loopback: false, allowedHosts: ["chat.example.com"] };

function preflight(origin: string, changes = {}, headers: Record<string, string> = {}) {
  return testEdge(changes).app.inject({
    method: "OPTIONS",
    url: "/api/sessions/a",
    headers: { origin, "access-control-request-method": "PATCH", ...headers },
  });
}

function get(origin: string, changes = {}, host = "localhost") {
  return testEdge(changes).send("GET", "/healthz", { headers: { origin, host } });
}

describe("a page of an allowed origin", () => {
  it("gets an answer to its preflight", async () => {
    const answer = await preflight(LISTED, { corsOrigins: [LISTED] });
    expect(answer.statusCode).toBe(204);
    expect(answer.body).toBe("");
    expect(answer.headers).toMatchObject({
      "access-control-allow-origin": LISTED,
      "access-control-allow-methods": "DELETE, GET, HEAD, PATCH",
      vary: expect.stringContaining("Origin"),
    });
    const allowed = String(answer.headers["access-control-allow-headers"]).toLowerCase().split(", ");
    expect(allowed).toEqual(
      expect.arrayContaining([
        "x-session-id",
        "service-app-key",
        "last-event-id",
        "if-none-match",
        "prefer",
        "idempotency-key",
        "content-type",
      ]),
    );
    expect(answer.headers["x-request-id"]).toBeDefined();
  });

  it("may read answers and the relevant headers", async () => {
    const answer = await get(LISTED, { corsOrigins: [LISTED] });
    expect(answer.headers).toMatchObject({
      "access-control-allow-origin": LISTED,
      "access-control-expose-headers":
        "Accept-Ranges, Content-Disposition, Content-Range, ETag, Link, RateLimit, RateLimit-Policy, Retry-After, WWW-Authenticate, X-Next-Cursor, X-Request-Id",
      "timing-allow-origin": LISTED,
      vary: "Origin",
    });
    expect(answer.headers["access-control-allow-credentials"]).toBeUndefined();
  });

  it("may read problems and snapshots as well", async () => {
    const edge = testEdge({ corsOrigins: [LISTED] });
    for (const url of ["/nowhere", "/%zz", "/api/state", "/api/state?user_state=x"]) {
      const answer = await edge.send("GET", url, { headers: { origin: LISTED } });
      expect([url, answer.headers["access-control-allow-origin"]]).toEqual([url, LISTED]);
    }
  });

  it("may reach a private network on request", async () => {
    const asks = { "access-control-request-private-network": "true" };
    const answer = await preflight(LISTED, { corsOrigins: [LISTED] }, asks);
    expect(answer.headers["access-control-allow-private-network"]).toBe("true");
  });
});

describe("an origin", () => {
  it.each([
    ["its own", "https://chat.example.com", OWN, "chat.example.com"],
    ["its own, with a port", "http://chat.example.com:8080", OWN, "chat.example.com:8080"],
    ["a listed one", LISTED, { loopback: false, corsOrigins: [LISTED] }, "chat.example.com"],
    [
      "any, when any is listed",
      "https://a.test",
      { loopback: false, corsOrigins: ["*"] },
      "chat.example.com",
    ],
    ["localhost on a loopback bind", "http://localhost:5173", {}, "localhost"],
    ["127.0.0.1 on a loopback bind", "http://127.0.0.1:3000", {}, "localhost"],
    ["::1 on a loopback bind", "http://[::1]:3000", {}, "localhost"],
    ["a name below localhost on a loopback bind", "https://ui.localhost", {}, "localhost"],
  ])("is allowed: %s", async (_name, origin, changes, host) => {
    const answer = await get(origin, changes, host);
    expect(answer.headers["access-control-allow-origin"]).toBe(origin);
  });

  it.each([
    ["a foreign one", "https://evil.example", {}],
    ["one that only begins like a listed one", `${LISTED}.evil.example`, { corsOrigins: [LISTED] }],
    ["one that only begins like a loopback one", "http://localhost.evil.example", {}],
    ["the opaque one", "null", {}],
    ["a loopback one beyond a loopback bind", "http://localhost:5173", { loopback: false }],
    ["an extension's", "chrome-extension://localhost", {}],
    ["that of a host that nobody has named", "https://chat.example.com", { loopback: false }],
  ])("is not allowed: %s", async (_name, origin, changes) => {
    const host = "loopback" in changes ? "chat.example.com" : "localhost";
    const answer = await get(origin, changes, host);
    expect(answer.statusCode).toBe(200);
    expect(answer.headers["access-control-allow-origin"]).toBeUndefined();
    expect(answer.headers["vary"]).toBe("Origin");
    const asked = await preflight(origin, changes, { host });
    expect(asked.statusCode).toBe(403);
    expect(asked.json()).toMatchObject({ code: "origin_not_allowed" });
    expect(asked.headers["access-control-allow-origin"]).toBeUndefined();
  });
});

function ask(host: string, changes = {}) {
  return testEdge(changes).send("GET", "/openapi.json", { headers: { host } });
}

describe("on a loopback bind", () => {
  it.each([
    "localhost",
    "localhost:8080",
    "localhost.",
    "localhost.:8080",
    "LOCALHOST",
    "app.localhost:3000",
    "127.0.0.1:8080",
    "127.9.8.7",
    "[::1]:8080",
    "[::1]",
  ])("answers %s", async (host) => {
    expect((await ask(host)).statusCode).toBe(200);
  });

  it.each([
    "evil.example",
    "evil.example:8080",
    "localhost.evil.example",
    "127.0.0.1.evil.example",
    "127.0.0.256",
    "192.168.1.5",
    "[::2]:80",
    "localhost:80:80",
    "localhost..",
    "evil.example.",
    "[::1]evil",
    "a@localhost",
  ])("rejects %s", async (host) => {
    const answer = await ask(host);
    expect(answer.statusCode).toBe(403);
    expect(answer.json()).toMatchObject({ status: 403, code: "host_not_allowed" });
  });

  it("answers an allowed name in any case, with any port", async () => {
    expect((await ask("Chat.Example.Test:9000", { allowedHosts: ["chat.example.test"] })).statusCode).toBe(
      200,
    );
    expect((await ask("other.example.test", { allowedHosts: ["chat.example.test"] })).statusCode).toBe(403);
  });

  it("rejects a foreign name after a valid one was cached", async () => {
    const edge = testEdge();
    for (const [host, status] of [
      ["localhost", 200],
      ["evil.example", 403],
      ["localhost", 200],
      ["evil.example", 403],
    ] as const) {
      expect((await edge.send("GET", "/openapi.json", { headers: { host } })).statusCode).toBe(status);
    }
  });

  it("rejects a path that cannot be decoded", async () => {
    const answer = await testEdge().send("GET", "/%zz", { headers: { host: "evil.example" } });
    expect(answer.statusCode).toBe(403);
  });
});

describe("on any other bind", () => {
  const beyond = { loopback: false };
  const named = { ...beyond, allowedHosts: ["chat.example.com"] };

  it("answers any host behind a proxy if none is configured", async () => {
    expect((await ask("chat.example.com", beyond)).statusCode).toBe(200);
  });

  it.each([
    ["chat.example.com", 200],
    ["CHAT.example.com:8443", 200],
    ["localhost:8080", 200],
    ["evil.example", 403],
    ["10.0.0.7:8080", 403],
  ])("answers %s with %i if hosts are configured", async (host, status) => {
    expect((await ask(host, named)).statusCode).toBe(status);
  });
});

describe("the paths of probes and scrapers", () => {
  it.each(["/healthz", "/readyz", "/metrics", "/healthz?from=probe", "http://10.0.0.7:8080/healthz"])(
    "accept any host: %s",
    async (url) => {
      for (const changes of [{}, { loopback: false, allowedHosts: ["chat.example.com"] }]) {
        const edge = testEdge(changes);
        const answer = await edge.send("GET", url, { headers: { host: "10.0.0.7:8080" } });
        expect(answer.statusCode).toBe(200);
      }
    },
  );

  it("accept such a host for no other path", async () => {
    const edge = testEdge();
    const status = async (url: string) =>
      (await edge.send("GET", url, { headers: { host: "10.0.0.7:8080" } })).statusCode;
    expect(await status("/healthz")).toBe(200);
    for (const url of ["/openapi.json", "/healthz/", "/x?/healthz", "/healthz%00"]) {
      expect(await status(url)).toBe(403);
    }
  });
});
