import { once } from "node:events";
import { request, type IncomingMessage } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { afterEach, describe, expect, it } from "vitest";
import { Unavailable } from "../../core/errors.ts";
import type { StreamSink } from "../../core/ports/driving/services.ts";
import { SESSION, testEdge, type TestEdge } from "../testing/edge.ts";
import { expectProblem } from "../testing/expect-problem.ts";
import { itNeedsASessionId } from "../testing/session-header.ts";
import { ANONYMOUS } from "../../core/session-access.ts";

const ACCEPT = { accept: "text/event-stream" };
const edges: TestEdge[] = [];

afterEach(async () => {
  for (const { app } of edges.splice(0)) {
    app.server.closeAllConnections();
    await app.close();
  }
});

/** Returns a function that connects to a listening edge. */
async function listening(
  edge: TestEdge,
): Promise<(path?: string, headers?: object) => Promise<IncomingMessage>> {
  edges.push(edge);
  await edge.app.listen({ port: 0, host: "127.0.0.1" });
  const { port } = edge.app.server.address() as AddressInfo;
  return async (path = "/api/updates", headers = {}) => {
    const client = request({
      port,
      host: "127.0.0.1",
      path,
      headers: { "x-session-id": SESSION, ...ACCEPT, ...headers },
    });
    client.on("error", () => {});
    client.end();
    const [message] = (await once(client, "response")) as [IncomingMessage];
    message.on("error", () => {});
    return message;
  };
}

/** Returns an edge whose streams end as soon as they open, so that requests can be injected. */
function edgeOfShortStreams(): TestEdge {
  return shorten(testEdge());
}

function shorten(edge: TestEdge): TestEdge {
  const { open } = edge.services.updates;
  edge.services.updates.open = async (wanted, sink, admit) => {
    await edge.services.conversations.ensure(wanted.sessionId, ANONYMOUS, admit);
    const stream = await open.call(edge.services.updates, wanted, sink, admit);
    sink.end("finish");
    return stream;
  };
  return edge;
}

