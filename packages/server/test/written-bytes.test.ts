// What is stored is what is charged (contract section 6): every operation stores at most the bytes that it
// takes from its caller's budget. A new operation fails the first test until it is listed here.

import { randomUUID } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { jsonSchema } from "ai";
import type { Snapshot } from "@colloquy/protocol";
import type { OwnTool } from "@colloquy/engine/internal/core/app-settings";
import { Hidden } from "@colloquy/engine/internal/core/hidden";
import { loadConfig } from "../src/config/load-config.ts";
import { buildServer, type ColloquyServer } from "../src/wiring/server.ts";
import { Issuer } from "./issuer.ts";
import { ScriptedModel } from "@colloquy/testing/internal/models/scripted-model";
import { until } from "./service.ts";

const SILENT = { debug() {}, info() {}, warn() {}, error() {} };
const MIB = 1024 * 1024;
const RIG = "test/scripted";
/** The longest text of a message, whose JSON is six times as long. */
const LONGEST = "\u0001".repeat(32_768);
const LARGEST_METADATA = { a: "m".repeat(4_088) };
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
    tools: {
      ...app.tools,
      allowsClientTools: true,
      own: { brew: BREW },
      approvals: { brew: "always" as const },
    },
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
  const protocols = {
    openai: new Hidden({ apps: ["default"] }),
    "ag-ui": new Hidden({ apps: ["default"] }),
    aomi: new Hidden({ apps: ["default"] }),
    "mcp-server": new Hidden({ apps: ["default"], allowDecisions: true }),
  };
  server = await buildServer(
    { ...config, apps: { default: own }, protocols },
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
  /** Sent unchanged instead, as text. */
  readonly file?: string;
  readonly token?: string;
  readonly address?: string;
  /** Bytes that earlier requests were charged and have not stored, for what this request stores of theirs. */
  readonly paid?: number;
  /** Session whose turn goes on after the request, which stores the result once more. */
  readonly resumes?: string;
}

const BREW: OwnTool = {
  description: "Brews tea",
  inputSchema: jsonSchema({ type: "object", properties: {} }),
  execute: () => ({ brewed: true }),
};

let addresses = 0;
function newAddress(): string {
  addresses += 1;
  return `10.${addresses >> 16}.${(addresses >> 8) & 255}.${addresses & 255}`;
}

/** Sends a request, by default as a new client, whose budgets are untouched. */
async function send({ method, path, session, body, file, token, address = newAddress() }: Sent) {
  const answer = await fetch(url + path, {
    method,
    headers: {
      "x-forwarded-for": address,
      ...(session !== undefined && { "x-session-id": session }),
      ...(token !== undefined && { authorization: `Bearer ${token}` }),
      ...(body !== undefined && { "content-type": "application/json" }),
      ...(file !== undefined && { "content-type": "text/plain" }),
      ...(path.startsWith("/api/updates") && { accept: "text/event-stream" }),
    },
    ...(file !== undefined && { body: file }),
    ...(body !== undefined && { body: typeof body === "string" ? body : JSON.stringify(body) }),
  });
  const isStream = answer.headers.get("content-type")?.startsWith("text/event-stream") === true;
  if (isStream) await answer.body?.cancel();
  const text = isStream ? "" : await answer.text();
  const { headers, status } = answer;
  return { status, text, charged: chargedIn(headers), retryAfter: headers.get("retry-after") };
}

