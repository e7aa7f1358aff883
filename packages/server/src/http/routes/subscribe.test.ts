import { once } from "node:events";
import { request, type IncomingMessage } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { afterEach, describe, expect, it, vi } from "vitest";
import { Unavailable } from "@colloquy/engine/internal/core/errors";
import { createSession, startEdges, type TestEdge } from "../testing/edge.ts";
import { expectProblem } from "../testing/expect-problem.ts";

const ACCEPT = { accept: "text/event-stream" };
const edges = await startEdges();
const stopping = await startEdges();
const listeners: TestEdge[] = [];

afterEach(async () => {
  for (const { app } of listeners.splice(0)) {
    app.server.closeAllConnections();
    await app.close();
  }
  vi.restoreAllMocks();
});

const openStreams = () => edges.service.gauges.openStreams();
const storeIsAway = (method: string) => {
  if (method !== "open") return undefined;
  throw new Unavailable(503, "store_unavailable", "The store is away.", 2);
};

/** Returns a function that begins a request to a listening edge. */
async function listening(edge: TestEdge) {
  listeners.push(edge);
  await edge.app.listen({ port: 0, host: "127.0.0.1" });
  const { port } = edge.app.server.address() as AddressInfo;
  return (path = "/api/updates", more = {}) => {
    const headers = { "x-session-id": edge.session, ...ACCEPT, ...more };
    const client = request({ port, host: "127.0.0.1", path, headers });
    client.on("error", () => {});
    client.end();
    return client;
  };
}

async function connecting(edge: TestEdge) {
  const begin = await listening(edge);
  return async (path?: string, headers?: object): Promise<IncomingMessage> => {
    const [message] = (await once(begin(path, headers), "response")) as [IncomingMessage];
    return message.on("error", () => {});
  };
}

describe("GET /api/updates", () => {
  it("returns a stream, whose head comes at once", async () => {
    const edge = edges.testEdge();
    const connect = await connecting(edge);
    const message = await connect("/api/updates", {
      origin: "http://localhost:5173",
      "x-request-id": "mine",
    });
    expect(message.statusCode).toBe(200);
    expect(message.headers).toMatchObject({
      "content-type": "text/event-stream",
      "cache-control": "no-store, no-transform",
      "x-accel-buffering": "no",
      "x-request-id": "mine",
      "access-control-allow-origin": "http://localhost:5173",
      vary: "Origin",
    });
    const [first] = (await once(message, "data")) as [Buffer];
    expect(first.toString()).toBe("retry: 2000\n\n");
    message.destroy();
    await expect.poll(openStreams).toBe(0);
  });

  it("closes the subscription when the client disconnects", async () => {
    const connect = await connecting(edges.testEdge());
    const message = await connect();
    expect(openStreams()).toBe(1);
    message.destroy();
    await expect.poll(openStreams).toBe(0);
  });

  it("closes the subscription if the client disconnects while it is opened", async () => {
    const edge = edges.testEdge();
    const opened = vi.spyOn(edges.service.feed, "open");
    const begin = await listening(edge);
    const gate = edges.gateAt("open");
    const connected = once(edge.app.server, "connection");
    const client = begin();
    const [socket] = (await connected) as [Socket];
    await gate.reached;
    client.destroy();
    await once(socket, "close");
    gate.open();
    await opened.mock.results[0]!.value;
    await expect.poll(openStreams).toBe(0);
  });

  it("takes the groups once each, and prefers the position in the header", async () => {
    const edge = edges.testEdge();
    await createSession(edges, edge.session);
    const opened = vi.spyOn(edges.service.feed, "open");
    const connect = await connecting(edge);
    const url = "/api/updates?include=tools,state,tools&last_event_id=q-1";
    for (const [path, headers] of [
      [url, {}],
      [url, { "last-event-id": "h-2" }],
      [url, { "last-event-id": "" }],
      ["/api/updates?include=&last_event_id=", {}],
    ] as const)
      (await connect(path, headers)).destroy();
    const [fromQuery, fromHeader, emptyHeader, plain] = opened.mock.calls.map(([wanted]) => wanted);
    expect(fromQuery).toMatchObject({
      sessionId: edge.session,
      include: new Set(["tools", "state"]),
      lastEventId: "q-1",
    });
    expect(fromHeader?.lastEventId).toBe("h-2");
    expect(emptyHeader?.lastEventId).toBe("q-1");
    expect(plain).toMatchObject({ include: new Set(), lastEventId: null });
    await expect.poll(openStreams).toBe(0);
  });

  it("names a missing Accept", async () => {
    const edge = edges.testEdge();
    expectProblem(await edge.send("GET", "/api/updates"), 400, "accept_missing");
    expectProblem(await edge.send("GET", "/api/updates", { headers: { accept: "" } }), 400, "accept_missing");
    expect(await edges.exists(edge.session)).toBe(false);
  });

  it.each([
    ["include=everything", "parameter_invalid"],
    ["include=tools,", "parameter_invalid"],
    ["include=tools&include=state", "parameter_repeated"],
    ["last_event_id=a&last_event_id=b", "parameter_repeated"],
  ])("rejects ?%s", async (query, code) => {
    const answer = await edges.testEdge().send("GET", `/api/updates?${query}`, { headers: ACCEPT });
    expectProblem(answer, 400, code);
  });

  it("returns a problem if the stream cannot be opened", async () => {
    edges.intercept(storeIsAway);
    const answer = await edges.testEdge().send("GET", "/api/updates", { headers: ACCEPT });
    expectProblem(answer, 503, "store_unavailable");
  });

  it("is accepted while the service stops, which ends it like the open streams", async () => {
    const edge = stopping.testEdge();
    edge.stop();
    stopping.service.feed.stop();
    const answer = await edge.send("GET", "/api/updates", { headers: ACCEPT });
    expect([answer.statusCode, answer.body]).toEqual([200, expect.stringMatching(/^retry: \d+\n\n/)]);
  });

  it("is limited per address, and closing a stream frees its slot", async () => {
    const edge = edges.testEdge({ loopback: false, rateLimits: { streamsPerAddress: 2 } });
    const connect = await connecting(edge);
    const first = await connect();
    const second = await connect();
    const third = await connect();
    expect([first.statusCode, second.statusCode, third.statusCode]).toEqual([200, 200, 429]);
    expect(third.headers["retry-after"]).toBe("10");
    first.destroy();
    await expect.poll(openStreams).toBe(1);
    expect((await connect()).statusCode).toBe(200);
  });

  it("frees its slot if it cannot be opened", async () => {
    const edge = edges.testEdge({ loopback: false, rateLimits: { streamsPerAddress: 1 } });
    const connect = await connecting(edge);
    edges.intercept(storeIsAway);
    expect((await connect()).statusCode).toBe(503);
    edges.intercept(() => undefined);
    expect((await connect()).statusCode).toBe(200);
  });
});
