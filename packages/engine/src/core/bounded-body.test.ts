import { once } from "node:events";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { brotliCompressSync, deflateSync, gzipSync, zstdCompressSync } from "node:zlib";
import { describe, expect, it, onTestFinished } from "vitest";
import { boundBody, boundResponses } from "./bounded-body.ts";

const LIMIT = 1_024 * 1_024;
/** Decompresses to 256 times the limit. */
const ZEROS = Buffer.alloc(256 * LIMIT);

async function serve(answer: RequestListener): Promise<string> {
  const server = createServer(answer);
  await once(server.listen(0, "127.0.0.1"), "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const bounded = (maxBytes = LIMIT) =>
  boundResponses(fetch, () => ({ maxBytes, tooLarge: () => new Error("too large") }));

describe("a bounded body", () => {
  it.each([
    ["gzip", gzipSync(ZEROS)],
    ["br", brotliCompressSync(ZEROS.subarray(0, 64 * LIMIT))],
    ["gzip, gzip", gzipSync(gzipSync(ZEROS))],
    ["identity", ZEROS.subarray(0, 32 * LIMIT)],
  ])(
    "delivers at most its limit of a bomb, in small pieces, and closes the connection: %s",
    async (encoding, bomb) => {
      const closed = Promise.withResolvers<void>();
      const url = await serve((_, response) => {
        response.once("close", () => closed.resolve());
        response.writeHead(200, { "content-encoding": encoding });
        // Never ends, so that only the client closes it.
        response.write(bomb);
      });
      const { body } = await bounded()(url);
      const sizes: number[] = [];
      const read = async (): Promise<void> => {
        for await (const part of body ?? []) sizes.push(part.byteLength);
      };
      await expect(read()).rejects.toThrow("too large");
      expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThanOrEqual(LIMIT);
      expect(Math.max(...sizes)).toBeLessThanOrEqual(65_536);
      await closed.promise;
    },
  );

  it("takes nothing from its source before it is read, and no more than its limit and one piece", async () => {
    let taken = 0;
    const endless = new ReadableStream(
      {
        pull: (controller) => {
          taken += 1_000;
          controller.enqueue(new Uint8Array(1_000));
        },
      },
      { highWaterMark: 0 },
    );
    const body = boundBody(
      { body: endless, headers: new Headers() },
      { maxBytes: 10_000, tooLarge: () => new Error("too large") },
    );
    await new Promise(setImmediate);
    expect(taken).toBe(0);
    await expect(new Response(body).text()).rejects.toThrow("too large");
    expect(taken).toBe(11_000);
  });

  it("may have exactly the maximum size, and is decoded", async () => {
    const url = await serve((_, response) => {
      response.writeHead(200, { "content-encoding": "gzip" }).end(gzipSync("x".repeat(1_000)));
    });
    const response = await bounded(1_000)(url);
    expect(await response.text()).toHaveLength(1_000);
    expect([response.url, response.headers.get("content-encoding")]).toEqual([`${url}/`, null]);
    await expect((await bounded(999)(url)).text()).rejects.toThrow("too large");
  });

  it.each([
    ["deflate", deflateSync("text")],
    ["gzip, Deflate", deflateSync(gzipSync("text"))],
    ["zstd", zstdCompressSync("text")],
  ])("is refused in an encoding that was not requested: %s", async (encoding, text) => {
    const accepted: unknown[] = [];
    const url = await serve((request, response) => {
      accepted.push(request.headers["accept-encoding"]);
      response.writeHead(200, { "content-encoding": encoding }).end(text);
    });
    const response = await bounded()(url, { headers: { "accept-encoding": "deflate" } });
    await expect(response.text()).rejects.toThrow(`compressed with "${encoding.toLowerCase()}"`);
    expect(accepted).toEqual(["gzip, br"]);
  });

  it("may be absent", async () => {
    const url = await serve((_, response) => response.writeHead(204).end());
    expect((await bounded()(url)).body).toBeNull();
  });
});
