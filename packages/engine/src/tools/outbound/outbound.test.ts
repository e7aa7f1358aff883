import fc from "fast-check";
import { describe, expect, it, vi } from "vitest";
import { ManualClock } from "../../../../server/test/manual-clock.ts";
import { createOutbound } from "./outbound.ts";
import { certificate, failure, get, limits, publicAddress, useOutbound } from "./testing/outbound-trial.ts";

const { asked, closeLater, open, start, startPublic } = useOutbound();

describe("a guarded request", () => {
  it("reaches a public server over https, and verifies its certificate", async () => {
    const server = await startPublic();
    const outbound = open();
    const response = await get(outbound, `https://public.test:${server.port}/a?b=c`);
    expect([response.status, await response.text()]).toEqual([200, "ok"]);
    expect(server.seen[0]).toMatchObject({
      method: "GET",
      url: "/a?b=c",
      headers: { "user-agent": "colloquy" },
    });
    const stranger = open({}, { "stranger.test": [[publicAddress]] });
    const [kind, message] = await failure(get(stranger, `https://stranger.test:${server.port}/`));
    expect(kind).toBe("unreachable");
    expect(message).toMatch(/no secure connection could be made \(ERR_TLS_CERT_ALTNAME_INVALID\)/);
    expect(server.seen).toHaveLength(1);
  });

  it.each([
    ["inside.test", "is this machine itself"],
    ["both.test", "is this machine itself"],
    ["metadata.test", "is a metadata service of a cloud"],
    ["link.test", "is on the local link"],
    ["nat64.test", "is an IPv4 address in another notation"],
    ["mapped.test", "is an IPv4 address in another notation"],
  ])("refuses to connect to %s", async (host, reason) => {
    const server = await start("127.0.0.1", (_, response) => response.end("secret"), certificate);
    expect(await failure(get(open(), `https://${host}:${server.port}/`))).toEqual([
      "refused",
      `The request to ${host} was refused: its address ${reason}.`,
    ]);
    expect(server.connections()).toBe(0);
    expect(asked).toEqual([host]);
  });

  it.each([
    "127.0.0.1",
    "127.1",
    "0x7f.0.0.1",
    "0177.0.0.1",
    "2130706433",
    "0x7f000001",
    "127.0.0.1.",
    "１２７.0.0.1",
    "[::1]",
    "[::ffff:127.0.0.1]",
    "[::ffff:7f00:1]",
    "[::7f00:1]",
    "[64:ff9b::7f00:1]",
    "[2002:7f00:1::]",
    "0.0.0.0",
    "[::]",
    "10.0.0.1",
    "169.254.169.254",
    "[fd00:ec2::254]",
    "100.100.100.200",
  ])("refuses the address %s without resolving it", async (host) => {
    const server = await start("127.0.0.1", (_, response) => response.end("secret"), certificate);
    const [kind] = await failure(get(open(), `https://${host}:${server.port}/`));
    expect([kind, server.connections(), asked]).toEqual(["refused", 0, []]);
  });

  it("refuses every notation of an IPv4 loopback address", async () => {
    const outbound = open();
    const part = fc.integer({ min: 0, max: 255 });
    const base = fc.constantFrom(8, 10, 16);
    await fc.assert(
      fc.asyncProperty(
        part,
        part,
        part,
        base,
        fc.integer({ min: 1, max: 4 }),
        async (b, c, d, radix, parts) => {
          const bytes = [127, b, c, d];
          const tail = bytes.slice(parts - 1).reduce((sum, byte) => sum * 256 + byte, 0);
          const spell = (value: number): string =>
            radix === 16 ? `0x${value.toString(16)}` : radix === 8 ? `0${value.toString(8)}` : String(value);
          const host = [...bytes.slice(0, parts - 1), tail].map(spell).join(".");
          const address = new URL(`https://${host}/`).hostname;
          fc.pre(address !== publicAddress);
          const [kind] = await failure(get(outbound, `https://${host}/`));
          expect(kind).toBe("refused");
        },
      ),
      { numRuns: 100 },
    );
  });

  it.each(["localhost", "LOCALHOST", "localhost.", "a.localhost"])(
    "refuses %s by the address that it resolves to",
    async (host) => {
      const server = await start("127.0.0.1", (_, response) => response.end("secret"), certificate);
      const outbound = closeLater(createOutbound({ clock: new ManualClock() }));
      const [kind] = await failure(get(outbound, `https://${host}:${server.port}/`));
      // Not every resolver knows a.localhost, which is then unreachable.
      expect(["refused", "unreachable"]).toContain(kind);
      expect(server.connections()).toBe(0);
    },
  );

  it.each([
    ["http://public.test/", "only https URLs may be requested"],
    ["ftp://public.test/", "only https URLs may be requested"],
    ["file:///etc/passwd", "only https URLs may be requested"],
    ["data:text/plain,hello", "only https URLs may be requested"],
    ["https://user:word@public.test/", "its URL must not hold a user name or a password"],
    ["https://user@public.test/", "its URL must not hold a user name or a password"],
    ["https://:word@public.test/", "its URL must not hold a user name or a password"],
  ])("refuses %s", async (url, reason) => {
    const [kind, message] = await failure(get(open(), url));
    expect(kind).toBe("refused");
    expect(message).toContain(reason);
    expect(asked).toEqual([]);
  });

  it("refuses an invalid URL", async () => {
    const outbound = open();
    expect(await failure(get(outbound, "https://"))).toEqual([
      "refused",
      "The request was refused: its URL is not valid.",
    ]);
    expect((await failure(get(outbound, "/relative")))[0]).toBe("refused");
  });

  it("connects to the checked address, even if the name resolves differently the next time", async () => {
    const good = await startPublic();
    const rebound: Record<string, string[][]> = { "public.test": [[publicAddress], ["127.0.0.1"]] };
    const bad = await start("127.0.0.1", (_, response) => response.end("secret"), certificate);
    const outbound = open({}, rebound);
    expect(await (await get(outbound, `https://public.test:${good.port}/`)).text()).toBe("ok");
    expect(asked).toEqual(["public.test"]);
    // A new connection resolves and checks again.
    expect((await failure(get(outbound, `https://public.test:${bad.port}/`)))[0]).toBe("refused");
    expect([asked.length, bad.connections()]).toEqual([2, 0]);
  });

  it("distinguishes an unknown name, a name without addresses and a refused connection", async () => {
    const server = await startPublic();
    const outbound = open();
    await server.stop();
    expect(await failure(get(outbound, "https://unknown.test/"))).toEqual([
      "unreachable",
      "unknown.test cannot be reached: there is no such host.",
    ]);
    expect(await failure(get(outbound, "https://nowhere.test/"))).toEqual([
      "unreachable",
      "nowhere.test cannot be reached: it has no address.",
    ]);
    expect(await failure(get(outbound, `https://public.test:${server.port}/`))).toEqual([
      "unreachable",
      `public.test:${server.port} cannot be reached: nothing answers there.`,
    ]);
  });

  it("ignores the proxy environment variables", async () => {
    const proxy = await start("127.0.0.1", (_, response) => response.end("proxy"));
    const server = await startPublic();
    const address = `http://127.0.0.1:${proxy.port}`;
    vi.stubEnv("NODE_USE_ENV_PROXY", "1");
    vi.stubEnv("HTTPS_PROXY", address);
    vi.stubEnv("https_proxy", address);
    vi.stubEnv("NO_PROXY", "");
    try {
      expect(await (await get(open(), `https://public.test:${server.port}/`)).text()).toBe("ok");
    } finally {
      vi.unstubAllEnvs();
    }
    expect(proxy.connections()).toBe(0);
  });

  it("sets connection headers itself, and does not quote an invalid header", async () => {
    const server = await startPublic();
    const outbound = open();
    const url = `https://public.test:${server.port}/`;
    const headers = {
      host: "inside.test",
      connection: "upgrade",
      "transfer-encoding": "chunked",
      "x-own": "1",
    };
    await (await outbound.guardedFetch(url, { method: "POST", body: "text", headers }, limits())).text();
    expect(server.seen[0]?.headers).toMatchObject({
      host: `public.test:${server.port}`,
      "content-length": "4",
      "x-own": "1",
    });
    expect(server.seen[0]?.headers["transfer-encoding"]).toBeUndefined();
    const bad = outbound.guardedFetch(url, { headers: { "x-key": "very\nsecret" } }, limits());
    const [kind, message] = await failure(bad);
    expect([kind, message.includes("secret")]).toEqual(["refused", false]);
  });

  it("sends text as its body", async () => {
    const server = await startPublic();
    const init = { method: "POST", body: "text" };
    await (await open().guardedFetch(`https://public.test:${server.port}/`, init, limits())).text();
    expect(server.seen.map(({ body }) => body)).toEqual(["text"]);
  });

  it("fails when the guard is closed, before and after it was sent", async () => {
    const arrived = Promise.withResolvers<void>();
    const gone = Promise.withResolvers<void>();
    const server = await startPublic((request) => {
      request.socket.once("close", () => gone.resolve());
      arrived.resolve();
    });
    const outbound = open();
    const url = `https://public.test:${server.port}/`;
    const waiting = failure(get(outbound, url));
    await arrived.promise;
    await outbound.close();
    await gone.promise;
    expect((await waiting)[0]).toBe("failed");
    expect((await failure(get(outbound, url)))[0]).toBe("failed");
    const unused = open();
    await unused.close();
    expect((await failure(get(unused, url)))[0]).toBe("failed");
    expect(server.seen).toHaveLength(1);
  });
});

