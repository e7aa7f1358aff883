// Rate limits hold across two nodes on one PostgreSQL server, over HTTP (contract section 6).

import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { request, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createSystemClock } from "@colloquy/engine/internal/wiring/clock";
import type { RateCounters } from "@colloquy/engine/internal/core/ports/driven/rate-counters";
import {
  ADMIN_KEY,
  createSession,
  type EdgeChanges,
  startEdges,
  type TestEdge,
} from "../src/http/testing/edge.ts";
import { COPY_BYTES } from "@colloquy/engine/internal/core/written-bytes";
import { ANONYMOUS } from "@colloquy/engine/internal/core/session-access";
import { openPostgresStore } from "@colloquy/postgres/internal/open";
import { openRateCounters } from "@colloquy/postgres/internal/rate-counters";
import { isWithoutPostgres } from "./postgres-server.ts";
import { useOwnPostgres } from "./use-postgres.ts";

const LIMITS = {
  chatsPerMinute: 60,
  newSessionsPerMinute: 100,
  streamsPerAddress: 12,
  sessionWritesPerMinute: 40,
};
const edges = await startEdges();
const SILENT = { debug() {}, info() {}, warn() {}, error() {} };
/** Tolerance. If each node limited separately, twice as many requests would pass. */
const TENTH_MORE = 1.1;

