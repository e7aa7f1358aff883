// Rate limits of a public service, and the header fields that report them (contract section 6).

import { randomUUID } from "node:crypto";
import { connect, type Socket, type AddressInfo } from "node:net";
import { once } from "node:events";
import { afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { chatBytes } from "@colloquy/engine/internal/core/written-bytes";
import { addressKey } from "./client-address.ts";
import { OPERATIONS } from "./testing/operations.ts";
import { createSession, type EdgeChanges, keyed, startEdges, type TestEdge } from "./testing/edge.ts";
import { expectProblem } from "./testing/expect-problem.ts";

const PUBLIC = { loopback: false };
const edges = await startEdges({ apps: { defi: {} } });
/** A service whose Apps have limits of their own. */
const limited = await startEdges({
  apps: {
    frugal: { rateLimits: { chatsPerMinute: 1 } },
    busy: { rateLimits: { chatsPerMinute: 2 } },
    small: { rateLimits: { appWrittenBytesPerMinute: 7 } },
  },
});
const { testEdge } = edges;

/** Returns the remaining requests of each budget in the header field, by name. */
function leftIn(ratelimit: unknown): Record<string, number> {
  const items = String(ratelimit).matchAll(/"([a-z-]+)";r=(\d+);t=\d+/g);
  return Object.fromEntries([...items].map(([, name = "", left]) => [name, Number(left)]));
}

describe("the rate limit key of an address", () => {
  it.each([
    [undefined, ""],
    ["192.0.2.7", "192.0.2.7"],
    ["::ffff:192.0.2.7", "192.0.2.7"],
    ["2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"],
    ["2001:db8:1:2::9", "2001:db8:1:2::/64"],
    ["2001:db8::1", "2001:db8:0:0::/64"],
    ["::1", "0:0:0:0::/64"],
    ["fe80::1%eth0", "fe80:0:0:0::/64"],
    ["fe80::1%eth0.100", "fe80:0:0:0::/64"],
    ["fe80::1%br-4f2a", "fe80:0:0:0::/64"],
  ])("for %s is %s", (address, key) => {
    expect(addressKey(address)).toBe(key);
  });
});

describe("reads", () => {
  it("allow 50 tabs on one address to poll one session twice a second", async () => {
    const edge = testEdge(PUBLIC);
    const url = `/api/state?user_state=${encodeURIComponent('{"evm":{"chain_id":1}}')}`;
    const headers = { "x-session-id": edge.session };
    const statuses = new Set<number>();
    for (let tick = 0; tick < 2 * 65; tick += 1) {
      for (let tab = 0; tab < 50; tab += 1)
        statuses.add((await edge.app.inject({ url, headers })).statusCode);
      await edges.pass(500);
    }
    expect([...statuses]).toEqual([200]);
  }, 120_000);

  it.each([
    ["readsPerMinute", { "x-session-id": randomUUID() }, {}],
    ["sessionReadsPerMinute", {}, { remoteAddress: "192.0.2.9" }],
  ])("are rejected beyond %s, counted in memory", async (name, headers, options) => {
    const edge = testEdge({ ...PUBLIC, rateLimits: { [name]: 2 } });
    expect((await edge.send("GET", "/api/state")).statusCode).toBe(200);
    expect((await edge.send("GET", "/api/sessions/{id}")).statusCode).toBe(200);
    const refused = await edge.send("GET", "/api/state", { headers, ...options });
    expectProblem(refused, 429, "rate_limited");
    expect(refused.headers["retry-after"]).toBe("60");
    await edges.pass(60_000);
    expect((await edge.send("GET", "/api/state")).statusCode).toBe(200);
  });
});

describe("changes", () => {
  const rateLimits = { sessionWritesPerMinute: 1 };
  const state = (chain: number) =>
    `/api/state?user_state=${encodeURIComponent(`{"evm":{"chain_id":${chain}}}`)}`;
  const json = { "content-type": "application/json" };

  it.each([
    ["rename", "PATCH", "/api/sessions/{id}", { headers: json, payload: '{"title":"New"}' }],
    ["set model", "POST", "/api/control/model?rig=demo%2Fassistant", {}],
    ["interrupt", "POST", "/api/interrupt", {}],
    ["create", "POST", "/api/sessions", {}],
    ["user state", "GET", state(2), {}],
    ["delete", "DELETE", "/api/sessions/{id}", {}],
  ] as const)("are limited per session: %s", async (_what, method, url, options) => {
    const edge = testEdge({ ...PUBLIC, rateLimits });
    expect((await edge.send("GET", state(1))).statusCode).toBe(200);
    expectProblem(
      await edge.send(method, url, { ...options, remoteAddress: "192.0.2.9" }),
      429,
      "rate_limited",
    );
    await edges.pass(60_000);
    expect((await edge.send(method, url, options)).statusCode).toBe(200);
  });

  it("are limited per address, across all sessions", async () => {
    const edge = testEdge({ ...PUBLIC, rateLimits: { writesPerMinute: 1 } });
    expect((await edge.send("POST", "/api/interrupt")).statusCode).toBe(200);
    const other = { headers: { "x-session-id": randomUUID() } };
    expectProblem(await edge.send("POST", "/api/interrupt", other), 429, "rate_limited");
    expect(
      (await edge.send("POST", "/api/interrupt", { ...other, remoteAddress: "192.0.2.9" })).statusCode,
    ).toBe(200);
  });

  it("count an unchanged user state as a read", async () => {
    const edge = testEdge({ ...PUBLIC, rateLimits });
    for (let poll = 0; poll < 5; poll += 1) expect((await edge.send("GET", state(1))).statusCode).toBe(200);
    expectProblem(await edge.send("GET", state(2)), 429, "rate_limited");
  });

  it("are unlimited on a loopback bind without a proxy, like reads", async () => {
    const edge = testEdge({
      rateLimits: { readsPerMinute: 1, sessionReadsPerMinute: 1, writesPerMinute: 1, ...rateLimits },
    });
    for (let chain = 1; chain < 5; chain += 1) {
      const answer = await edge.send("GET", state(chain));
      expect([answer.statusCode, answer.headers["ratelimit"]]).toEqual([200, undefined]);
      expect((await edge.send("POST", "/api/interrupt")).statusCode).toBe(200);
    }
  });
});

describe("stored bytes", () => {
  const MIB = 1024 * 1024;
  /** A session with an answer, and the bytes of a copy of it. */
  const original = randomUUID();
  let size = 0;
  beforeAll(async () => {
    for (let message = 0; message < 24; message += 1)
      await edges.service.say(original, "x".repeat(32_768), { waitMs: 60_000 });
    // A first copy tells its size.
    const { body } = await fork(testEdge({ ...PUBLIC, rateLimits: { writtenBytesPerMinute: 100_000 } }));
    size = Number(/needs (\d+)/.exec(body)?.[1]);
  });
  /** Sends a request from an address. Returns the status, and the rest of the budget in bytes. */
  async function send(edge: TestEdge, method: "POST" | "PATCH", url: string, options: object = {}) {
    const { statusCode, headers, body } = await edge.send(method, url, options);
    return { status: statusCode, left: leftIn(headers["ratelimit"])["written-bytes"], headers, body };
  }
  const fork = (edge: TestEdge, remoteAddress = "192.0.2.1") =>
    send(edge, "POST", `/api/sessions/${original}/fork`, {
      payload: { session_id: randomUUID() },
      remoteAddress,
    });
  const chat = (edge: TestEdge, remoteAddress = "192.0.2.1") =>
    send(edge, "POST", "/api/chat?message=hi", { remoteAddress });
  /** Creates an edge that lets so many copies be stored a minute. */
  async function givenEdge(copies: { readonly address?: number; readonly app?: number }): Promise<TestEdge> {
    const { address, app } = copies;
    const rateLimits = {
      ...(address !== undefined && { writtenBytesPerMinute: Math.round(address * size) }),
      ...(app !== undefined && { appWrittenBytesPerMinute: Math.round(app * size) }),
    };
    const edge = testEdge({ ...PUBLIC, rateLimits });
    await createSession(edges, edge.session);
    return edge;
  }

  it("are limited per address; what is refused is not counted, so that a message still arrives", async () => {
    const edge = await givenEdge({ address: 3.8 });
    for (let copy = 0; copy < 3; copy += 1) expect((await fork(edge)).status).toBe(200);
    const before = (await chat(edge)).left ?? 0;
    const refused = await fork(edge);
    expect(refused.status).toBe(429);
    expect(refused.headers["retry-after"]).toBe("60");
    expect(refused.body).toContain(
      `At most ${Math.round(3.8 * size)} bytes can be stored a minute, and this request needs ${size}. Wait`,
    );
    const { status, left = 0 } = await chat(edge);
    expect(status).toBe(200);
    // A refused request counts as a change too.
    expect(before - left).toBeLessThan(size / 4);
    expect((await fork(edge, "192.0.2.2")).status).toBe(200);
    await edges.pass(60_000);
    expect((await fork(edge)).status).toBe(200);
  });

  it("of one request beyond the whole limit get the advice to store less", async () => {
    const edge = await givenEdge({ address: 0.3 });
    expect((await fork(edge)).body).toContain("Store less: a copy can end with an earlier message.");
  });

  it("are limited per App, and leave half of the bytes to messages", async () => {
    const edge = await givenEdge({ app: 5.8 });
    const statuses: number[] = [];
    for (let person = 1; person <= 5; person += 1)
      statuses.push((await fork(edge, `192.0.2.${person}`)).status);
    expect(statuses).toEqual([200, 200, 429, 429, 429]);
    expect((await chat(edge, "192.0.2.3")).status).toBe(200);
  });

  it("follow the limit of their App if configured", async () => {
    const edge = limited.testEdge(PUBLIC);
    const key = await limited.key(["small"]);
    const answer = await edge.send("POST", "/api/chat?app=small&message=hi", keyed(key));
    expect(expectProblem(answer, 429, "rate_limited")).toContain("At most 7 bytes");
  });

  it("that the App refuses are given back to the address, and those that the address is refused are none of the App's", async () => {
    const edge = await givenEdge({ address: 1.9, app: 4.9 });
    // One copy passes for the first address, and then none of its others.
    for (const status of [200, 429, 429, 429, 429]) expect((await fork(edge)).status).toBe(status);
    expect((await fork(edge, "192.0.2.2")).status).toBe(200);
    // The App has no room for a third copy.
    expect((await fork(edge, "192.0.2.3")).status).toBe(429);
    expect((await chat(edge, "192.0.2.3")).left).toBeGreaterThan(1.5 * size);
  });

  it("of changes that are refused are given back to the address and the App", async () => {
    const edge = testEdge({ ...PUBLIC, rateLimits: { appWrittenBytesPerMinute: MIB } });
    const decide = (remoteAddress: string) =>
      edge.send("POST", `/api/actions/${randomUUID()}`, {
        headers: { "x-session-id": randomUUID() },
        payload: { decision: "approve", result: "x".repeat(60_000) },
        remoteAddress,
      });
    for (let address = 1; address <= 9; address += 1)
      expectProblem(await decide(`192.0.2.${address}`), 404, "action_not_found");
    const { status, left = 0 } = await chat(edge);
    expect(status).toBe(200);
    // Only the message is counted.
    expect(left).toBe(134_217_728 - 1024 * Math.ceil(chatBytes({ message: "hi" }) / 1024));
  });

  it("are counted per client with an App key, in its App", async () => {
    const edge = testEdge({ ...PUBLIC, rateLimits: { writtenBytesPerMinute: MIB } });
    const key = await edges.key(["defi"]);
    const send = (client: string) =>
      edge.send("POST", `/api/chat?app=defi&client_id=${client}`, {
        headers: { "service-app-key": key, "x-session-id": randomUUID() },
        payload: { message: "x".repeat(30_000) },
      });
    const statuses = [];
    for (let count = 0; count < 8; count += 1) statuses.push((await send("ada")).statusCode);
    expect(statuses).toEqual([200, 200, 200, 200, 200, 200, 429, 429]);
    expect((await send("bo")).statusCode).toBe(200);
  });

  it("are unlimited on a loopback bind without a proxy", async () => {
    const edge = testEdge({ rateLimits: { writtenBytesPerMinute: 1, appWrittenBytesPerMinute: 1 } });
    expect(await fork(edge)).toMatchObject({ status: 200, left: undefined });
  });
});

describe.each([
  ["a trusted proxy", ["10.0.0.1"]],
  ["a backend that is no trusted proxy", []],
])("messages with an App key from %s", (_what, trustedProxies) => {
  /** Returns an edge, and a function that sends a chat with a key of the App. */
  async function givenApp(changes: EdgeChanges = {}, app = "defi", of = edges) {
    const edge = of.testEdge({ ...PUBLIC, trustedProxies, ...changes });
    const key = await of.key([app]);
    const chat = (more = "", session: string = randomUUID()) =>
      edge.send("POST", `/api/chat?message=hi&app=${app}${more}`, {
        remoteAddress: "10.0.0.1",
        headers: { "service-app-key": key, "x-session-id": session },
      });
    return { edge, chat };
  }

  it("are counted per session: 70 users of one key all get answers", async () => {
    const { chat } = await givenApp();
    for (let person = 0; person < 70; person += 1) expect((await chat()).statusCode).toBe(200);
  });

  it("have a limit in each session", async () => {
    const { edge, chat } = await givenApp({ rateLimits: { chatsPerMinute: 3 } });
    for (let count = 0; count < 3; count += 1) expect((await chat("", edge.session)).statusCode).toBe(200);
    expectProblem(await chat("", edge.session), 429, "rate_limited");
    expect((await chat()).statusCode).toBe(200);
  });

  it("are counted per client id if given, across all sessions", async () => {
    const { chat } = await givenApp({ rateLimits: { chatsPerMinute: 2 } });
    for (let session = 0; session < 2; session += 1)
      expect((await chat("&client_id=ada")).statusCode).toBe(200);
    expectProblem(await chat("&client_id=ada"), 429, "rate_limited");
    expect((await chat("&client_id=bob")).statusCode).toBe(200);
  });

  it("are limited per key as well", async () => {
    const { chat } = await givenApp({ rateLimits: { chatsPerMinute: 2, keyChatsPerMinute: 3 } });
    for (let session = 0; session < 3; session += 1) expect((await chat()).statusCode).toBe(200);
    expectProblem(await chat(), 429, "rate_limited");
  });

  it("use the limits of their App if configured", async () => {
    const { edge, chat } = await givenApp({}, "frugal", limited);
    expect((await chat("", edge.session)).statusCode).toBe(200);
    const refused = await chat("", edge.session);
    expect(expectProblem(refused, 429, "rate_limited")).toContain("At most 1 messages");
    for (let count = 0; count < 2; count += 1) {
      const headers = { "x-session-id": randomUUID() };
      const answer = await edge.send("POST", "/api/chat?message=hi", { remoteAddress: "10.0.0.1", headers });
      expect(answer.statusCode).toBe(200);
    }
  });
});

describe.each([
  ["a trusted proxy", ["10.0.0.1", "127.0.0.1"]],
  ["a backend that is no trusted proxy", []],
])("new sessions and event streams with an App key from %s", (_what, trustedProxies) => {
  const BACKEND = "10.0.0.1";
  const streamed: TestEdge[] = [];
  /** fetch cancels the body of a response that nothing refers to, which would end its stream. */
  const responses: Response[] = [];
  afterEach(async () => {
    responses.length = 0;
    for (const { app } of streamed.splice(0)) await app.close();
  });
  /** A key that only one test uses. */
  let key = "";
  beforeEach(async () => {
    key = await edges.key(["defi"]);
  });
  function givenKey(rateLimits: EdgeChanges["rateLimits"] = {}): TestEdge {
    const edge = testEdge({ ...PUBLIC, trustedProxies, rateLimits });
    streamed.push(edge);
    return edge;
  }
  const create = async (edge: TestEdge, session: string = randomUUID(), sent = key) =>
    (
      await edge.send("POST", "/api/sessions", {
        remoteAddress: BACKEND,
        headers: { "x-session-id": session, "service-app-key": sent },
      })
    ).statusCode;
  /** Returns the status of a request for an event stream, and keeps the stream open. */
  async function stream(edge: TestEdge, session: string): Promise<number> {
    if (!edge.app.server.listening) await edge.app.listen({ port: 0, host: "127.0.0.1" });
    const { port } = edge.app.server.address() as AddressInfo;
    const headers = { accept: "text/event-stream", "x-session-id": session, "service-app-key": key };
    const answer = await fetch(`http://127.0.0.1:${port}/api/updates`, { headers });
    responses.push(answer);
    return answer.status;
  }

  it("are accepted when one backend opens 200 sessions and 150 streams", async () => {
    const edge = givenKey();
    const statuses = new Set<number>();
    const sessions = Array.from({ length: 200 }, () => randomUUID());
    for (const session of sessions) statuses.add(await create(edge, session));
    for (const session of sessions.slice(0, 150)) statuses.add(await stream(edge, session));
    expect([...statuses]).toEqual([200]);
    edge.app.server.closeAllConnections();
  });

  it("are limited per key", async () => {
    const edge = givenKey({ newSessionsPerMinute: 1, streamsPerAddress: 1 });
    const sessions = Array.from({ length: 100 }, () => randomUUID());
    for (const session of sessions) expect(await create(edge, session)).toBe(200);
    expect(await create(edge)).toBe(429);
    await edges.pass(60_000);
    for (const session of sessions) expect(await stream(edge, session)).toBe(200);
    expect(await stream(edge, sessions[0]!)).toBe(429);
    edge.app.server.closeAllConnections();
  });

  it("count where a list of models creates one", async () => {
    const edge = testEdge({ ...PUBLIC, rateLimits: { newSessionsPerMinute: 1 } });
    const models = async () =>
      (await edge.send("GET", "/api/control/models", { headers: { "x-session-id": randomUUID() } }))
        .statusCode;
    expect([await models(), await models()]).toEqual([200, 429]);
  });

  it("count a chat's new session against its client id", async () => {
    const edge = givenKey({ newSessionsPerMinute: 1 });
    const chat = async (client: string) =>
      (
        await edge.send("POST", `/api/chat?message=hi&app=defi&client_id=${client}`, {
          remoteAddress: BACKEND,
          headers: { "x-session-id": randomUUID(), "service-app-key": key },
        })
      ).statusCode;
    expect([await chat("ada"), await chat("ada"), await chat("bob")]).toEqual([200, 429, 200]);
  });

  it("are counted per address with an invalid key", async () => {
    const edge = givenKey({ newSessionsPerMinute: 1 });
    const statuses = [await create(edge, randomUUID(), "bad"), await create(edge, randomUUID(), "bad")];
    expect(statuses).toEqual([200, 429]);
  });
});

describe("bodies of messages and secrets", () => {
  const json = { "content-type": "application/json" };
  const broken = { headers: json, payload: "{" };

  it.each([
    ["POST", "/api/chat"],
    ["POST", "/api/ai-sdk/chat"],
    ["PUT", "/api/secrets?client_id=c"],
  ] as const)("are counted for their address before they are read: %s %s", async (method, url) => {
    const edge = testEdge({ ...PUBLIC, rateLimits: { chatsPerMinute: 1 } });
    for (let count = 0; count < 10; count += 1)
      expectProblem(await edge.send(method, url, broken), 400, "json_invalid");
    const announced = { headers: { ...json, "content-length": "9" } };
    expectProblem(await edge.send(method, url, announced), 429, "rate_limited");
    expectProblem(await edge.send(method, url, broken), 429, "rate_limited");
    const other = await edge.send(method, url, { ...broken, remoteAddress: "192.0.2.9" });
    expectProblem(other, 400, "json_invalid");
  });

  it("count once for each MiB announced, and chunked ones as the largest body of the route", async () => {
    const edge = testEdge({ ...PUBLIC, rateLimits: { chatsPerMinute: 1 } });
    const left = async (headers: Record<string, string>) => {
      const { headers: sent } = await edge.send("POST", "/api/ai-sdk/chat", {
        headers: { ...json, ...headers },
      });
      return leftIn(sent["ratelimit"])["bodies"];
    };
    // The endpoint of the test accepts 1 MiB and 1 KiB.
    expect(await left({ "content-length": "1048576" })).toBe(9);
    expect(await left({ "content-length": "1048577" })).toBe(7);
    expect(await left({ "content-length": "99999999999" })).toBe(5);
    expect(await left({ "transfer-encoding": "chunked" })).toBe(3);
  });

  it("follow the App that allows the most messages, and do not count with a valid key", async () => {
    const edge = limited.testEdge({ ...PUBLIC, rateLimits: { chatsPerMinute: 1 } });
    const post = (headers: object = {}) =>
      edge.send("POST", "/api/chat", { ...broken, headers: { ...json, ...headers } });
    for (let count = 0; count < 20; count += 1) expectProblem(await post(), 400, "json_invalid");
    expectProblem(await post(), 429, "rate_limited");
    expectProblem(await post({ "service-app-key": "wrong" }), 429, "rate_limited");
    expectProblem(await post(keyed(await limited.key(["busy"])).headers), 400, "json_invalid");
  });
});

describe("RateLimit and RateLimit-Policy", () => {
  it("report the remaining requests of each budget as structured fields", async () => {
    const edge = testEdge({ ...PUBLIC, rateLimits: { chatsPerMinute: 2 } });
    await createSession(edges, edge.session);
    await edge.send("POST", "/api/chat?message=hi");
    await edges.pass(1_500);
    const { headers } = await edge.send("POST", "/api/chat?message=hi");
    expect(headers["ratelimit-policy"]).toBe(
      '"reads";q=30000;w=60, "session-reads";q=12000;w=60, "bodies";q=20;w=60, "chats";q=2;w=60, "written-bytes";q=134217728;w=60;qu="content-bytes"',
    );
    // Bytes are counted in KiB, rounded up.
    const left = 134_217_728 - 2 * 1024 * Math.ceil(chatBytes({ message: "hi" }) / 1024);
    expect(headers["ratelimit"]).toBe(
      `"reads";r=29998;t=59, "session-reads";r=11998;t=59, "bodies";r=18;t=59, "chats";r=0;t=59, "written-bytes";r=${left};t=59`,
    );
    const refused = await edge.send("POST", "/api/chat?message=hi");
    expect([refused.statusCode, refused.headers["retry-after"]]).toEqual([429, "59"]);
    expect(leftIn(refused.headers["ratelimit"])).toMatchObject({ chats: 0, reads: 29_997 });
  });

  it("are in every response of every operation under /api", async () => {
    const edge = testEdge(PUBLIC);
    const missing = [];
    for (const { operation } of OPERATIONS.filter((each) => each.operation.includes(" /api/"))) {
      const [method = "", path = ""] = operation.split(" ");
      const { app } = edge;
      const url = path.replace("{id}", edge.session);
      const headers = { "x-session-id": edge.session };
      const answer = await app.inject({ method: method as "GET", url, headers });
      const { ratelimit, "ratelimit-policy": policy } = answer.headers;
      if (!String(ratelimit).includes('"reads";r=') || !String(policy).includes('"reads";q=30000;w=60'))
        missing.push([operation, answer.statusCode]);
    }
    expect(missing).toEqual([]);
  });

  it("are in 304, 400 and 401 responses, and readable by pages of other origins", async () => {
    const origin = "https://app.example.com";
    const edge = testEdge({ ...PUBLIC, corsOrigins: [origin] });
    const first = await edge.send("GET", "/api/state", { headers: { origin } });
    expect(first.headers["access-control-expose-headers"]).toMatch(/RateLimit, RateLimit-Policy/);
    const etag = String(first.headers["etag"]);
    const answers = [
      await edge.send("GET", "/api/state", { headers: { "if-none-match": etag } }),
      await edge.send("GET", "/api/state", { headers: { "x-session-id": "nonsense" } }),
      await edge.send("POST", "/api/chat?message=hi&app=nobodys"),
    ];
    expect(answers.map(({ statusCode }) => statusCode)).toEqual([304, 400, 401]);
    for (const { headers } of answers) expect(leftIn(headers["ratelimit"])).toHaveProperty("reads");
  });
});

describe("connections of one address", () => {
  const sockets: Socket[] = [];
  let edge: TestEdge;
  afterEach(async () => {
    for (const socket of sockets.splice(0)) socket.destroy();
    await edge.app.close();
  });

  async function open(): Promise<Socket> {
    if (!edge.app.server.listening) await edge.app.listen({ port: 0, host: "127.0.0.1" });
    const socket = connect((edge.app.server.address() as AddressInfo).port, "127.0.0.1");
    sockets.push(socket.on("error", () => undefined));
    await once(socket, "connect");
    return socket;
  }

  /** Returns the status code of the response to a request. */
  async function ask(socket: Socket): Promise<string> {
    socket.write("GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n");
    const [bytes] = (await once(socket, "data")) as [Buffer];
    return bytes.toString("latin1").slice(9, 12);
  }

  async function heldOpen(count: number): Promise<Socket[]> {
    const held = [];
    for (let index = 0; index < count; index += 1) {
      const socket = await open();
      expect(await ask(socket)).toBe("200");
      held.push(socket);
    }
    return held;
  }

  it("get 429 and are closed beyond the limit, and free their slot when one closes", async () => {
    edge = testEdge({ ...PUBLIC, rateLimits: { connectionsPerAddress: 3 } });
    const [first] = await heldOpen(3);
    const refused = await open();
    const [bytes] = (await once(refused, "data")) as [Buffer];
    expect(bytes.toString("latin1")).toMatch(/^HTTP\/1.1 429 .*retry-after: 10\r\n.*"code":"rate_limited"/s);
    await once(refused, "close");
    const closed = new Promise((resolve) => {
      edge.app.server.getConnections(() => undefined);
      first!.once("close", resolve);
    });
    first!.end();
    await closed;
    expect(await ask(await open())).toBe("200");
  });

  it.each([
    ["of a trusted proxy", { loopback: false, trustedProxies: ["127.0.0.0/8"] }],
    ["on a loopback bind", {}],
  ])("are not counted %s", async (_where, changes: EdgeChanges) => {
    edge = testEdge({ ...changes, rateLimits: { connectionsPerAddress: 3 } });
    expect(await heldOpen(6)).toHaveLength(6);
  });
});
