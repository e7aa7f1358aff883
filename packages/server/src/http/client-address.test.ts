import { randomUUID } from "node:crypto";
import { describe, expect, it } from "vitest";
import { startEdges } from "./testing/edge.ts";

const { testEdge } = await startEdges();

const limits = { chatsPerMinute: 1000, newSessionsPerMinute: 1, streamsPerAddress: 10 };

describe("a forwarded address", () => {
  /**
   * Returns a function that creates a session and returns the status: 429 if the client's address has created
   * one before.
   */
  function beginner() {
    const edge = testEdge({
      loopback: false,
      trustedProxies: ["127.0.0.1", "10.0.0.0/8"],
      rateLimits: limits,
    });
    return async (forwarded: string) => {
      const headers = { "x-forwarded-for": forwarded, "x-session-id": randomUUID() };
      return (await edge.send("POST", "/api/sessions", { headers })).statusCode;
    };
  }

  it("identifies the client if it is an IP address", async () => {
    const begin = beginner();
    expect(await begin("192.0.2.1")).toBe(200);
    expect(await begin("192.0.2.2")).toBe(200);
    expect(await begin("2001:db8::1")).toBe(200);
    expect(await begin("192.0.2.1")).toBe(429);
  });

  it.each(["unknown", "_hidden", "192.0.2.1:4711", "x'y", "1.2.3", "[2001:db8::1]"])(
    "is ignored if it is %s: the proxy's address counts, and no address left of it",
    async (text) => {
      const begin = beginner();
      expect(await begin(text)).toBe(200);
      expect(await begin(`${text}0`)).toBe(429);
      expect(await begin(`192.0.2.9, ${text}`)).toBe(429);
      // A proxy behind the first one set the header, so the first proxy's address counts.
      expect(await begin(`192.0.2.9, ${text}, 10.0.0.5`)).toBe(200);
      expect(await begin(`192.0.2.8, ${text}, 10.0.0.5`)).toBe(429);
    },
  );
});
