import { describe, expect, it } from "vitest";
import { minimise } from "./minimise.ts";

describe("making a failing request short", () => {
  it("keeps what the failure needs and nothing else", async () => {
    const bytes = Buffer.from("GET /api/state?x=1 HTTP/1.1\r\nHost: a\r\nBad: \x00\r\n\r\n");
    const smallest = await minimise(bytes, async (candidate) => candidate.includes("\0"), 1000);
    expect(smallest.toString()).toBe("\0");
  });

  it("asks no more often than it may", async () => {
    let asked = 0;
    await minimise(Buffer.alloc(1000), async () => (asked += 1) < 0, 30);
    expect(asked).toBe(30);
  });
});
