// What is stored is what is charged (contract section 6): every operation stores at most the bytes that it takes from its caller's
// budget. A new operation fails the first test until it is listed here.

import { randomUUID } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Snapshot } from "@colloquy/protocol";
import { loadConfig } from "../src/config/load-config.ts";
import { buildServer, type ColloquyServer } from "../src/wiring/server.ts";
import { Issuer } from "./issuer.ts";
import { ScriptedModel } from "./scripted-model.ts";
import { until } from "./service.ts";

const SILENT = { debug() {}, info() {}, warn() {}, error() {} };
const MIB = 1024 * 1024;
const RIG = "test/scripted";
/** The longest text of a message, whose JSON is six times as long. */
const LONGEST = "\u0001".repeat(32_768);
const LARGEST_STATE = { note: "s".repeat(8_000) };
/** JSON that is four times as long when it is written again. */
const NUMBERS = `[${Array.from({ length: 12_000 }, () => "1e20").join()}]`;
const SCHEMA = { type: "object", properties: { a: { type: "string", description: "d".repeat(15_000) } } };

let directory = "";
let database: DatabaseSync;
let issuer: Issuer;
let server: ColloquyServer;
let url = "";
const model = new ScriptedModel();

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "colloquy-written-bytes-"));
  issuer = await Issuer.start();
  const environment = {
    HOST: "127.0.0.1",
    PORT: "0",
    COLLOQUY_DATA_DIR: directory,
    COLLOQUY_TRUSTED_PROXIES: "127.0.0.1",
    COLLOQUY_SECRET_KEY: "0f1e".repeat(16),
  };
  const loaded = await loadConfig({ environment, workingDirectory: directory });
  if (!loaded.ok) throw new Error(JSON.stringify(loaded.problems));
  const { config } = loaded;
  const app = config.apps["default"]!;
  const own = {
    ...app,
    models: [RIG, "test/other"],
    tools: { ...app.tools, allowsClientTools: true },
    secrets: [{ name: "SLOT", description: "d", required: false }],
    users: {
      issuer: issuer.url,
      audience: "here",
      jwksUri: null,
      keys: null,
      claimSessions: true,
      required: false,
    },
  };
  server = await buildServer(
    { ...config, apps: { default: own } },
    {
      logger: SILENT,
      models: { [RIG]: model, "test/other": model },
      onFatal: (error) => {
        throw error;
      },
    },
  );
  ({ url } = await server.listen());
  database = new DatabaseSync(join(directory, "colloquy.db"), { readOnly: true });
});
afterAll(async () => {
  database.close();
  await server.stop({ graceMs: 0 });
  await issuer.stop();
  await rm(directory, { recursive: true });
});

interface Sent {
  readonly method: string;
  readonly path: string;
  readonly session?: string;
  /** JSON, serialized if it is not a string. */
  readonly body?: unknown;
  readonly token?: string;
  readonly address?: string;
  /** Bytes that earlier requests were charged and have not stored, for what this request stores of theirs. */
  readonly paid?: number;
  /** Session whose turn goes on after the request, which stores the result once more. */
  readonly resumes?: string;
}

let addresses = 0;
function newAddress(): string {
  addresses += 1;
  return `10.${addresses >> 16}.${(addresses >> 8) & 255}.${addresses & 255}`;
}

/** Sends a request, by default as a new client, whose budgets are untouched. */
async function send({ method, path, session, body, token, address = newAddress() }: Sent) {
  const answer = await fetch(url + path, {
    method,
    headers: {
      "x-forwarded-for": address,
      ...(session !== undefined && { "x-session-id": session }),
      ...(token !== undefined && { authorization: `Bearer ${token}` }),
      ...(body !== undefined && { "content-type": "application/json" }),
      ...(path.startsWith("/api/updates") && { accept: "text/event-stream" }),
    },
    ...(body !== undefined && { body: typeof body === "string" ? body : JSON.stringify(body) }),
  });
  const isStream = answer.headers.get("content-type")?.startsWith("text/event-stream") === true;
  if (isStream) await answer.body?.cancel();
  const text = isStream ? "" : await answer.text();
  const { headers, status } = answer;
  return { status, text, charged: chargedIn(headers), retryAfter: headers.get("retry-after") };
}