describe("GET /api/updates", () => {
  it("returns a stream that the service writes", async () => {
    const edge = testEdge();
    const connect = await listening(edge);
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
    const [stream] = edge.services.updates.opened;
    stream?.sink.write(Buffer.from('data: {"type":"x"}\n\n'));
    stream?.sink.end("finish");
    expect(Buffer.concat(await message.toArray()).toString()).toBe('retry: 2000\n\ndata: {"type":"x"}\n\n');
  });

  it("sends its head at once, even without events", async () => {
    const edge = testEdge();
    edge.services.updates.first = null;
    const connect = await listening(edge);
    expect((await connect()).statusCode).toBe(200);
  });

  it("notifies the service that the client has disconnected", async () => {
    const edge = testEdge();
    const connect = await listening(edge);
    const message = await connect();
    const [stream] = edge.services.updates.opened;
    message.destroy();
    await expect.poll(() => stream?.closed).toBe(1);
  });

  it("notifies the service that the client disconnected while the stream was being opened", async () => {
    const edge = testEdge();
    const gate = Promise.withResolvers<void>();
    edge.services.updates.gate = gate.promise;
    await listening(edge);
    const { port } = edge.app.server.address() as AddressInfo;
    const client = request({
      port,
      host: "127.0.0.1",
      path: "/api/updates",
      headers: { "x-session-id": SESSION, ...ACCEPT },
    });
    client.on("error", () => {});
    const connected = once(edge.app.server, "connection");
    const asked = once(edge.app.server, "request");
    client.end();
    const [socket] = (await connected) as [Socket];
    await asked;
    client.destroy();
    await once(socket, "close");
    gate.resolve();
    await expect.poll(() => edge.services.updates.opened[0]?.closed).toBe(1);
  });

  it("passes on the included groups and the start position", async () => {
    const edge = edgeOfShortStreams();
    const url = "/api/updates?include=tools,state,tools&last_event_id=q-1";
    await edge.send("GET", url, { headers: ACCEPT });
    await edge.send("GET", url, { headers: { ...ACCEPT, "last-event-id": "h-2" } });
    await edge.send("GET", url, { headers: { ...ACCEPT, "last-event-id": "" } });
    await edge.send("GET", "/api/updates?include=&last_event_id=", { headers: ACCEPT });
    const [fromQuery, fromHeader, emptyHeader, plain] = edge.services.updates.opened.map(
      ({ request }) => request,
    );
    expect(fromQuery).toEqual({
      sessionId: SESSION,
      access: expect.anything(),
      include: new Set(["tools", "state"]),
      lastEventId: "q-1",
    });
    expect(fromHeader?.lastEventId).toBe("h-2");
    expect(emptyHeader?.lastEventId).toBe("q-1");
    expect(plain).toMatchObject({ include: new Set(), lastEventId: null });
  });

  it.each(["text/event-stream", "*/*", "text/*", "application/json, text/event-stream;q=0.1"])(
    "accepts Accept: %s",
    async (accept) => {
      expect(
        (await edgeOfShortStreams().send("GET", "/api/updates", { headers: { accept } })).statusCode,
      ).toBe(200);
    },
  );

  it("requires the header Accept", async () => {
    const edge = testEdge();
    expectProblem(await edge.send("GET", "/api/updates"), 400, "accept_missing");
    expectProblem(await edge.send("GET", "/api/updates", { headers: { accept: "" } }), 400, "accept_missing");
    expect(edge.services.updates.opened).toEqual([]);
  });

  it.each(["application/json", "text/html", "text/event-stream;q=0", "text/event-stream;q=0, */*"])(
    "gives 406 for Accept: %s",
    async (accept) => {
      const edge = testEdge();
      expectProblem(await edge.send("GET", "/api/updates", { headers: { accept } }), 406, "not_acceptable");
      expect(edge.services.updates.opened).toEqual([]);
    },
  );

  it.each([
    ["include=everything", "parameter_invalid"],
    ["include=tools,", "parameter_invalid"],
    ["include=tools&include=state", "parameter_repeated"],
    ["last_event_id=a&last_event_id=b", "parameter_repeated"],
  ])("rejects ?%s", async (query, code) => {
    expectProblem(await testEdge().send("GET", `/api/updates?${query}`, { headers: ACCEPT }), 400, code);
  });

  it("returns a problem if the stream cannot be opened", async () => {
    const edge = testEdge();
    edge.services.updates.failure = new Unavailable(503, "store_unavailable", "The store is away.", 2);
    expectProblem(await edge.send("GET", "/api/updates", { headers: ACCEPT }), 503, "store_unavailable");
  });

  it("ignores writes of a service that failed to open it", async () => {
    const edge = testEdge();
    let kept: StreamSink | undefined;
    edge.services.updates.open = (_wanted, sink) => {
      kept = sink;
      return Promise.reject(new Unavailable(503, "store_unavailable", "The store is away.", 2));
    };
    const answer = await edge.send("GET", "/api/updates", { headers: ACCEPT });
    expectProblem(answer, 503, "store_unavailable");
    expect(kept?.write(Buffer.from("late"))).toBe(0);
    kept?.end("finish");
  });

  it("is accepted while the service stops, which ends it like the open streams", async () => {
    const edge = testEdge();
    Object.assign(edge.services.readiness, { stopping: true, refusesWork: true });
    edge.services.updates.open = async (_wanted, sink) => {
      sink.write(Buffer.from("retry: 2000\n\n"));
      sink.end("finish");
      return { close: () => undefined };
    };
    const answer = await edge.send("GET", "/api/updates", { headers: ACCEPT });
    expect([answer.statusCode, answer.body]).toEqual([200, "retry: 2000\n\n"]);
  });

  it("is limited per address, and closing a stream frees its slot", async () => {
    const rateLimits = { chatsPerMinute: 9, newSessionsPerMinute: 9, streamsPerAddress: 2 };
    const edge = testEdge({ loopback: false, rateLimits });
    const connect = await listening(edge);
    const first = await connect();
    const second = await connect();
    const third = await connect();
    expect([first.statusCode, second.statusCode, third.statusCode]).toEqual([200, 200, 429]);
    expect(third.headers["retry-after"]).toBe("10");
    first.destroy();
    await expect.poll(() => edge.services.updates.opened[0]?.closed).toBe(1);
    expect((await connect()).statusCode).toBe(200);
  });

  it("frees its slot if it cannot be opened", async () => {
    const rateLimits = { chatsPerMinute: 9, newSessionsPerMinute: 9, streamsPerAddress: 1 };
    const edge = testEdge({ loopback: false, rateLimits });
    const connect = await listening(edge);
    edge.services.updates.failure = new Unavailable(503, "store_unavailable", "The store is away.", 2);
    expect((await connect()).statusCode).toBe(503);
    edge.services.updates.failure = null;
    expect((await connect()).statusCode).toBe(200);
  });
});

describe("the session of GET /api/updates", () => {
  itNeedsASessionId({ method: "GET", url: "/api/updates", headers: ACCEPT }, shorten);
});
