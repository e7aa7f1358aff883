import { describe, expect, it } from "vitest";
import { minimise } from "./minimise.ts";

describe("minimise", () => {
  it("keeps only the bytes that the failure needs", async () => {
    const bytes = Buffer.from("GET /api/state?x=1 HTTP/1.1\r\nHost: a\r\nBad: \x00\r\n\r\n");
    const smallest = await minimise(bytes, async (candidate) => candidate.includes("\0"), 1000);
    expect(smallest.toString()).toBe("\0");
  });

  it("respects the limit of attempts", async () => {
    let asked = 0;
    await minimise(Buffer.alloc(1000), async () => (asked += 1) < 0, 30);
    expect(asked).toBe(30);
  });
});
