import { gzipSync } from "node:zlib";
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { ManualClock } from "../../../test/manual-clock.ts";
import { addressKind } from "./address-kind.ts";
import { createOutbound, type Outbound, type OutboundOptions, type OutboundParts } from "./outbound.ts";
import { OutboundError, type OutboundFailure } from "./outbound-error.ts";
import { createTestCertificate } from "./testing/test-certificate.ts";
import { secondAddress, startTestServer, type TestServer } from "./testing/test-servers.ts";

const publicAddress = await secondAddress();
const certificate = createTestCertificate(["public.test", "other.test", "secure.test"]);

/** What the names of these tests resolve to; a list is answered one after the other, its last one for good. */
const defaultNames: Readonly<Record<string, readonly (readonly string[])[]>> = {
  "public.test": [[publicAddress]],
  "other.test": [[publicAddress]],
  "inside.test": [["127.0.0.1"]],
  "both.test": [[publicAddress, "127.0.0.1"]],
  "metadata.test": [["169.254.169.254"]],
  "link.test": [["fe80::1"]],
  "nat64.test": [["64:ff9b::7f00:1"]],
  "mapped.test": [["::ffff:127.0.0.1"]],
  "nowhere.test": [[]],
};

let servers: TestServer[];
let outbounds: Outbound[];
let asked: string[];

beforeEach(() => {
  servers = [];
  outbounds = [];
  asked = [];
});

afterEach(async () => {
  await Promise.all(outbounds.map((outbound) => outbound.close()));
  await Promise.all(servers.map((server) => server.stop()));
});

async function start(...parts: Parameters<typeof startTestServer>): Promise<TestServer> {
  const server = await startTestServer(...parts);
  servers.push(server);
  return server;
}

function open(parts: Partial<OutboundParts> = {}, names = defaultNames): Outbound {
  const left = new Map(Object.entries(names).map(([name, answers]) => [name, [...answers]]));
  const outbound = createOutbound({
    clock: new ManualClock(),
    resolve: async (hostname) => {
      asked.push(hostname);
      const answers = left.get(hostname);
      if (answers === undefined) throw Object.assign(new Error("unknown"), { code: "ENOTFOUND" });
      return (answers.length > 1 ? answers.shift() : answers[0]) ?? [];
    },
    kindOf: (address) => (address === publicAddress ? "public" : addressKind(address)),
    certificates: [certificate.cert],
    ...parts,
  });
  outbounds.push(outbound);
  return outbound;
}

const limits = (of: Partial<OutboundOptions> = {}): OutboundOptions => ({
  allowPrivate: false,
  maxBytes: 1_000_000,
  timeoutMs: 30_000,
  signal: new AbortController().signal,
  ...of,
});

function get(outbound: Outbound, url: string, of: Partial<OutboundOptions> = {}): Promise<Response> {
  return outbound.guardedFetch(url, {}, limits(of));
}

async function failure(request: Promise<unknown>): Promise<[OutboundFailure, string]> {
  const error = await request.then(
    () => new Error("The request was answered."),
    (reason: unknown) => reason,
  );
  if (!(error instanceof OutboundError)) throw error;
  return [error.kind, error.message];
}

/** A public server, encrypted, that answers `ok`. */
const startPublic = (answer: Parameters<typeof startTestServer>[1] = (_, response) => response.end("ok")) =>
  start(publicAddress, answer, certificate);

