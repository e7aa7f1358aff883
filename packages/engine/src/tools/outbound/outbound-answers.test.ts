import { deflateSync, gzipSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { ManualClock } from "../../../../server/test/manual-clock.ts";
import { failure, get, useOutbound } from "./testing/outbound-trial.ts";

const { open, startPublic } = useOutbound();

describe("the response of a guarded request", () => {
  it("fails when its body is too large, and closes the connection", async () => {
    const gone = Promise.withResolvers<void>();
    const server = await startPublic((_, response) => {
      response.once("close", () => gone.resolve());
      const flood = (): void => {
        while (response.write(Buffer.alloc(16_384)));
        response.once("drain", flood);
      };
      flood();
    });
    const response = await get(open(), `https://public.test:${server.port}/`, { maxBytes: 100_000 });
    expect(await failure(response.arrayBuffer())).toEqual([
      "too_large",
      `The answer of public.test:${server.port} is larger than 100000 bytes.`,
    ]);
    await gone.promise;
  });

  it("may have exactly the maximum size", async () => {
    const server = await startPublic((_, response) => response.end(Buffer.alloc(1_000)));
    const url = `https://public.test:${server.port}/`;
    const outbound = open();
    const response = await get(outbound, url, { maxBytes: 1_000 });
    expect((await response.arrayBuffer()).byteLength).toBe(1_000);
    const [kind] = await failure((await get(outbound, url, { maxBytes: 999 })).arrayBuffer());
    expect(kind).toBe("too_large");
  });

  it("counts decompressed bytes", async () => {
    const bomb = gzipSync(Buffer.alloc(50_000_000));
    const server = await startPublic((_, response) => {
      response.writeHead(200, { "content-encoding": "gzip", "content-length": bomb.length }).end(bomb);
    });
    const url = `https://public.test:${server.port}/`;
    const response = await get(open(), url);
    expect(bomb.length).toBeLessThan(100_000);
    expect((await failure(response.arrayBuffer()))[0]).toBe("too_large");
  });

  it("fails in an encoding that was not requested, with the reason", async () => {
    const server = await startPublic((_, response) => {
      response.writeHead(200, { "content-encoding": "deflate" }).end(deflateSync("text"));
    });
    const response = await get(open(), `https://public.test:${server.port}/`);
    expect(await failure(response.text())).toEqual([
      "failed",
      `The answer of public.test:${server.port} cannot be read. The response is compressed with "deflate". Let the server use gzip, br or none.`,
    ]);
  });

  it("is decoded, without its content-encoding header", async () => {
    const server = await startPublic((_, response) => {
      response
        .writeHead(200, { "content-encoding": "gzip", "set-cookie": ["a=1", "b=2"] })
        .end(gzipSync("text"));
    });
    const response = await get(open(), `https://public.test:${server.port}/`);
    expect(await response.text()).toBe("text");
    expect(response.headers.get("content-encoding")).toBeNull();
    expect(response.headers.getSetCookie()).toEqual(["a=1", "b=2"]);
  });

  it("may have no body", async () => {
    const server = await startPublic((_, response) => response.writeHead(204).end());
    const clock = new ManualClock();
    const response = await get(open({ clock }), `https://public.test:${server.port}/`);
    expect([response.status, response.body, clock.timers]).toEqual([204, null, 0]);
  });

  it("times out before its headers", async () => {
    const clock = new ManualClock();
    const arrived = Promise.withResolvers<void>();
    const server = await startPublic(() => arrived.resolve());
    const request = failure(get(open({ clock }), `https://public.test:${server.port}/`));
    await arrived.promise;
    await clock.advance(30_000);
    expect(await request).toEqual(["timeout", `public.test:${server.port} did not answer within 30 s.`]);
  });

  it("times out within its body, redirects included", async () => {
    const clock = new ManualClock();
    const server = await startPublic((request, response) => {
      if (request.url === "/") response.writeHead(302, { location: "/slow" }).end();
      else response.write("a");
    });
    const response = await get(open({ clock }), `https://public.test:${server.port}/`);
    const body = failure(response.text());
    await clock.advance(29_999);
    expect(clock.timers).toBe(1);
    await clock.advance(1);
    expect((await body)[0]).toBe("timeout");
  });

  it("leaves no timer, whatever its outcome", async () => {
    const clock = new ManualClock();
    const server = await startPublic();
    const outbound = open({ clock });
    await (await get(outbound, `https://public.test:${server.port}/`)).text();
    await (await get(outbound, `https://public.test:${server.port}/`)).body?.cancel();
    await failure(get(outbound, "https://inside.test/"));
    await failure((await get(outbound, `https://public.test:${server.port}/`, { maxBytes: 1 })).text());
    expect(clock.timers).toBe(0);
  });

  it("fails when the connection breaks", async () => {
    const server = await startPublic((request, response) => {
      if (request.url === "/early") response.destroy();
      else response.writeHead(200, { "content-length": 10 }).write("abc", () => response.destroy());
    });
    const broken = [
      "failed",
      `The connection to public.test:${server.port} broke before the answer was complete.`,
    ];
    const outbound = open();
    expect(await failure(get(outbound, `https://public.test:${server.port}/early`))).toEqual(broken);
    const response = await get(outbound, `https://public.test:${server.port}/late`);
    expect(await failure(response.text())).toEqual(broken);
  });

  it("rejects with the reason of the caller's signal, before the response and within its body", async () => {
    const arrived = Promise.withResolvers<void>();
    const server = await startPublic((request, response) => {
      if (request.url === "/body") response.write("a");
      else arrived.resolve();
    });
    const outbound = open();
    const stop = new AbortController();
    const reason = new Error("The turn is over.");
    const waiting = get(outbound, `https://public.test:${server.port}/`, { signal: stop.signal });
    const response = await get(outbound, `https://public.test:${server.port}/body`, { signal: stop.signal });
    const body = response.text();
    await arrived.promise;
    stop.abort(reason);
    await expect(waiting).rejects.toBe(reason);
    await expect(body).rejects.toBe(reason);
    await expect(get(outbound, "https://public.test/", { signal: stop.signal })).rejects.toBe(reason);
  });
});
