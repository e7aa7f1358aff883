import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { connect, type AddressInfo, type Socket } from "node:net";
import { Readable } from "node:stream";
import { afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { readAnswers, type RawAnswer } from "../../fuzz/http-reader.ts";
import { OpenConnections } from "./connections.ts";
import { ManualClock } from "../../test/manual-clock.ts";
import { startEdges, type TestEdge } from "./testing/edge.ts";
import { PUBLIC } from "./routes/route-parts.ts";

/** More bytes than both socket buffers hold before the client reads. */
const ANSWER_BYTES = 8 * 1024 * 1024;
const LONGEST = "y".repeat(32_768);
const BODY = Buffer.from(`{"a":"${"x".repeat(300_000)}"}`);

const edges = await startEdges();
const SESSION = randomUUID();
let edge: TestEdge;

beforeAll(async () => {
  for (let bytes = 0; bytes < ANSWER_BYTES; bytes += LONGEST.length)
    await edges.service.say(SESSION, LONGEST, { waitMs: 60_000 });
}, 180_000);
beforeEach(async () => {
  edge = edges.testEdge();
  await edge.app.listen({ port: 0, host: "127.0.0.1" });
});
afterEach(async () => {
  edge.app.server.closeAllConnections();
  await edge.app.close();
});

/**
 * Sends bytes and reads nothing. Resolves when the server has begun to respond and its socket buffers are
 * full.
 */
async function sendUnread(bytes: Buffer): Promise<Socket> {
  const { port } = edge.app.server.address() as AddressInfo;
  const asked = once(edge.app.server, "request");
  const socket = connect({ port, host: "127.0.0.1" }).pause();
  socket.on("error", () => {});
  socket.write(bytes);
  await asked;
  await once(socket, "readable");
  return socket;
}

/** Reads until the server ends the connection. */
async function readAll(socket: Socket): Promise<{ answers: readonly RawAnswer[]; cutOff: boolean }> {
  const chunks: Buffer[] = [];
  socket.on("data", (chunk: Buffer) => chunks.push(chunk)).resume();
  await once(socket, "close");
  const { answers, rest } = readAnswers(Buffer.concat(chunks), -1, true);
  return { answers, cutOff: rest.length > 0 };
}

function request(version: string, ...fields: readonly string[]): Buffer {
  const head = [`GET /api/state HTTP/${version}`, "Host: localhost", `X-Session-Id: ${SESSION}`, ...fields];
  return Buffer.from(`${head.join("\r\n")}\r\n\r\n`);
}

const LENGTH = `Content-Length: ${BODY.length}`;

describe("an answer whose request body was ignored", () => {
  it.each([
    ["is the last on its connection", request("1.1", "Connection: close", LENGTH), [200]],
    ["is of HTTP/1.0", request("1.0", LENGTH), [200]],
    ["does not announce the body", request("1.1"), [200, 400]],
    ["has a body longer than its length", request("1.1", `Content-Length: ${BODY.length - 3}`), [200, 400]],
    ["has malformed chunks", request("1.1", "Transfer-Encoding: chunked"), [200, 400]],
  ])("arrives complete when the request %s", async (_name, head, statuses) => {
    const socket = await sendUnread(Buffer.concat([head, BODY]));
    const { answers, cutOff } = await readAll(socket);
    expect(cutOff).toBe(false);
    expect(answers.map(({ status }) => status)).toEqual(statuses);
    expect(answers[0]?.body.length).toBeGreaterThan(ANSWER_BYTES);
  });

  it("arrives complete when the server closes", async () => {
    const connections = new OpenConnections(edge.app.server, new ManualClock());
    const socket = await sendUnread(Buffer.concat([request("1.1", LENGTH), BODY]));
    connections.closeWhenIdle();
    const { answers, cutOff } = await readAll(socket);
    expect([answers.length, cutOff]).toEqual([1, false]);
  });
});

describe("a client that half-closes", () => {
  it("gets the rest of a response that has begun", async () => {
    const gate = Promise.withResolvers<void>();
    async function* pieces() {
      yield "begun, ";
      await gate.promise;
      yield "finished";
    }
    edge = edges.testEdge();
    edge.app.get("/in-pieces", { config: PUBLIC }, (_request, reply) => reply.send(Readable.from(pieces())));
    await edge.app.listen({ port: 0, host: "127.0.0.1" });
    const accepted = once(edge.app.server, "connection") as Promise<[Socket]>;
    const { port } = edge.app.server.address() as AddressInfo;
    const socket = connect({ port, host: "127.0.0.1", allowHalfOpen: true });
    socket.write("GET /in-pieces HTTP/1.1\r\nHost: localhost\r\n\r\n");
    await once(socket, "readable");
    const ended = once((await accepted)[0], "end");
    socket.end();
    await ended;
    gate.resolve();
    const { answers } = await readAll(socket);
    expect(answers.map(({ body }) => body.toString())).toEqual(["begun, finished"]);
  });
});

describe("a malformed request behind others", () => {
  it("is answered after them, even if their responses have not begun", async () => {
    const gate = edges.gateAt("open");
    const { port } = edge.app.server.address() as AddressInfo;
    const socket = connect({ port, host: "127.0.0.1" });
    const refused = once(edge.app.server, "clientError");
    const first = Buffer.from(request("1.1").toString().replace(SESSION, randomUUID()));
    socket.write(Buffer.concat([first, request("1.1"), Buffer.from("nonsense\r\n\r\n")]));
    await refused;
    gate.open();
    const { answers } = await readAll(socket);
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 400]);
  });
});

describe("a connection after its last answer", () => {
  it("reads no further request", async () => {
    edge.stop();
    const accepted = once(edge.app.server, "connection") as Promise<[Socket]>;
    const socket = await sendUnread(Buffer.concat([request("1.1", LENGTH), BODY, request("1.1")]));
    let requests = 0;
    edge.app.server.on("request", () => (requests += 1));
    const closed = once((await accepted)[0], "close");
    const { answers } = await readAll(socket);
    await closed;
    expect([answers.length, requests]).toEqual([1, 0]);
  });
});