describe("a request to a server that the operator has configured", () => {
  it("may use private addresses and http, for its origin only", async () => {
    const server = await start("127.0.0.1", (_, response) => response.end("inside"));
    const other = await start("127.0.0.1", (_, response) => response.end("other"));
    const outbound = open();
    const allowPrivate = `http://inside.test:${server.port}/v1`;
    expect(await (await get(outbound, `http://inside.test:${server.port}/x`, { allowPrivate })).text()).toBe(
      "inside",
    );
    for (const url of [
      `http://inside.test:${other.port}/`,
      `http://127.0.0.1:${server.port}/`,
      `https://inside.test:${server.port}/`,
    ]) {
      expect((await failure(get(outbound, url, { allowPrivate })))[0]).toBe("refused");
    }
    expect(other.connections()).toBe(0);
  });

  it("may use an IP address as its origin", async () => {
    const server = await start("127.0.0.1", (_, response) => response.end("inside"));
    const allowPrivate = `http://127.0.0.1:${server.port}`;
    const response = await get(open(), `http://127.0.0.1:${server.port}/`, { allowPrivate });
    expect(await response.text()).toBe("inside");
  });

  it("requires https for a public address", async () => {
    const server = await start(publicAddress, (_, response) => response.end("plain"));
    const url = `http://public.test:${server.port}/`;
    expect(await failure(get(open(), url, { allowPrivate: url }))).toEqual([
      "refused",
      "The request to public.test was refused: its address is public, and requests to it need https.",
    ]);
    expect(server.connections()).toBe(0);
  });

  it.each(["metadata.test", "link.test", "169.254.169.254", "[fd00:ec2::254]"])(
    "refuses %s even if it is configured",
    async (host) => {
      for (const scheme of ["http", "https"]) {
        const url = `${scheme}://${host}/`;
        expect((await failure(get(open(), url, { allowPrivate: url })))[0]).toBe("refused");
      }
    },
  );

  it("does not share connections with other requests", async () => {
    const server = await start("127.0.0.1", (_, response) => response.end("inside"), certificate);
    const url = `https://secure.test:${server.port}/`;
    const outbound = open({}, { "secure.test": [["127.0.0.1"]] });
    expect(await (await get(outbound, url, { allowPrivate: url })).text()).toBe("inside");
    expect((await failure(get(outbound, url)))[0]).toBe("refused");
    expect(server.seen).toHaveLength(1);
  });
});