/** Returns the bytes that the first request of a client took from its budget, of which the header fields show the rest. */
function chargedIn(headers: Headers): number {
  const limit = /"written-bytes";q=(\d+)/.exec(headers.get("ratelimit-policy") ?? "")?.[1];
  const left = /"written-bytes";r=(\d+)/.exec(headers.get("ratelimit") ?? "")?.[1];
  return limit === undefined ? 0 : Number(limit) - Number(left);
}

/** Returns the bytes of all cells of all tables. */
function storedBytes(): number {
  const tables = database.prepare("SELECT name FROM sqlite_schema WHERE type = 'table'").all() as {
    name: string;
  }[];
  let bytes = 0;
  for (const { name } of tables.filter((table) => !table.name.startsWith("sqlite_"))) {
    const columns = database.prepare(`PRAGMA table_info(${name})`).all() as { name: string }[];
    const sum = columns.map((column) => `coalesce(octet_length("${column.name}"), 0)`).join(" + ");
    const row = database.prepare(`SELECT coalesce(sum(${sum}), 0) AS bytes FROM ${name}`).get();
    bytes += (row as { bytes: number }).bytes;
  }
  return bytes;
}

async function accepted(sent: Sent): Promise<string> {
  const { status, text } = await send(sent);
  if (status !== 200) throw new Error(`${sent.method} ${sent.path}: ${status} ${text}`);
  return text;
}

const snapshot = async (session: string) =>
  JSON.parse(await accepted({ method: "GET", path: "/api/state", session })) as Snapshot;
const token = () =>
  issuer.sign({ iss: issuer.url, sub: randomUUID(), aud: "here", jti: randomUUID(), exp: 4_000_000_000 });
const withState = (session: string) => {
  const state = encodeURIComponent(JSON.stringify(LARGEST_STATE));
  return { method: "GET", path: `/api/state?user_state=${state}`, session };
};

/** Returns a session with the largest user state and a title. */
async function givenSession(): Promise<string> {
  const session = randomUUID();
  await accepted(withState(session));
  await accepted({ method: "PATCH", path: `/api/sessions/${session}`, body: { title: "Titled" } });
  return session;
}

const chat = (session: string, body: object): Sent => ({ method: "POST", path: "/api/chat", session, body });
/** A text that begins with the id of the session. */
const textOf = (session: string, text: string): string => (session + text).slice(0, LONGEST.length);

/** Returns the next call of the model for the session, whose message is by `textOf`. Forgets calls of others. */
async function callOf(session: string) {
  for (;;) {
    const call = await model.next();
    if (call.prompt.some((text) => text.includes(session))) return call;
  }
}

/** Returns a session with a finished turn. */
async function givenAnswer(text: string): Promise<string> {
  const session = await givenSession();
  await accepted(chat(session, { message: textOf(session, text) }));
  (await callOf(session)).say("done").finish();
  await until(async () => !(await snapshot(session)).is_processing);
  return session;
}

/** Returns a session whose turn runs, with messages behind it, which have paid for the event of their end. */
async function givenQueue(text = LONGEST, behind = 2) {
  const session = await givenSession();
  const before = storedBytes();
  let charged = 0;
  for (let count = 0; count <= behind; count += 1)
    charged += (await send(chat(session, { message: textOf(session, text) }))).charged;
  await callOf(session);
  return { session, paid: charged - (storedBytes() - before) };
}

const TOOL = { look: { description: "Looks", inputSchema: { type: "object" } } };

/** Returns a session whose turn waits for a client to run a tool. */
async function givenAction() {
  const session = await givenSession();
  await accepted(chat(session, { message: session, client_tools: TOOL }));
  (await callOf(session)).callTool("look", {}, "c1").finish("tool-calls");
  await until(async () => (await snapshot(session)).pending_actions.length === 1);
  const { pending_actions: pending, messages } = await snapshot(session);
  return { session, action: pending[0]!.id, answer: messages[1]!.id };
}

async function givenClaim() {
  const { action, ...given } = await givenAction();
  const text = await accepted({
    method: "POST",
    path: `/api/actions/${action}/claim`,
    session: given.session,
  });
  return { ...given, action, claim: (JSON.parse(text) as { claim: string }).claim };
}

const largestChat = (more: object = {}) => ({
  message: LONGEST,
  rig: "test/other",
  public_key: "w".repeat(128),
  user_state: { note: "t".repeat(8_000) },
  ...more,
});