describe.skipIf(await isWithoutPostgres())("two nodes with rate limits", () => {
  const server = useOwnPostgres();
  let nodes: { readonly edge: TestEdge; readonly counters: RateCounters }[];
  /** A session that exists. */
  let session = "";
  beforeEach(async () => {
    await startNodes(LIMITS);
    session = randomUUID();
    await createSession(edges, session);
  });
  afterEach(stopNodes);

  async function startNodes(rateLimits: NonNullable<EdgeChanges["rateLimits"]>): Promise<void> {
    const url = server.url(await server.createDatabase());
    await (await openPostgresStore({ url })).close();
    nodes = await Promise.all([start(url, rateLimits), start(url, rateLimits)]);
  }

  async function stopNodes(): Promise<void> {
    for (const { edge, counters } of nodes) {
      edge.app.server.closeAllConnections();
      await edge.app.close();
      await counters.close();
    }
  }

  async function start(url: string, rateLimits: NonNullable<EdgeChanges["rateLimits"]>) {
    const timers = createSystemClock();
    const shared = { url, timers, logger: SILENT };
    const counters = await openRateCounters({ ...shared, node: randomUUID() });
    const parts = { rateCounters: counters, hasAdmin: true };
    return { edge: edges.testEdge({ loopback: false, rateLimits }, parts), counters };
  }

  /** Sends many concurrent requests, alternating between nodes; returns how many got which status. */
  async function statuses(
    count: number,
    send: (edge: TestEdge) => Promise<{ readonly statusCode?: number | undefined }>,
  ) {
    const answers = await Promise.all(
      Array.from({ length: count }, (_, index) => send(nodes[index % nodes.length]!.edge)),
    );
    const counts: Record<number, number> = {};
    for (const { statusCode = 0 } of answers) counts[statusCode] = (counts[statusCode] ?? 0) + 1;
    return counts;
  }

  function expectLimit(counts: Readonly<Record<number, number>>, limit: number): void {
    expect(counts[200]).toBeGreaterThanOrEqual(limit);
    expect(counts[200]).toBeLessThanOrEqual(limit * TENTH_MORE);
    expect(Object.keys(counts)).toEqual(["200", "429"]);
  }

  it("allow an address as many messages as one node would, and say when to retry", async () => {
    const sessions = Array.from({ length: 150 }, () => randomUUID());
    for (const id of sessions) await createSession(edges, id);
    const chat = (edge: TestEdge) =>
      edge.send("POST", "/api/chat?message=hi", { headers: { "x-session-id": sessions.pop()! } });
    expectLimit(await statuses(150, chat), 60);
    const refused = await nodes[0]!.edge.send("POST", "/api/chat?message=hi");
    expect(Number(refused.headers["retry-after"])).toBeGreaterThan(40);
    const elsewhere = { remoteAddress: "192.0.2.1" };
    expect((await nodes[1]!.edge.send("POST", "/api/chat?message=hi", elsewhere)).statusCode).toBe(200);
  });

  it("allow a session as many changes as one node would", async () => {
    const headers = { "x-session-id": session };
    expectLimit(
      await statuses(100, (edge) => edge.send("POST", "/api/interrupt", { headers })),
      LIMITS.sessionWritesPerMinute,
    );
  });

  it("allow an address to copy as many bytes as one node would", async () => {
    for (let message = 0; message < 160; message += 1)
      await edges.service.say(session, "x".repeat(32_768), { waitMs: 60_000 });
    const size = await edges.service.store.sessions.copySize(session, null, ANONYMOUS);
    await stopNodes();
    await startNodes({ ...LIMITS, writtenBytesPerMinute: Math.round(4.6 * (size!.bytes + COPY_BYTES)) });
    const counts = await statuses(20, (edge) =>
      edge.send("POST", `/api/sessions/${session}/fork`, { payload: { session_id: randomUUID() } }),
    );
    expect(counts).toEqual({ 200: 4, 429: 16 });
    expect((await nodes[1]!.edge.send("POST", "/api/chat?message=hi")).statusCode).toBe(200);
  });

  it("lock an address out after ten wrong admin keys on any of them", async () => {
    const ask = (edge: TestEdge, key: string) =>
      edge.app.inject({ url: "/api/admin/apps", headers: { authorization: `Bearer ${key}` } });
    const counts: number[] = [];
    for (let guess = 0; guess < 12; guess += 1) {
      counts.push((await ask(nodes[guess % 2]!.edge, `wrong-${guess}`)).statusCode);
    }
    expect(counts).toEqual([...Array<number>(10).fill(401), 429, 429]);
    for (const { edge } of nodes) expect((await ask(edge, ADMIN_KEY)).statusCode).toBe(429);
  });

  it("allow an address as many new sessions as one node would", async () => {
    const create = (edge: TestEdge) =>
      edge.send("POST", "/api/sessions", { headers: { "x-session-id": randomUUID() } });
    expectLimit(await statuses(150, create), 100);
  });

  it("allow an address and a session as many streams as one node would, and another one when one ends", async () => {
    const ports = new Map<TestEdge, number>();
    for (const { edge } of nodes) {
      await edge.app.listen({ port: 0, host: "127.0.0.1" });
      ports.set(edge, (edge.app.server.address() as AddressInfo).port);
    }
    const opened: IncomingMessage[] = [];
    const connect = async (edge: TestEdge, id = session) => {
      const headers = { "x-session-id": id, accept: "text/event-stream" };
      const sent = request({
        port: ports.get(edge),
        host: "127.0.0.1",
        path: "/api/updates",
        headers,
        agent: false,
      });
      sent.on("error", () => undefined).end();
      const [answer] = (await once(sent, "response")) as [IncomingMessage];
      answer.on("error", () => undefined);
      if (answer.statusCode === 200) opened.push(answer);
      return answer;
    };
    expectLimit(await statuses(40, (edge) => connect(edge, randomUUID())), 12);
    for (const answer of opened.splice(0, 12)) answer.destroy();
    // The last ones may still be counted for a moment.
    await expect.poll(async () => (await connect(nodes[0]!.edge)).statusCode).toBe(200);
    while (opened.length < 10) await connect(nodes[1]!.edge);
    expect((await connect(nodes[0]!.edge)).statusCode).toBe(429);
    await expect.poll(async () => (await connect(nodes[0]!.edge, randomUUID())).statusCode).toBe(200);
    opened[0]?.destroy();
    await expect.poll(async () => (await connect(nodes[1]!.edge)).statusCode).toBe(200);
    expect((await connect(nodes[0]!.edge)).statusCode).toBe(429);
  });

  it("answer 503 with Retry-After while the database is down, and recover with it", async () => {
    const chat = () => nodes[0]!.edge.send("POST", "/api/chat?message=hi");
    await server.halt();
    try {
      const refused = await chat();
      expect(refused.statusCode).toBe(503);
      expect(refused.headers["retry-after"]).toBe("1");
    } finally {
      await server.resume();
    }
    expect((await chat()).statusCode).toBe(200);
  });
});
