import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { gzipSync } from "node:zlib";
import { describe, expect, it, onTestFinished } from "vitest";
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

describe("boundFetch on a decompressed response", () => {
  /** Returns the text of a response that holds 64 MB in 64 KB, and never ends. */
  async function textOf(type: string, begin: string, status = 200): Promise<string> {
    const bomb = gzipSync(begin + " ".repeat(64_000_000));
    const server = createServer((_, response) => {
      response.writeHead(status, { "content-type": type, "content-encoding": "gzip" }).write(bomb);
    });
    await once(server.listen(0, "127.0.0.1"), "listening");
    onTestFinished(() => {
      server.closeAllConnections();
      server.close();
    });
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const body = JSON.stringify({ jsonrpc: "2.0", id: 7, method: "tools/call" });
    return await (await boundFetch(fetch)(url, { method: "POST", body })).text();
  }

  it("replaces an oversized message", async () => {
    const text = await textOf("application/json", '{"jsonrpc":"2.0","id":7,"result":{"content":[]}');
    expect(text.length).toBeLessThan(1_000_000);
    expect(JSON.parse(text)).toMatchObject({ id: 7, error: { code: -32098 } });
  });

  it("replaces an oversized event", async () => {
    const text = await textOf("text/event-stream", 'data: {"jsonrpc":"2.0","id":7,"result":{');
    expect(text.length).toBeLessThan(5_000_000);
    expect(text).toMatch(/\nevent: cut\n\ndata: .*-32098/);
  });

  it.each([["text/html", 200] as const, ["application/json", 500] as const])(
    "fails for other bodies: %s with %i",
    async (type, status) => {
      await expect(textOf(type, "", status)).rejects.toThrow("more than 4194304 bytes at once");
    },
  );
});
