import { randomUUID } from "node:crypto";
import { createEngine, type Engine } from "@colloquy/engine";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createHandler, type FetchHandler } from "../index.ts";

let engine: Engine;
let handle: FetchHandler;
beforeAll(async () => {
  engine = await createEngine();
  handle = createHandler(engine, { basePath: "/colloquy" });
});
afterAll(() => engine.close());

const ORIGIN = "https://chat.example.com";
const BASE = `${ORIGIN}/colloquy`;

function call(path: string, { session = randomUUID(), ...init }: RequestInit & { session?: string } = {}) {
  const headers = { "x-session-id": session, ...(init.headers as Record<string, string>) };
  return handle(new Request(`${BASE}${path}`, { ...init, headers }));
}

const STREAM = { headers: { accept: "text/event-stream" } };
const JSON_BODY = { "content-type": "application/json" };

describe("the handler of an engine", () => {
  it("serves the engine's conversations", async () => {
    const session = randomUUID();
    const chat = await call("/api/chat", {
      session,
      method: "POST",
      headers: { ...JSON_BODY, prefer: "wait=20" },
      body: JSON.stringify({ message: "hello" }),
    });
    expect(chat.status).toBe(200);
    expect(chat.headers.get("content-type")).toBe("application/json; charset=utf-8");
    expect(((await chat.json()) as { messages: unknown[] }).messages).toHaveLength(2);
    expect((await engine.conversations.state({ session })).messages).toHaveLength(2);
    const state = await call("/api/state", { session });
    const etag = state.headers.get("etag");
    expect(etag).not.toBeNull();
    const unchanged = await call("/api/state", { session, headers: { "if-none-match": etag! } });
    expect([unchanged.status, unchanged.body]).toEqual([304, null]);
  });

  it("streams events, and closes the stream when the response is cancelled", async () => {
    const session = randomUUID();
    const response = await call("/api/updates?include=messages", { session, ...STREAM });
    expect(response.headers.get("content-type")).toBe("text/event-stream");
    const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
    await engine.conversations.chat({ session, message: "hello" });
    let text = "";
    while (!text.includes("message_completed")) text += (await reader.read()).value ?? "";
    expect(text).toContain('"type":"message_delta"');
    await reader.cancel();
    await expect.poll(async () => await metric("colloquy_streams_open")).toBe(0);
  });

  it("closes the stream when the request is aborted", async () => {
    const leaving = new AbortController();
    const response = await call("/api/updates", { signal: leaving.signal, ...STREAM });
    expect(response.status).toBe(200);
    await expect.poll(async () => await metric("colloquy_streams_open")).toBe(1);
    leaving.abort();
    await expect.poll(async () => await metric("colloquy_streams_open")).toBe(0);
  });

  it("rejects a request that was aborted before", async () => {
    await expect(call("/api/state", { signal: AbortSignal.abort() })).rejects.toMatchObject({
      name: "AbortError",
    });
  });

  it("returns the same problem responses as the server", async () => {
    const blank = await call("/api/chat", { method: "POST", headers: JSON_BODY, body: '{"message":" "}' });
    expect([blank.status, await blank.json()]).toEqual([
      400,
      expect.objectContaining({ code: "message_blank" }),
    ]);
    const unknown = await call("/api/nothing");
    expect(unknown.status).toBe(404);
    const beside = await handle(new Request(`${BASE}x/healthz`));
    expect([beside.status, (await call("/healthz?a")).status]).toEqual([404, 200]);
    const large = await call("/api/chat", {
      method: "POST",
      headers: JSON_BODY,
      body: `{"message":"${"a".repeat(2_000_000)}"}`,
    });
    expect(large.status).toBe(413);
  });

  it("rejects a body longer than its Content-Length", async () => {
    const session = randomUUID();
    const body = `{"message":"hi"}POST /api/auth/logout HTTP/1.1\r\nhost: a\r\ncontent-length: 0\r\n\r\n`;
    const headers = { ...JSON_BODY, "content-length": "16", "x-session-id": session };
    const request = new Request(`${BASE}/api/chat`, { method: "POST", headers, body });
    await expect(handle(request)).rejects.toThrow();
    expect((await engine.conversations.state({ session })).messages).toEqual([]);
  });

  it("applies rate limits by the address in the request context", async () => {
    const limited = createHandler(engine, { rateLimits: { readsPerMinute: 2 } });
    const state = (address: string) =>
      limited(new Request(`${ORIGIN}/api/state`, { headers: { "x-session-id": randomUUID() } }), { address });
    expect([(await state("192.0.2.1")).status, (await state("192.0.2.1")).status]).toEqual([200, 200]);
    expect((await state("192.0.2.1")).status).toBe(429);
    expect((await state("192.0.2.2")).status).toBe(200);
  });

  it("closes the stream of a slow client without blocking the engine", async () => {
    const session = randomUUID();
    const response = await call("/api/updates?include=messages", { session, ...STREAM });
    for (let turn = 0; turn < 20; turn += 1)
      await engine.conversations.chat({ session, message: `${"x".repeat(30_000)} ${turn}`, wait: 20_000 });
    // The service has closed the slow stream; the client can resume.
    await expect.poll(async () => await metric("colloquy_streams_open")).toBe(0);
    await expect(response.text()).rejects.toThrow();
  });
});

async function metric(name: string): Promise<number> {
  const text = await (await call("/metrics")).text();
  return Number(new RegExp(`^${name} (\\d+)$`, "m").exec(text)?.[1]);
}
