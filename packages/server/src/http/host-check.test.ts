import { describe, expect, it } from "vitest";
import { testEdge } from "./testing/edge.ts";

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
  ])("%s is answered", async (host) => {
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
  ])("%s is refused", async (host) => {
    const answer = await ask(host);
    expect(answer.statusCode).toBe(403);
    expect(answer.json()).toMatchObject({ status: 403, code: "host_not_allowed" });
  });

  it("an allowed name is answered, whatever its case and port", async () => {
    expect((await ask("Chat.Example.Test:9000", { allowedHosts: ["chat.example.test"] })).statusCode).toBe(
      200,
    );
    expect((await ask("other.example.test", { allowedHosts: ["chat.example.test"] })).statusCode).toBe(403);
  });

  it("a foreign name is refused again after a good one was remembered", async () => {
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

  it("a path that cannot be decoded opens no door", async () => {
    const answer = await testEdge().send("GET", "/%zz", { headers: { host: "evil.example" } });
    expect(answer.statusCode).toBe(403);
  });
});

describe("on any other bind", () => {
  const beyond = { loopback: false };
  const named = { ...beyond, allowedHosts: ["chat.example.com"] };

  it("answers any host behind a proxy, where none is named", async () => {
    expect((await ask("chat.example.com", beyond)).statusCode).toBe(200);
  });

  it.each([
    ["chat.example.com", 200],
    ["CHAT.example.com:8443", 200],
    ["localhost:8080", 200],
    ["evil.example", 403],
    ["10.0.0.7:8080", 403],
  ])("answers %s with %i where hosts are named", async (host, status) => {
    expect((await ask(host, named)).statusCode).toBe(status);
  });
});

describe("what probes and scrapers ask for", () => {
  it.each(["/healthz", "/readyz", "/metrics", "/healthz?from=probe", "http://10.0.0.7:8080/healthz"])(
    "answers %s by any host",
    async (url) => {
      for (const changes of [{}, { loopback: false, allowedHosts: ["chat.example.com"] }]) {
        const edge = testEdge(changes);
        const answer = await edge.send("GET", url, { headers: { host: "10.0.0.7:8080" } });
        expect(answer.statusCode).toBe(200);
      }
    },
  );

  it("opens nothing else to that host", async () => {
    const edge = testEdge();
    const status = async (url: string) =>
      (await edge.send("GET", url, { headers: { host: "10.0.0.7:8080" } })).statusCode;
    expect(await status("/healthz")).toBe(200);
    for (const url of ["/openapi.json", "/healthz/", "/x?/healthz", "/healthz%00"]) {
      expect(await status(url)).toBe(403);
    }
  });
});