describe("a guarded request", () => {
  it("reaches a public server with https, whose name its certificate must have", async () => {
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
    ["metadata.test", "belongs to the machinery of a cloud"],
    ["link.test", "is on the local link"],
    ["nat64.test", "is an IPv4 address in another spelling"],
    ["mapped.test", "is an IPv4 address in another spelling"],
  ])("to %s is refused before anything connects", async (host, reason) => {
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
  ])("to the address %s is refused, and nothing is resolved", async (host) => {
    const server = await start("127.0.0.1", (_, response) => response.end("secret"), certificate);
    const [kind] = await failure(get(open(), `https://${host}:${server.port}/`));
    expect([kind, server.connections(), asked]).toEqual(["refused", 0, []]);
  });

  it("is refused for every spelling of an IPv4 address of this machine", async () => {
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
    "to %s is refused by what it resolves to",
    async (host) => {
      const server = await start("127.0.0.1", (_, response) => response.end("secret"), certificate);
      const outbound = createOutbound({ clock: new ManualClock() });
      outbounds.push(outbound);
      const [kind] = await failure(get(outbound, `https://${host}:${server.port}/`));
      // Not every resolver knows a.localhost: then there is nowhere to go.
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
  ])("for %s is refused", async (url, reason) => {
    const [kind, message] = await failure(get(open(), url));
    expect(kind).toBe("refused");
    expect(message).toContain(reason);
    expect(asked).toEqual([]);
  });

  it("without a valid URL is refused", async () => {
    const outbound = open();
    expect(await failure(get(outbound, "https://"))).toEqual([
      "refused",
      "The request was refused: its URL is not valid.",
    ]);
    expect((await failure(get(outbound, "/relative")))[0]).toBe("refused");
  });

  it("goes to the address that was checked, however the name resolves the next time", async () => {
    const good = await startPublic();
    const rebound: Record<string, string[][]> = { "public.test": [[publicAddress], ["127.0.0.1"]] };
    const bad = await start("127.0.0.1", (_, response) => response.end("secret"), certificate);
    const outbound = open({}, rebound);
    expect(await (await get(outbound, `https://public.test:${good.port}/`)).text()).toBe("ok");
    expect(asked).toEqual(["public.test"]);
    // Another connection is another resolution, and another check.
    expect((await failure(get(outbound, `https://public.test:${bad.port}/`)))[0]).toBe("refused");
    expect([asked.length, bad.connections()]).toEqual([2, 0]);
  });

  it("says that a name does not exist, has no address, and that nothing answers", async () => {
    const server = await startPublic();
    const outbound = open();
    await server.stop();
    servers = [];
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

  it("is not sent through a proxy of the environment", async () => {
    const proxy = await start("127.0.0.1", (_, response) => response.end("proxy"));
    const server = await startPublic();
    const before = { ...process.env };
    const address = `http://127.0.0.1:${proxy.port}`;
    Object.assign(process.env, {
      NODE_USE_ENV_PROXY: "1",
      HTTPS_PROXY: address,
      https_proxy: address,
      NO_PROXY: "",
    });
    try {
      expect(await (await get(open(), `https://public.test:${server.port}/`)).text()).toBe("ok");
    } finally {
      process.env = before;
    }
    expect(proxy.connections()).toBe(0);
  });

  it("sets the headers of the connection itself, and does not quote a header that cannot be sent", async () => {
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

  it("takes text, bytes and form fields as its body, and no stream", async () => {
    const server = await startPublic();
    const outbound = open();
    const url = `https://public.test:${server.port}/`;
    for (const body of ["text", new TextEncoder().encode("bytes"), new URLSearchParams({ a: "b c" })]) {
      await (await outbound.guardedFetch(url, { method: "POST", body }, limits())).text();
    }
    expect(server.seen.map(({ body }) => body)).toEqual(["text", "bytes", "a=b+c"]);
    expect(server.seen[2]?.headers["content-type"]).toMatch(/^application\/x-www-form-urlencoded/);
    const stream = outbound.guardedFetch(url, { method: "POST", body: new ReadableStream() }, limits());
    await expect(stream).rejects.toThrow(TypeError);
  });
});

describe("a request to a server that the operator has configured", () => {
  it("may go to this machine and a private network without https, and to its origin alone", async () => {
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

  it("may name several origins, and addresses", async () => {
    const server = await start("127.0.0.1", (_, response) => response.end("inside"));
    const allowPrivate = ["https://public.test", `http://127.0.0.1:${server.port}`];
    const response = await get(open(), `http://127.0.0.1:${server.port}/`, { allowPrivate });
    expect(await response.text()).toBe("inside");
  });

  it("is refused without https where the address is public", async () => {
    const server = await start(publicAddress, (_, response) => response.end("plain"));
    const url = `http://public.test:${server.port}/`;
    expect(await failure(get(open(), url, { allowPrivate: url }))).toEqual([
      "refused",
      "The request to public.test was refused: its address is public, and requests to it need https.",
    ]);
    expect(server.connections()).toBe(0);
  });

  it.each(["metadata.test", "link.test", "169.254.169.254", "[fd00:ec2::254]"])(
    "is refused when it is %s all the same",
    async (host) => {
      for (const scheme of ["http", "https"]) {
        const url = `${scheme}://${host}/`;
        expect((await failure(get(open(), url, { allowPrivate: url })))[0]).toBe("refused");
      }
    },
  );

  it("does not share its connections with requests that may not go there", async () => {
    const server = await start("127.0.0.1", (_, response) => response.end("inside"), certificate);
    const url = `https://secure.test:${server.port}/`;
    const outbound = open({}, { "secure.test": [["127.0.0.1"]] });
    expect(await (await get(outbound, url, { allowPrivate: url })).text()).toBe("inside");
    expect((await failure(get(outbound, url)))[0]).toBe("refused");
    expect(server.seen).toHaveLength(1);
  });
});

describe("a redirect", () => {
  it("is followed three times, and no further", async () => {
    const server = await startPublic((request, response) => {
      const left = Number(request.url?.slice(1));
      if (left === 0) response.end("there");
      else response.writeHead(302, { location: `/${left - 1}` }).end("moved");
    });
    const outbound = open();
    expect(await (await get(outbound, `https://public.test:${server.port}/3`)).text()).toBe("there");
    expect(await failure(get(outbound, `https://public.test:${server.port}/4`))).toEqual([
      "refused",
      `The request was refused: public.test:${server.port} redirects it more than 3 times.`,
    ]);
    expect(server.seen).toHaveLength(8);
  });

  it.each([
    "https://inside.test:PORT/",
    "https://127.0.0.1:PORT/",
    "https://[::ffff:127.0.0.1]:PORT/",
    "https://2130706433:PORT/",
    "http://inside.test:PORT/",
    "https://user:word@public.test/",
    "file:///etc/passwd",
    "//inside.test:PORT/",
  ])("to %s is refused", async (location) => {
    const inside = await start("127.0.0.1", (_, response) => response.end("secret"), certificate);
    const server = await startPublic((_, response) => {
      response.writeHead(307, { location: location.replace("PORT", String(inside.port)) }).end();
    });
    const [kind] = await failure(get(open(), `https://public.test:${server.port}/`));
    expect([kind, inside.connections()]).toEqual(["refused", 0]);
  });

  it("of a configured server to another private one is refused", async () => {
    const inside = await start("127.0.0.1", (_, response) => response.end("secret"));
    const server = await start("127.0.0.1", (_, response) => {
      response.writeHead(302, { location: `http://inside.test:${inside.port}/` }).end();
    });
    const url = `http://inside.test:${server.port}/`;
    const [kind] = await failure(get(open(), url, { allowPrivate: url }));
    expect([kind, inside.connections()]).toEqual(["refused", 0]);
  });

  it("takes keys along within an origin, and to another origin nothing that may hold one", async () => {
    const other = await startPublic();
    const server = await startPublic((request, response) => {
      const location = request.url === "/1" ? "/2" : `https://other.test:${other.port}/`;
      response.writeHead(307, { location }).end();
    });
    const headers = {
      authorization: "Bearer one",
      cookie: "session=two",
      "x-api-key": "three",
      accept: "application/json",
      "content-type": "text/plain",
    };
    const init = { method: "POST", body: "text", headers };
    await (await open().guardedFetch(`https://public.test:${server.port}/1`, init, limits())).text();
    expect(server.seen.map((request) => request.headers)).toMatchObject([headers, headers]);
    expect(other.seen).toMatchObject([
      { method: "POST", body: "text", headers: { accept: "application/json", "content-type": "text/plain" } },
    ]);
    for (const name of ["authorization", "cookie", "x-api-key"]) {
      expect(other.seen[0]?.headers).not.toHaveProperty(name);
    }
  });

  it.each([
    [301, "POST", "GET"],
    [302, "POST", "GET"],
    [303, "POST", "GET"],
    [303, "PUT", "GET"],
    [303, "HEAD", "HEAD"],
    [301, "PUT", "PUT"],
    [302, "DELETE", "DELETE"],
    [307, "POST", "POST"],
    [308, "PATCH", "PATCH"],
  ])("with %i makes of %s a %s, as fetch does", async (status, method, then) => {
    const server = await startPublic((request, response) => {
      if (request.url === "/") response.writeHead(status, { location: "/end" }).end();
      else response.end();
    });
    const body = method === "HEAD" ? null : "text";
    const init = { method, body, headers: { "content-type": "text/plain" } };
    await (await open().guardedFetch(`https://public.test:${server.port}/`, init, limits())).text();
    const end = server.seen[1];
    expect([end?.method, end?.body]).toEqual([then, then === "GET" || then === "HEAD" ? "" : "text"]);
    if (then === "GET") expect(end?.headers).not.toHaveProperty("content-type");
  });

  it("without a place to go is the answer", async () => {
    const server = await startPublic((_, response) => response.writeHead(302).end("nowhere"));
    const response = await get(open(), `https://public.test:${server.port}/`);
    expect([response.status, await response.text()]).toEqual([302, "nowhere"]);
  });
});

describe("the answer of a guarded request", () => {
  it("ends with an error when its body is larger than allowed, and the connection with it", async () => {
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

  it("may have exactly as many bytes as are allowed", async () => {
    const server = await startPublic((_, response) => response.end(Buffer.alloc(1_000)));
    const url = `https://public.test:${server.port}/`;
    const outbound = open();
    const response = await get(outbound, url, { maxBytes: 1_000 });
    expect((await response.arrayBuffer()).byteLength).toBe(1_000);
    const [kind] = await failure((await get(outbound, url, { maxBytes: 999 })).arrayBuffer());
    expect(kind).toBe("too_large");
  });

  it("is counted decompressed", async () => {
    const bomb = gzipSync(Buffer.alloc(50_000_000));
    const server = await startPublic((_, response) => {
      response.writeHead(200, { "content-encoding": "gzip", "content-length": bomb.length }).end(bomb);
    });
    const url = `https://public.test:${server.port}/`;
    const response = await get(open(), url);
    expect(bomb.length).toBeLessThan(100_000);
    expect((await failure(response.arrayBuffer()))[0]).toBe("too_large");
  });

  it("is decoded, and says so", async () => {
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

  it("must begin within the time", async () => {
    const clock = new ManualClock();
    const arrived = Promise.withResolvers<void>();
    const server = await startPublic(() => arrived.resolve());
    const request = failure(get(open({ clock }), `https://public.test:${server.port}/`));
    await arrived.promise;
    await clock.advance(30_000);
    expect(await request).toEqual(["timeout", `public.test:${server.port} did not answer within 30 s.`]);
  });

  it("must end within the time, redirects included", async () => {
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

  it("may take for ever where that is wanted", async () => {
    const clock = new ManualClock();
    const server = await startPublic();
    const response = await get(open({ clock }), `https://public.test:${server.port}/`, {
      timeoutMs: Infinity,
    });
    expect([clock.timers, await response.text()]).toEqual([0, "ok"]);
  });

  it("leaves no timer behind, however it ends", async () => {
    const clock = new ManualClock();
    const server = await startPublic();
    const outbound = open({ clock });
    await (await get(outbound, `https://public.test:${server.port}/`)).text();
    await (await get(outbound, `https://public.test:${server.port}/`)).body?.cancel();
    await failure(get(outbound, "https://inside.test/"));
    await failure((await get(outbound, `https://public.test:${server.port}/`, { maxBytes: 1 })).text());
    expect(clock.timers).toBe(0);
  });

  it("that breaks off is an error", async () => {
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

  it("is no longer waited for when the caller's signal says so, before the answer and within it", async () => {
    const arrived = Promise.withResolvers<void>();
    const server = await startPublic((request, response) => {
      if (request.url === "/body") response.write("a");
      else arrived.resolve();
    });
    const outbound = open();
    const stop = new AbortController();
    const reason = new Error("The turn is over.");
    const waiting = get(outbound, `https://public.test:${server.port}/`, { signal: stop.signal });
    const init = { signal: stop.signal };
    const body = (
      await outbound.guardedFetch(`https://public.test:${server.port}/body`, init, limits())
    ).text();
    await arrived.promise;
    stop.abort(reason);
    await expect(waiting).rejects.toBe(reason);
    await expect(body).rejects.toBe(reason);
    await expect(get(outbound, "https://public.test/", { signal: stop.signal })).rejects.toBe(reason);
  });
});
