import { once } from "node:events";
import { connect, type AddressInfo } from "node:net";
import { Problem } from "@colloquy/protocol";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { startEdges, type TestEdge } from "./testing/edge.ts";

const edges = await startEdges();
let edge: TestEdge;
let SESSION: string;
let port: number;

beforeEach(async () => {
  edge = edges.testEdge();
  SESSION = edge.session;
  await edge.app.listen({ port: 0, host: "127.0.0.1" });
  ({ port } = edge.app.server.address() as AddressInfo);
});
afterEach(async () => {
  edge.app.server.closeAllConnections();
  await edge.app.close();
});

interface RawAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly problem: Problem;
}

/** Sends bytes as they are and reads until the server closes the connection. */
async function exchange(...chunks: readonly (string | Buffer)[]): Promise<string> {
  const socket = connect(port, "127.0.0.1");
  socket.on("error", () => {});
  let received = "";
  socket.setEncoding("latin1").on("data", (text: string) => (received += text));
  for (const chunk of chunks) socket.write(typeof chunk === "string" ? Buffer.from(chunk, "latin1") : chunk);
  await once(socket, "close");
  return received;
}

function parse(text: string): RawAnswer {
  const [head = "", body = ""] = text.split("\r\n\r\n", 2);
  const [line = "", ...fields] = head.split("\r\n");
  const headers = Object.fromEntries(
    fields.map((field) => [
      field.slice(0, field.indexOf(":")).toLowerCase(),
      field.slice(field.indexOf(":") + 2),
    ]),
  );
  return { status: Number(line.split(" ")[1]), headers, problem: JSON.parse(body) as Problem };
}

function expectProblem(text: string, status: number, code: string): void {
  const answer = parse(text);
  expect(answer.status).toBe(status);
  expect(answer.headers["content-type"]).toBe("application/problem+json");
  expect(Problem.strict().safeParse(answer.problem).error).toBeUndefined();
  expect(answer.problem).toMatchObject({ status, code, request_id: answer.headers["x-request-id"] });
}

const HOST = "Host: localhost\r\n";
const CLOSE = "Connection: close\r\n";