/**
 * Returns the bytes that the first request of a client took from its budget, of which the header fields show
 * the rest.
 */
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
  "POST /api/sessions": [
    creating("POST", "/api/sessions"),
    async () => ({
      method: "POST",
      path: "/api/sessions",
      session: randomUUID(),
      body: { public_key: "w".repeat(128), metadata: LARGEST_METADATA },
    }),
  ],
  "PATCH /api/sessions/{id}": [
    onSession("PATCH", (id) => `/api/sessions/${id}`, { title: "\u{1f600}".repeat(100) }),
    onSession("PATCH", (id) => `/api/sessions/${id}`, {
      title: "\u{1f600}".repeat(100),
      metadata: LARGEST_METADATA,
    }),
  ],
  "DELETE /api/sessions/{id}": [onSession("DELETE", (id) => `/api/sessions/${id}`)],
  "PUT /api/sessions/{id}/pin": [onSession("PUT", (id) => `/api/sessions/${id}/pin`)],
  "POST /api/sessions/{id}/archive": [onSession("POST", (id) => `/api/sessions/${id}/archive`)],
  "POST /api/sessions/{id}/unarchive": [onSession("POST", (id) => `/api/sessions/${id}/unarchive`)],
  "PUT /api/sessions/{id}/messages/{message_id}/feedback": [
    async () => {
      const session = await givenAnswer(LONGEST);
      const { messages } = await snapshot(session);
      const path = `/api/sessions/${session}/messages/${messages.at(-1)?.id}/feedback`;
      const tags = Array.from({ length: 20 }, () => "é".repeat(100));
      return { method: "PUT", path, body: { score: -1, comment: "é".repeat(4_000), tags } };
    },
  ],
  "POST /api/files": [
    async () => ({
      method: "POST",
      path: `/api/files?name=${encodeURIComponent("\u{1f600}".repeat(100))}`,
      session: randomUUID(),
      file: "tea",
    }),
  ],
  "DELETE /api/sessions/{id}/pin": [onSession("DELETE", (id) => `/api/sessions/${id}/pin`)],
  "POST /api/sessions/{id}/fork": [
    async () => {
      const session = await givenAnswer(LONGEST);
      await accepted({
        method: "PATCH",
        path: `/api/sessions/${session}`,
        body: { metadata: LARGEST_METADATA },
      });
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
    async () => chat((await givenQueue()).session, largestChat({ busy: "steer" })),
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
    async () => {
      const { session, action, claim } = await givenClaim();
      const attachments: string[] = [];
      for (let count = 0; count < 10; count += 1) {
        const path = `/api/files?name=${"\u6f22".repeat(200)}.txt`;
        const uploaded = await accepted({ method: "POST", path, session, file: `tea ${count}` });
        attachments.push((JSON.parse(uploaded) as { id: string }).id);
      }
      const body = { decision: "approve", claim, result: { output: "seen", attachments } };
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
  "GET /api/search": [creating("GET", "/api/search?q=hello")],
  "GET /api/sessions": [creating("GET", "/api/sessions?public_key=0xnobody")],
  "PUT /api/secrets": [
    async () => ({
      method: "PUT",
      path: "/api/secrets",
      body: { SLOT: "v".repeat(4_096) },
      token: await token(),
    }),
  ],
  "POST /api/secrets": [
    async () => ({
      method: "POST",
      path: "/api/secrets",
      body: { secrets: { SLOT: "v".repeat(4_096) } },
      token: await token(),
    }),
  ],
  "DELETE /api/secrets/{name}": [
    async () => ({ method: "DELETE", path: "/api/secrets/SLOT", token: await token() }),
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
  "POST /api/ag-ui": [
    async () => ({
      method: "POST",
      path: "/api/ag-ui",
      body: {
        threadId: await givenSession(),
        runId: "run",
        messages: [{ id: randomUUID(), role: "user", content: LONGEST }],
        tools: [{ name: "look", parameters: SCHEMA }],
        context: [{ value: "\u0001".repeat(8_000) }],
        state: { note: "s".repeat(8_000) },
      },
    }),
    async () => {
      const { session, answer } = await givenAction();
      const message = { id: "t", role: "tool", toolCallId: `${answer}-call-0`, content: NUMBERS };
      return {
        method: "POST",
        path: "/api/ag-ui",
        body: { threadId: session, runId: "run", messages: [message] },
        resumes: session,
      };
    },
  ],
};

/** A history of many short messages, whose rows are larger than their texts. */
const SHORT_MESSAGES = Array.from({ length: 2_000 }, (_, index) => ({
  role: index % 2 === 0 ? "user" : "assistant",
  content: "a",
}));
const conversationOf = (session: string): string => `/v1/conversations/conv_${session}`;
const v1 = (path: string, body: unknown, more: Partial<Sent> = {}): Sent => ({
  method: "POST",
  path: `/v1/${path}`,
  body,
  ...more,
});

/** A message with the maximum number of files and the longest names. */
const withFiles = (seed: string) => ({
  role: "user",
  content: Array.from({ length: 10 }, (_, index) => ({
    type: "input_file",
    filename: `${"\u00e9".repeat(190)}${index}.txt`,
    file_data: `data:text/plain;base64,${Buffer.from(`${seed} ${index}`).toString("base64")}`,
  })),
});

/** Writes of the OpenAI API. */
const OPENAI_WRITES: Readonly<Record<string, readonly Given[]>> = {
  "POST /v1/responses": [
    async () =>
      v1("responses", {
        model: "default/test/other",
        conversation: `conv_${await givenSession()}`,
        input: LONGEST,
        instructions: "\u0001".repeat(8_000),
        metadata: { a: "m".repeat(512) },
        tools: [{ type: "function", name: "look", parameters: SCHEMA }],
        background: true,
      }),
    async () =>
      v1("responses", {
        input: [withFiles("a"), { role: "assistant", content: "and?" }, withFiles("b")],
        background: true,
      }),
    async () =>
      v1("responses", { input: [...SHORT_MESSAGES, { role: "user", content: "and?" }], background: true }),
    async () =>
      v1("responses", {
        input: [
          { role: "user", content: LONGEST },
          { type: "function_call", call_id: "c", name: "look", arguments: `{"a":${NUMBERS}}` },
          { type: "function_call_output", call_id: "c", output: NUMBERS },
          { role: "user", content: LONGEST },
        ],
        background: true,
      }),
  ],
  "POST /v1/chat/completions": [
    async () =>
      v1("chat/completions", {
        model: "default",
        stream: true,
        messages: [{ role: "user", content: LONGEST }],
      }),
    async () =>
      v1("chat/completions", {
        model: "default",
        stream: true,
        messages: [...SHORT_MESSAGES, { role: "user", content: "and?" }],
      }),
  ],
  "POST /v1/responses/{id}/cancel": [
    async () => {
      const { session, paid } = await givenQueue("short", 0);
      return { method: "POST", path: `/v1/responses/resp_${session}_1/cancel`, paid };
    },
  ],
  "DELETE /v1/responses/{id}": [
    async () => ({ method: "DELETE", path: `/v1/responses/resp_${await givenAnswer("short")}_1` }),
  ],
  "POST /v1/conversations": [
    async () => v1("conversations", { metadata: LARGEST_METADATA, items: SHORT_MESSAGES.slice(0, 20) }),
    async () => v1("conversations", { items: [{ role: "user", content: "\u0001".repeat(100_000) }] }),
  ],
  "POST /v1/conversations/{id}": [
    async () => ({
      method: "POST",
      path: conversationOf(await givenSession()),
      body: { metadata: LARGEST_METADATA },
    }),
  ],
  "DELETE /v1/conversations/{id}": [
    async () => ({ method: "DELETE", path: conversationOf(await givenSession()) }),
  ],
  "POST /v1/conversations/{id}/items": [
    async () => ({
      method: "POST",
      path: `${conversationOf(await givenSession())}/items`,
      body: { items: SHORT_MESSAGES.slice(0, 20) },
    }),
    async () => ({
      method: "POST",
      path: `${conversationOf(await givenSession())}/items`,
      body: { items: ["a", "b", "c"].map(withFiles) },
    }),
  ],
};

/** A call of a tool of the MCP server, which does not wait for the answer. */
const mcp = (name: string, input: object): Sent => ({
  method: "POST",
  path: "/mcp",
  body: { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name, arguments: input } },
});

const MCP_WRITES: Readonly<Record<string, readonly Given[]>> = {
  "POST /mcp": [
    async () => mcp("start_conversation", { message: LONGEST, wait_seconds: 0 }),
    async () => mcp("send_message", { session_id: await givenSession(), message: LONGEST, wait_seconds: 0 }),
    async () => {
      const { session, paid } = await givenQueue("short", 0);
      return { ...mcp("interrupt", { session_id: session }), paid };
    },
    async () => {
      const session = await givenSession();
      await accepted(chat(session, { message: session }));
      (await callOf(session)).callTool("brew", {}, "c1").finish("tool-calls");
      await until(async () => (await snapshot(session)).pending_actions.length === 1);
      const { pending_actions: pending } = await snapshot(session);
      const decided = { session_id: session, action_id: pending[0]!.id, decision: "deny", wait_seconds: 0 };
      return { ...mcp("decide", decided), resumes: session };
    },
  ],
};

const AGENT_WRITES: Readonly<Record<string, readonly Given[]>> = {
  "POST /v1/agent/chat": [
    async () => v1("agent/chat", { message: LONGEST }),
    async () =>
      v1("agent/chat", {
        sessionId: await givenSession(),
        message: LONGEST,
        model: "test/other",
        userState: { note: "t".repeat(8_000) },
      }),
  ],
  "POST /v1/agent/chat/{id}/interrupt": [
    async () => {
      const { session, paid } = await givenQueue("short", 0);
      const [incarnation] = (await snapshot(session)).last_event_id.split("-");
      return v1(`agent/chat/${session}/interrupt`, { turnId: `turn-${incarnation}-1` }, { paid });
    },
  ],
  "PATCH /v1/agent/sessions/{id}": [
    async () => ({
      method: "PATCH",
      path: `/v1/agent/sessions/${await givenSession()}`,
      body: { title: "\u{1f600}".repeat(100), archived: true },
    }),
  ],
  "DELETE /v1/agent/sessions/{id}": [
    async () => ({ method: "DELETE", path: `/v1/agent/sessions/${await givenSession()}` }),
  ],
};

/** Operations that store nothing: reads, and sign-in, which stores its nonces in memory. */
const READS = [
  "GET /api/sessions/{id}",
  "GET /api/sessions/{id}/messages",
  "GET /api/files/{id}",
  "GET /api/page",
  "GET /api/secrets",
  "GET /api/ai-sdk/chat/{id}/stream",
  "GET /api/ai-sdk/chat/{id}/messages",
  "POST /api/auth/siwe/refresh",
  "POST /api/auth/siwe/verify",
  "GET /v1/agent/chat/{id}",
  "GET /v1/agent/chat/{id}/stream",
  "GET /v1/agent/sessions",
  "GET /v1/agent/sessions/{id}",
  // Decides like `POST /api/actions/{id}`, but only wallet requests, which need a chain.
  "POST /v1/agent/chat/{id}/actions/{action}/result",
  "GET /v1/models",
  "GET /v1/models/{model}",
  "GET /v1/files/{id}",
  "GET /v1/files/{id}/content",
  "GET /v1/responses/{id}",
  "GET /v1/responses/{id}/input_items",
  "GET /v1/conversations/{id}",
  "GET /v1/conversations/{id}/items",
  "GET /v1/conversations/{id}/items/{item}",
  // Refuses.
  "DELETE /v1/conversations/{id}/items/{item}",
];
const ALL_WRITES = { ...WRITES, ...OPENAI_WRITES, ...MCP_WRITES, ...AGENT_WRITES };

it("lists every operation under /api, /v1 and /mcp except administration", async () => {
  const document = (await (await fetch(`${url}/openapi.json`)).json()) as { paths: Record<string, object> };
  const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
  );
  const limited = operations.filter((name) => / \/(?:(?:api|v1)\/(?!admin\/)|mcp$)/.test(name));
  expect([...Object.keys(ALL_WRITES), ...READS].toSorted()).toEqual(limited.toSorted());
});

describe.each(Object.entries(ALL_WRITES))("%s", (_name, requests) => {
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