type Given = () => Promise<Sent>;
const onSession =
  (method: string, path: (session: string) => string, body?: unknown): Given =>
  async () => {
    const session = await givenSession();
    return { method, path: path(session), session, body };
  };
const creating =
  (method: string, path: string): Given =>
  async () => ({ method, path, session: randomUUID() });

/** Largest requests that store something, by operation. */
const WRITES: Readonly<Record<string, readonly Given[]>> = {
  "POST /api/sessions": [creating("POST", "/api/sessions")],
  "PATCH /api/sessions/{id}": [
    onSession("PATCH", (id) => `/api/sessions/${id}`, { title: "\u{1f600}".repeat(100) }),
  ],
  "DELETE /api/sessions/{id}": [onSession("DELETE", (id) => `/api/sessions/${id}`)],
  "PUT /api/sessions/{id}/pin": [onSession("PUT", (id) => `/api/sessions/${id}/pin`)],
  "DELETE /api/sessions/{id}/pin": [onSession("DELETE", (id) => `/api/sessions/${id}/pin`)],
  "POST /api/sessions/{id}/fork": [
    async () => {
      const session = await givenAnswer(LONGEST);
      return { method: "POST", path: `/api/sessions/${session}/fork`, body: { session_id: randomUUID() } };
    },
  ],
  "POST /api/sessions/{id}/claim": [
    async () => ({
      method: "POST",
      path: `/api/sessions/${await givenSession()}/claim`,
      token: await token(),
    }),
  ],
  "POST /api/chat": [
    async () => chat(await givenSession(), largestChat({ response_schema: SCHEMA })),
    async () => chat((await givenQueue()).session, largestChat()),
    async () => {
      const { session, paid } = await givenQueue();
      const replaces = (await snapshot(session)).messages[0]!.id;
      return { ...chat(session, largestChat({ replaces })), paid };
    },
    async () => {
      const session = await givenAnswer("short");
      const replaces = (await snapshot(session)).messages[0]!.id;
      return chat(session, largestChat({ replaces }));
    },
    async () => chat(randomUUID(), { message: "hi" }),
    async () => chat(await givenSession(), { ...largestChat(), message: "hi" }),
  ],
  "GET /api/state": [async () => withState(randomUUID()), creating("GET", "/api/state")],
  "POST /api/interrupt": [
    onSession("POST", () => "/api/interrupt"),
    async () => ({ method: "POST", path: "/api/interrupt", ...(await givenQueue()) }),
    // Each message is as long as its JSON, so that each copy counts.
    async () => ({
      method: "POST",
      path: "/api/interrupt",
      ...(await givenQueue("\u6f22".repeat(32_000), 7)),
    }),
  ],
  "POST /api/actions/{id}": [
    async () => {
      const { session, action, claim } = await givenClaim();
      const body = `{"decision":"approve","claim":"${claim}","result":{"output":${NUMBERS}}}`;
      return { method: "POST", path: `/api/actions/${action}`, session, body, resumes: session };
    },
    async () => {
      const { session, action, claim } = await givenClaim();
      const body = { decision: "approve", claim, result: { output: "o".repeat(64_000) } };
      return { method: "POST", path: `/api/actions/${action}`, session, body, resumes: session };
    },
  ],
  "POST /api/actions/{id}/claim": [
    async () => {
      const { session, action } = await givenAction();
      return { method: "POST", path: `/api/actions/${action}/claim`, session };
    },
  ],
  "POST /api/control/model": [onSession("POST", () => "/api/control/model?rig=test/other")],
  "GET /api/control/models": [creating("GET", "/api/control/models")],
  "GET /api/control/apps": [creating("GET", "/api/control/apps")],
  "GET /api/actions": [creating("GET", "/api/actions")],
  "GET /api/updates": [creating("GET", "/api/updates")],
  "GET /api/sessions": [creating("GET", "/api/sessions?public_key=0xnobody")],
  "PUT /api/secrets": [
    async () => ({
      method: "PUT",
      path: "/api/secrets",
      body: { SLOT: "v".repeat(4_096) },
      token: await token(),
    }),
  ],
  "DELETE /api/secrets": [async () => ({ method: "DELETE", path: "/api/secrets", token: await token() })],
  "POST /api/auth/revoke": [async () => ({ method: "POST", path: "/api/auth/revoke", token: await token() })],
  "POST /api/auth/siwe/nonce": [async () => ({ method: "POST", path: "/api/auth/siwe/nonce" })],
  "GET /api/users/me/export": [
    async () => ({ method: "GET", path: "/api/users/me/export", token: await token() }),
  ],
  "DELETE /api/users/me": [async () => ({ method: "DELETE", path: "/api/users/me", token: await token() })],
  "POST /api/ai-sdk/chat": [
    async () => {
      const messages = [{ id: randomUUID(), role: "user", parts: [{ type: "text", text: LONGEST }] }];
      const { message: _, ...more } = largestChat();
      return {
        method: "POST",
        path: "/api/ai-sdk/chat",
        body: { id: await givenSession(), messages, trigger: "submit-message", ...more },
      };
    },
    async () => {
      const { session, answer } = await givenAction();
      const part = `{"type":"tool-look","toolCallId":"c1","state":"output-available","input":{},"output":${NUMBERS}}`;
      return {
        method: "POST",
        path: "/api/ai-sdk/chat",
        body: `{"id":"${session}","messages":[{"id":"${answer}","role":"assistant","parts":[${part}]}],"trigger":"submit-message"}`,
        resumes: session,
      };
    },
  ],
};

