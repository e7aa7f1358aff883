// A client that sends exactly what it is given, without adding, repairing or decoding anything. Every answer
// must conform to the service's OpenAPI document.

import { randomUUID } from "node:crypto";
import { Agent, request, type IncomingMessage, type OutgoingHttpHeaders } from "node:http";
import { Problem, Snapshot, Thread } from "@colloquy/protocol";
import { expect } from "vitest";
import type { z } from "zod";
import type { Traffic } from "../documented-api.ts";
import { documentOf, expectDocumented } from "../documented-traffic.ts";
import { NODES } from "./processes.ts";

export interface Call {
  /** `X-Session-Id`; an array sends the header several times. */
  readonly session?: string | readonly string[];
  readonly headers?: OutgoingHttpHeaders;
  /** Sent as JSON. */
  readonly json?: unknown;
  /** Sent unchanged. */
  readonly body?: string | Buffer;
}

export interface Answer {
  readonly status: number;
  readonly headers: IncomingMessage["headers"];
  readonly text: string;
  /** The body as JSON. */
  json(): unknown;
  /** Parses the body as JSON of exactly this shape. */
  as<Body>(schema: z.ZodType<Body>): Body;
}

const agent = new Agent({ keepAlive: true });

/** Sends a request and reads the whole answer. */
export async function send(url: string, method: string, path: string, call: Call = {}): Promise<Answer> {
  const api = await documentOf(url);
  const { message, traffic } = await begin(url, method, path, call);
  const text = Buffer.concat(await message.toArray()).toString("utf8");
  expectDocumented(api, { ...traffic, text });
  return {
    status: message.statusCode ?? 0,
    headers: message.headers,
    text,
    json: () => JSON.parse(text) as unknown,
    as: (schema) => schema.parse(JSON.parse(text)),
  };
}

/** Sends a request and returns as soon as its answer starts. */
export async function open(
  url: string,
  method: string,
  path: string,
  call: Call = {},
): Promise<IncomingMessage> {
  const api = await documentOf(url);
  const { message, traffic } = await begin(url, method, path, call);
  expectDocumented(api, traffic);
  return message;
}

function begin(
  url: string,
  method: string,
  path: string,
  { session, ...call }: Call,
): Promise<{ readonly message: IncomingMessage; readonly traffic: Traffic }> {
  const body = call.json === undefined ? call.body : JSON.stringify(call.json);
  const { hostname, port } = new URL(url);
  return new Promise((resolve, reject) => {
    // With several nodes, each request uses a new connection, so that it reaches another node.
    const own = NODES === null ? agent : new Agent({ keepAlive: true });
    const outgoing = request({
      agent: own,
      hostname,
      port,
      method,
      path,
      headers: {
        ...(session !== undefined && { "X-Session-Id": session as string | string[] }),
        ...(call.json !== undefined && { "Content-Type": "application/json" }),
        ...(body !== undefined && { "Content-Length": Buffer.byteLength(body) }),
        ...call.headers,
      },
    });
    if (own !== agent) outgoing.once("close", () => own.destroy());
    outgoing.once("response", (message) => {
      const { statusCode: status = 0, headers } = message;
      const exchange = { method, target: path, sent: outgoing.getHeaders(), body: body?.toString() ?? null };
      resolve({ message, traffic: { ...exchange, status, headers, text: null } });
    });
    outgoing.once("error", reject).end(body);
  });
}

export function newSession(): string {
  return randomUUID();
}

/** Returns a wallet address that no other test uses. */
export function newWallet(): string {
  return `0x${randomUUID().replaceAll("-", "")}deadbeef`;
}

/** Sends a message in the query, as specified. Returns the snapshot. */
export async function chat(
  url: string,
  session: string,
  message: string,
  call: Call = {},
): Promise<Snapshot> {
  const query = new URLSearchParams({ message });
  return expectSnapshot(
    await send(url, "POST", `/api/chat?${query.toString()}`, { session, ...call }),
    session,
  );
}

/** Returns the current snapshot of a session. */
export async function state(url: string, session: string, call: Call = {}): Promise<Snapshot> {
  return expectSnapshot(await send(url, "GET", "/api/state", { session, ...call }), session);
}

/** Returns the snapshot of a session once it has stopped processing. */
export function whenIdle(url: string, session: string): Promise<Snapshot> {
  return state(url, session, { headers: { Prefer: "wait=60" } });
}

export async function thread(url: string, session: string): Promise<Thread> {
  const answer = await send(url, "GET", `/api/sessions/${session}`);
  expect(answer.status).toBe(200);
  return answer.as(Thread.strict());
}

/** Asserts that an answer is a snapshot, by the specification's table and the contract. */
export function expectSnapshot(answer: Answer, session: string): Snapshot {
  expect([answer.status, answer.text.slice(0, 300)]).toEqual([200, expect.any(String)]);
  expect(answer.headers["content-type"]).toMatch(/^application\/json/);
  expect(answer.headers["cache-control"]).toBe("no-store");
  const snapshot = answer.as(Snapshot.strict());
  expect(snapshot).toMatchObject({
    messages: expect.any(Array),
    system_events: expect.any(Array),
    title: expect.any(String),
    is_processing: expect.any(Boolean),
    session_id: expect.stringMatching(new RegExp(`^${session}$`, "i")),
  });
  expect(snapshot.user_state === null || typeof snapshot.user_state === "object").toBe(true);
  for (const { sender, content } of snapshot.messages) {
    expect(["user", "agent"]).toContain(sender);
    expect(content).toEqual(expect.any(String));
  }
  expect(snapshot.is_processing).toBe(snapshot.status === "processing");
  return snapshot;
}

/**
 * Asserts that an answer is a problem document with this status, and with this code if given. Returns its
 * detail.
 */
export function expectProblem(answer: Answer, status: number, code?: string): string {
  expect([answer.status, answer.text.slice(0, 300)]).toEqual([status, expect.any(String)]);
  expect(answer.headers["content-type"]).toBe("application/problem+json");
  const problem = answer.as(Problem.strict());
  expect(problem.status).toBe(status);
  expect(problem.request_id).toBe(answer.headers["x-request-id"]);
  expect(problem.code).toMatch(/^[a-z]+(?:_[a-z]+)*$/);
  expect(problem.detail).toMatch(/^[A-Z`].{10,}\.$/s);
  if (code !== undefined) expect(problem.code).toBe(code);
  return problem.detail;
}
