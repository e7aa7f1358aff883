import { describe, expect, it } from "vitest";
import { testEdge } from "./testing/edge.ts";

function ask(host: string, changes = {}) {
  return testEdge(changes).send("GET", "/healthz", { headers: { host } });
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
      expect((await edge.send("GET", "/healthz", { headers: { host } })).statusCode).toBe(status);
    }
  });

  it("a path that cannot be decoded opens no door", async () => {
    const answer = await testEdge().send("GET", "/%zz", { headers: { host: "evil.example" } });
    expect(answer.statusCode).toBe(403);
  });
});

describe("on any other bind", () => {
  it("every name is answered", async () => {
    expect((await ask("chat.example.com", { loopback: false })).statusCode).toBe(200);
  });
});