/** Operations that store nothing: reads, and sign-in, which stores its nonces in memory. */
const READS = [
  "GET /api/sessions/{id}",
  "GET /api/sessions/{id}/messages",
  "GET /api/secrets",
  "GET /api/ai-sdk/chat/{id}/stream",
  "GET /api/ai-sdk/chat/{id}/messages",
  "POST /api/auth/siwe/refresh",
  "POST /api/auth/siwe/verify",
];

it("lists every operation under /api except administration", async () => {
  const document = (await (await fetch(`${url}/openapi.json`)).json()) as { paths: Record<string, object> };
  const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
  );
  const limited = operations.filter((name) => name.includes(" /api/") && !name.includes(" /api/admin/"));
  expect([...Object.keys(WRITES), ...READS].toSorted()).toEqual(limited.toSorted());
});

describe.each(Object.entries(WRITES))("%s", (_name, requests) => {
  it.each(requests.map((given, index) => [index, given] as const))(
    "stores at most the bytes that it charges (request %i)",
    async (_index, given) => {
      const sent = await given();
      const before = storedBytes();
      const { status, text, charged } = await send(sent);
      if (sent.resumes !== undefined) await callOf(sent.resumes);
      const stored = storedBytes() - before;
      expect([status, text]).toEqual([expect.toSatisfy((code: number) => code < 300), expect.any(String)]);
      expect(charged).toBeGreaterThan(0);
      expect(stored).toBeLessThanOrEqual(charged + (sent.paid ?? 0));
    },
  );
});

it("refuses most of forty copies of 33 MB in a minute, which store no more than the budget, and still accepts a message", async () => {
  const session = await givenAnswer("short");
  const writing = new DatabaseSync(join(directory, "colloquy.db"), { timeout: 10_000 });
  writing
    .prepare(
      `WITH RECURSIVE numbers (n) AS (SELECT 2 UNION ALL SELECT n + 1 FROM numbers WHERE n < 34)
       INSERT INTO steps (session_key, turn, number, finish_reason, usage, text, parts)
       SELECT key, 1, n, 'stop', '{}', ?, '[]' FROM sessions, numbers WHERE id = ?`,
    )
    .run("t".repeat(1_000_000), session);
  writing.close();
  const before = storedBytes();
  const address = newAddress();
  const path = `/api/sessions/${session}/fork`;
  const answers = await Promise.all(
    Array.from({ length: 40 }, () =>
      send({ method: "POST", path, body: { session_id: randomUUID() }, address }),
    ),
  );
  const refused = answers.filter(({ status }) => status !== 200);
  expect(answers.length - refused.length).toBe(4);
  for (const { status, retryAfter } of refused) {
    expect(status).toBe(429);
    expect(Number(retryAfter)).toBeGreaterThan(0);
  }
  expect(storedBytes() - before).toBeLessThanOrEqual(128 * MIB);
  expect((await send({ ...chat(session, { message: "hi" }), address })).status).toBe(200);
});
