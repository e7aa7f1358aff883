import { describe, expect, it } from "vitest";
import { boundFetch } from "./bounded-fetch.ts";

/**
 * Returns the events of a stream that is not the response to one request, as with the HTTP+SSE transport of
 * 2024.
 */
async function eventsOf(chunks: Iterable<string>): Promise<readonly string[]> {
  const body = ReadableStream.from(Array.from(chunks, (chunk) => Buffer.from(chunk)));
  const headers = { "content-type": "text/event-stream" };
  const fetched = await boundFetch(() => Promise.resolve(new Response(body, { headers })))("http://x.test");
  return (await fetched.text())
    .split("\n\n")
    .filter((event) => event !== "" && !event.includes("event: cut"));
}

const LARGE = "x".repeat(5_000_000);
const answerTo = (id: number, text: string): string =>
  `data: ${JSON.stringify({ jsonrpc: "2.0", id, result: { content: [{ type: "text", text }] } })}`;
const CUT = /^data: \{"jsonrpc":"2\.0","id":2,"error":\{"code":-32098,"message":"The answer is larger/;

describe("boundFetch on a stream with responses to many requests", () => {
  it.each([
    ["in parts", [`${answerTo(1, "one")}\n\n`, answerTo(2, LARGE), "\n\n", answerTo(3, "three"), "\n\n"]],
    [
      "cut in the end of an event",
      [answerTo(1, "one"), "\n\n", answerTo(2, LARGE), "\n", `\n${answerTo(3, "three")}\n`, "\n"],
    ],
  ])("continues after an oversized response, sent %s", async (_case, chunks) => {
    const events = await eventsOf(chunks);
    expect(events).toEqual([answerTo(1, "one"), expect.stringMatching(CUT), answerTo(3, "three")]);
  });

  it("fails if the oversized response has no readable id, or does not end", async () => {
    await expect(eventsOf([`data: {"result":"${LARGE}`])).rejects.toThrow("more than 4194304 bytes at once");
    const endless = Array.from({ length: 16 }, () => LARGE);
    await expect(eventsOf([answerTo(2, LARGE), ...endless])).rejects.toThrow(
      "more than 4194304 bytes at once",
    );
  });
});