describe("input that is not HTTP", () => {
  it.each([
    ["noise", "\x16\x03\x01\x02\x00\x01\x00\r\n\r\n"],
    ["a request line of nonsense", "nonsense\r\n\r\n"],
    ["an unknown method", `FROB / HTTP/1.1\r\n${HOST}\r\n`],
    ["an unknown version", `GET / HTTP/9.9\r\n${HOST}\r\n`],
    ["NUL in a header", `GET / HTTP/1.1\r\n${HOST}X-Session-Id: a\0b\r\n\r\n`],
    ["a header name with a space", `GET / HTTP/1.1\r\n${HOST}X Session: a\r\n\r\n`],
    ["two lengths", `POST /api/chat HTTP/1.1\r\n${HOST}Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}`],
    [
      "a length beside chunks",
      `POST /api/chat HTTP/1.1\r\n${HOST}Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
    ],
    ["a length that is no number", `POST /api/chat HTTP/1.1\r\n${HOST}Content-Length: -1\r\n\r\n`],
    ["a bare line feed in a header", `GET / HTTP/1.1\r\n${HOST}X-A: b\nX-C: d\r\n\r\n`],
  ])("%s gives 400", async (_name, bytes) => {
    expectProblem(await exchange(bytes), 400, "http_invalid");
  });

  it("gives 400 for a broken chunk", async () => {
    const head = `POST /api/chat HTTP/1.1\r\n${HOST}Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n`;
    expectProblem(await exchange(`${head}zz\r\n`), 400, "http_invalid");
  });
});

describe("a request whose head is too large", () => {
  it.each([
    ["in its URL", `GET /api/state?x=${"a".repeat(330_000)} HTTP/1.1\r\n${HOST}\r\n`],
    ["in a header", `GET /api/state HTTP/1.1\r\n${HOST}X-A: ${"a".repeat(330_000)}\r\n\r\n`],
    ["in many headers", `GET /api/state HTTP/1.1\r\n${HOST}${"X-A: b\r\n".repeat(12_000)}\r\n`],
  ])("%s gives 431", async (_name, bytes) => {
    expectProblem(await exchange(bytes), 431, "head_too_large");
  });

  it("gets a response although its client keeps sending", async () => {
    const head = `GET /api/state HTTP/1.1\r\n${HOST}X-A: `;
    expectProblem(await exchange(head, Buffer.alloc(3 * 1024 * 1024, "a")), 431, "head_too_large");
  });

  it("is accepted at exactly the limit", async () => {
    const target = `/api/state?x=${"a".repeat(64_000)}`;
    const text = await exchange(`GET ${target} HTTP/1.1\r\n${HOST}${CLOSE}X-Session-Id: ${SESSION}\r\n\r\n`);
    expect(text).toMatch(/^HTTP\/1\.1 200 /);
  });
});

describe("an answer in progress", () => {
  it("is not corrupted by an invalid request behind it, which ends the connection", async () => {
    const stream = `GET /api/updates HTTP/1.1\r\n${HOST}Accept: text/event-stream\r\nX-Session-Id: ${SESSION}\r\n\r\n`;
    const socket = connect(port, "127.0.0.1");
    let received = "";
    socket.setEncoding("latin1").on("data", (text: string) => (received += text));
    socket.on("error", () => {});
    socket.write(stream);
    await once(socket, "data");
    socket.write("nonsense\r\n\r\n");
    await once(socket, "close");
    expect(received).toMatch(/^HTTP\/1\.1 200 /);
    expect(received).not.toContain("http_invalid");
  });

  it("is finished while the server closes, with the requests pipelined behind it", async () => {
    const gate = edges.gateAt("open");
    const socket = connect(port, "127.0.0.1");
    let received = "";
    socket.setEncoding("latin1").on("data", (text: string) => (received += text));
    const request = (path: string) => `GET ${path} HTTP/1.1\r\n${HOST}X-Session-Id: ${SESSION}\r\n\r\n`;
    socket.write(request("/api/state"));
    await gate.reached;
    const closed = edge.app.close();
    const second = once(edge.app.server, "request");
    socket.write(request("/nowhere"));
    await second;
    gate.open();
    await once(socket, "close");
    await closed;
    const [first = "", next = ""] = received.split(/(?=HTTP\/1\.1 404)/);
    expect(first).toMatch(/^HTTP\/1\.1 200 /);
    expectProblem(next, 404, "route_not_found");
    expect(parse(next).headers["connection"]).toBe("close");
  });
});

describe("HTTP that the protocol allows and this server does not", () => {
  it("rejects HTTP/1.1 without a Host with 400", async () => {
    expectProblem(await exchange("GET /healthz HTTP/1.1\r\nConnection: close\r\n\r\n"), 400, "host_missing");
  });

  it("prefers the host of an absolute target to the header", async () => {
    const foreign = `GET http://evil.example/openapi.json HTTP/1.1\r\n${HOST}${CLOSE}\r\n`;
    expectProblem(await exchange(foreign), 403, "host_not_allowed");
    const own = `GET http://localhost:1/openapi.json HTTP/1.1\r\nHost: evil.example\r\n${CLOSE}\r\n`;
    expect(await exchange(own)).toMatch(/^HTTP\/1\.1 200 /);
  });

  it("rejects CONNECT with 405", async () => {
    const text = await exchange(`CONNECT evil.example:443 HTTP/1.1\r\n${HOST}\r\n`);
    expectProblem(text, 405, "method_not_allowed");
    expect(text).toMatch(/\r\nallow: GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS\r\n/i);
  });

  it("rejects an expectation other than 100-continue with 417", async () => {
    const text = await exchange(`GET /healthz HTTP/1.1\r\n${HOST}${CLOSE}Expect: magic\r\n\r\n`);
    expectProblem(text, 417, "expectation_failed");
  });

  it.each([
    ["refused at once", "?message=%ed%a0%80", ["400"]],
    ["answered after its body", "", ["100", "200"]],
  ])("sends the response to a pipelined 100-continue that is %s in order", async (_name, query, statuses) => {
    const gates = { open: Promise.withResolvers<void>(), chat: Promise.withResolvers<void>() };
    edges.intercept((method) => gates[method as keyof typeof gates]?.promise);
    const body = '{"message":"hello"}';
    const socket = connect(port, "127.0.0.1");
    const closed = once(socket, "close");
    let received = "";
    socket.setEncoding("latin1").on("data", (text: string) => (received += text));
    const common = `${HOST}X-Session-Id: ${SESSION}\r\n`;
    const send = async (bytes: string) => {
      const asked = once(edge.app.server, "request");
      socket.write(bytes);
      await asked;
    };
    await send(`GET /api/state HTTP/1.1\r\n${common}\r\n`);
    const fields = `${CLOSE}Content-Type: application/json\r\nExpect: 100-continue\r\nContent-Length: ${body.length}\r\n`;
    await send(`POST /api/chat${query} HTTP/1.1\r\n${common}${fields}\r\n${body}`);
    gates.open.resolve();
    await expect.poll(() => received).toContain("HTTP/1.1 200");
    gates.chat.resolve();
    await closed;
    const lines = [...received.matchAll(/HTTP\/1\.1 (\d{3})/g)].map(([, status]) => status);
    expect(lines).toEqual(["200", ...statuses]);
  });

  it("ignores an upgrade request", async () => {
    const text = await exchange(
      `GET /healthz HTTP/1.1\r\n${HOST}Connection: close, Upgrade\r\nUpgrade: websocket\r\n\r\n`,
    );
    expect(text).toMatch(/^HTTP\/1\.1 200 /);
  });

  it.each(["X-Session-Id", "Idempotency-Key"])("rejects a repeated %s with 400", async (name) => {
    const once = name === "X-Session-Id" ? "" : `X-Session-Id: ${SESSION}\r\n`;
    const twice = `${name}: ${SESSION}\r\n${name}: ${SESSION}\r\n`;
    const text = await exchange(`POST /api/chat?message=hi HTTP/1.1\r\n${HOST}${CLOSE}${once}${twice}\r\n`);
    expectProblem(text, 400, name === "X-Session-Id" ? "session_id_invalid" : "idempotency_key_invalid");
    expect(await edges.exists(SESSION)).toBe(false);
  });

  it("rejects non-ASCII characters in a target with 400", async () => {
    const text = await exchange(`GET /api/state?x=caf\u00e9 HTTP/1.1\r\n${HOST}${CLOSE}\r\n`);
    expectProblem(text, 400, "url_encoding_invalid");
  });
});

describe("a body that is too long", () => {
  const head = `POST /api/chat HTTP/1.1\r\n${HOST}X-Session-Id: ${SESSION}\r\nContent-Type: application/json\r\n`;
  const next = `GET /nowhere HTTP/1.1\r\n${HOST}${CLOSE}\r\n`;

  it("gives a readable 413 and keeps the connection usable", async () => {
    const size = 2 * 1024 * 1024;
    const text = await exchange(`${head}Content-Length: ${size}\r\n\r\n`, Buffer.alloc(size, "a"), next);
    const [first = "", second = ""] = text.split(/(?=HTTP\/1\.1 404)/);
    expectProblem(first, 413, "body_too_large");
    expectProblem(second, 404, "route_not_found");
  });

  it("gives 413 also without a Content-Length", async () => {
    const chunk = Buffer.concat([Buffer.from("10000\r\n"), Buffer.alloc(0x10000, "a"), Buffer.from("\r\n")]);
    const chunks = Array<Buffer>(8).fill(chunk);
    const text = await exchange(`${head}Transfer-Encoding: chunked\r\n\r\n`, ...chunks, "0\r\n\r\n", next);
    expectProblem(text.split(/(?=HTTP\/1\.1 404)/)[0] ?? "", 413, "body_too_large");
  });
});

describe("a client that disconnects", () => {
  it("leaves nothing behind if it disconnects during its body", async () => {
    const socket = connect(port, "127.0.0.1");
    const asked = once(edge.app.server, "request");
    socket.write(
      `POST /api/chat HTTP/1.1\r\n${HOST}X-Session-Id: ${SESSION}\r\nContent-Length: 100\r\n\r\n{`,
    );
    await asked;
    socket.destroy();
    const text = await exchange(`GET /nowhere HTTP/1.1\r\n${HOST}${CLOSE}\r\n`);
    expectProblem(text, 404, "route_not_found");
    expect(edge.lines).toEqual([]);
  });

  it("ends the wait if it disconnects during one", async () => {
    const state = vi.spyOn(edges.service.conversations, "state");
    const turn = edges.gateAt("complete");
    await edge.send("POST", "/api/chat?message=hi");
    const socket = connect(port, "127.0.0.1");
    socket.write(`GET /api/state HTTP/1.1\r\n${HOST}X-Session-Id: ${SESSION}\r\nPrefer: wait=30\r\n\r\n`);
    await expect.poll(() => state.mock.lastCall?.[0].waitMs).toBe(30_000);
    const { signal } = state.mock.lastCall![0];
    expect(signal.aborted).toBe(false);
    socket.destroy();
    await once(signal, "abort");
    turn.open();
  });
});

describe("the time limit for a client", () => {
  it("applies to the head and body of a request, not to its response", () => {
    const { server } = edge.app;
    expect(server.headersTimeout).toBe(15_000);
    expect(server.requestTimeout).toBe(600_000);
    expect(server.timeout).toBe(0);
    expect(server.keepAliveTimeout).toBe(72_000);
  });
});
