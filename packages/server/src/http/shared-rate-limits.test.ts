import { once } from "node:events";
import { request, type ClientRequest, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { Unavailable } from "@colloquy/engine/internal/core/errors";
import { startEdges, type TestEdge } from "./testing/edge.ts";
import { expectProblem } from "./testing/expect-problem.ts";
import { GatedCounters } from "./testing/gated-counters.ts";

const edges = await startEdges();

const ACCEPT = { accept: "text/event-stream" };

describe("rate limits shared by several processes", () => {
  let counters: GatedCounters;
  let edge: TestEdge;
  beforeEach(() => {
    counters = new GatedCounters();
    edge = edges.testEdge({ loopback: false }, { rateCounters: counters });
  });
  afterEach(async () => {
    edge.app.server.closeAllConnections();
    await edge.app.close();
  });

  const chat = () => edge.send("POST", "/api/chat?message=hi");

  it("count the address before the request is processed", async () => {
    const gate = Promise.withResolvers<void>();
    counters.gate = gate.promise;
    const answering = chat();
    await expect.poll(() => counters.asked).toEqual(["take chats 127.0.0.1", "take written-bytes 127.0.0.1"]);
    expect(await edges.exists(edge.session)).toBe(false);
    gate.resolve();
    expect((await answering).statusCode).toBe(200);
  });

  it("reject until the time that the counters returned, without asking the counters again", async () => {
    counters.waitMs = 20_500;
    expect(expectProblem(await chat(), 429, "rate_limited")).toContain("At most 60 messages a minute");
    await edges.pass(20_000);
    expect((await chat()).headers["retry-after"]).toBe("1");
    const asked = counters.asked.length;
    expect((await chat()).statusCode).toBe(429);
    expect(counters.asked).toHaveLength(asked);
    counters.waitMs = 0;
    await edges.pass(500);
    expect((await chat()).statusCode).toBe(200);
    expect(counters.asked.slice(asked)).toEqual([
      "take chats 127.0.0.1",
      "take written-bytes 127.0.0.1",
      "take app-written-bytes default",
      "take new-sessions 127.0.0.1",
    ]);
  });

  it("give 503 if the counters are unavailable, and request them again next time", async () => {
    const away = new Unavailable(503, "store_unavailable", "The store is away.", 1);
    counters.gate = Promise.reject(away);
    expectProblem(await chat(), 503, "store_unavailable");
    expectProblem(await edge.send("GET", "/api/updates", { headers: ACCEPT }), 503, "store_unavailable");
    expect(await edges.exists(edge.session)).toBe(false);
    counters.gate = Promise.resolve();
    expect((await chat()).statusCode).toBe(200);
  });

  it("hold a slot for each stream, and free it when the stream ends", async () => {
    const port = await listen();
    const stream = await answerOf(send(port));
    expect(stream.statusCode).toBe(200);
    expect(counters.asked).toContain("hold streams 127.0.0.1");
    expect(counters.asked).not.toContain("release streams 127.0.0.1");
    stream.destroy();
    await expect.poll(() => counters.asked).toContain("release streams 127.0.0.1");
    expect(counters.asked).toContain(`release streams of ${edge.session}`);
    counters.waitMs = 1;
    expect((await answerOf(send(port))).headers["retry-after"]).toBe("10");
    expect(counters.asked.filter((what) => what.startsWith("release"))).toHaveLength(2);
  });

  it("take no slot of the address if the session has none left", async () => {
    counters.full.add(`streams of ${edge.session}`);
    const refused = await edge.send("GET", "/api/updates", { headers: ACCEPT });
    expect(expectProblem(refused, 429, "too_many_streams")).toContain("10 open event streams");
    expect(counters.asked.filter((what) => what.startsWith("release"))).toEqual([
      "release streams 127.0.0.1",
    ]);
  });

  it("free the slot of a client that disconnected while the slot was being taken", async () => {
    const gate = Promise.withResolvers<void>();
    counters.gate = gate.promise;
    const answers: ServerResponse[] = [];
    edge.app.server.on("request", (_request, response) => answers.push(response));
    const port = await listen();
    const left = send(port);
    await expect.poll(() => counters.asked).toContain("hold streams 127.0.0.1");
    left.destroy();
    await expect.poll(() => answers[0]?.closed).toBe(true);
    gate.resolve();
    await expect.poll(() => counters.asked).toContain("release streams 127.0.0.1");
  });

  async function listen(): Promise<number> {
    await edge.app.listen({ port: 0, host: "127.0.0.1" });
    return (edge.app.server.address() as AddressInfo).port;
  }

  function send(port: number): ClientRequest {
    const headers = { ...ACCEPT, "x-session-id": edge.session };
    const sent = request({ port, host: "127.0.0.1", path: "/api/updates", headers, agent: false }).end();
    return sent.on("error", () => undefined);
  }

  async function answerOf(sent: ClientRequest): Promise<IncomingMessage> {
    const [answer] = (await once(sent, "response")) as [IncomingMessage];
    return answer.on("error", () => undefined);
  }
});
