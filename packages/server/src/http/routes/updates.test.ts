import { describe, expect, it } from "vitest";
import { acceptQuality } from "./updates.ts";

describe("Accept", () => {
  it.each([
    ["text/event-stream", 1],
    ["TEXT/Event-Stream", 1],
    ["text/event-stream;q=0.5", 0.5],
    ["text/event-stream; charset=utf-8", 1],
    ["text/*", 1],
    ["*/*", 1],
    ["application/json, */*;q=0.1", 0.1],
    ["application/json", 0],
    ["text/event-stream;q=0", 0],
    ["text/event-stream;q=0.000, */*", 0],
    ["text/*;q=0, */*", 0],
    ["*/*;q=0", 0],
    ["*/*;q=0, text/event-stream", 1],
    ["text/html, application/json;q=0.9", 0],
    ["text/event-stream;q=nonsense", 0],
    ["nonsense", 0],
  ])("%j accepts an event stream with %d", (header, quality) => {
    expect(acceptQuality(header, "text/event-stream")).toBe(quality);
  });
});
