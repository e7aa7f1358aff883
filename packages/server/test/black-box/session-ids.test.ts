// Who sees session ids, which open their sessions: nobody in the log, and of the operators only those who may change
// sessions. `npm run test:nodes` runs this on three nodes too.

import { AdminSessionDetail, AdminSessionPage, AuditPage, type Snapshot } from "@colloquy/protocol";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { OPERATIONS } from "../isolation/classified-operations.ts";
import { sendOperation } from "../isolation/sent-operation.ts";
import { expectProblem, newSession, newWallet, send, type Call } from "./client.ts";
import { NODES } from "./processes.ts";
import { Program } from "./server.ts";

const ADMIN_KEY = "admin-key-of-the-session-ids-test";
const CONFIG = {
  apps: {
    default: {
      models: ["demo/assistant", "broken/model"],
      tools: ["calculator"],
      approvals: { calculator: "always" },
      allowClientTools: true,
    },
  },
  // Nothing listens on this port.
  providers: { broken: { kind: "openai-compatible", baseURL: "http://127.0.0.1:9/v1" } },
  limits: { maxModelRetries: 0 },
};

let program: Program;
/** A key that may only read. */
let reader = "";
beforeAll(async () => {
  program = await Program.start(CONFIG, { COLLOQUY_ADMIN_KEY: ADMIN_KEY, COLLOQUY_LOG_LEVEL: "debug" });
  const issued = await admin("POST", "keys", { json: { apps: [], scopes: ["admin:read"] } });
  reader = (issued.json() as { readonly key: string }).key;
});
afterAll(() => program.remove());

const ask = (method: string, path: string, call: Call = {}) => send(program.url, method, path, call);
const admin = (method: string, path: string, call: Call = {}, key = ADMIN_KEY) =>
  ask(method, `/api/admin/${path}`, {
    ...call,
    headers: { ...call.headers, Authorization: `Bearer ${key}` },
  });
const read = (path: string) => admin("GET", path, {}, reader);

async function handleOf(session: string): Promise<string> {
  return (await admin("GET", `sessions/${session}`)).as(AdminSessionDetail).session.handle;
}

/** Id of another session, which a text quotes. */
const OTHER = newSession();

/** Holds a conversation in which ids occur in text and title, and which waits for a decision. */
async function converse(wallet: string): Promise<string> {
  const session = newSession();
  const say = (message: string, more: object) =>
    ask("POST", "/api/chat", { session, json: { message, ...more }, headers: { Prefer: "wait=20" } });
  const spellings = `I am in ${session.toUpperCase()}, ${session.replaceAll("-", "")} and ${OTHER}`;
  expect((await say(spellings, { public_key: wallet })).status).toBe(200);
  expect((await say("what is 12 * 7?", {})).status).toBe(200);
  const title = { session, json: { title: `about ${session}` } };
  expect((await ask("PATCH", `/api/sessions/${session}`, title)).status).toBe(200);
  return session;
}

/** Answers the pending decision, and lets the client's own tool be called twice, whose name and input contain the id. */
async function callOwnTool(session: string): Promise<void> {
  const deny = async () => {
    const { pending_actions } = (await ask("GET", "/api/state", { session })).json() as Snapshot;
    const call = { session, json: { decision: "deny" }, headers: { Prefer: "wait=20" } };
    expect((await ask("POST", `/api/actions/${pending_actions[0]?.id}`, call)).status).toBe(200);
  };
  const tool = `look_${session}`;
  const json = {
    message: `call ${tool} ${JSON.stringify({ at: session })}`,
    client_tools: { [tool]: { description: "Looks", inputSchema: { type: "object" } } },
  };
  for (let count = 0; count < 2; count += 1) {
    await deny();
    const sent = await ask("POST", "/api/chat", { session, json, headers: { Prefer: "wait=20" } });
    expect((sent.json() as Snapshot).pending_actions).toMatchObject([{ kind: "client_tool" }]);
  }
}

interface Operation {
  readonly method: string;
  readonly path: string;
}

/** Returns all operations, those that delete last. */
async function operations(): Promise<readonly Operation[]> {
  const { paths } = (await ask("GET", "/openapi.json")).json() as { readonly paths: Record<string, object> };
  return Object.entries(paths)
    .flatMap(([path, methods]) => Object.keys(methods).map((name) => ({ method: name.toUpperCase(), path })))
    .toSorted((left, right) => Number(left.method === "DELETE") - Number(right.method === "DELETE"));
}

/** Sends a request as it is, and reads the beginning of the answer alone. */
async function touch({ method, path }: Operation, headers: Record<string, string>): Promise<number> {
  const hasBody = method !== "GET" && method !== "DELETE";
  const answer = await fetch(program.url + path, {
    method,
    // With several nodes, each request uses a new connection, so that it reaches another node.
    headers: { ...headers, Connection: "close", ...(hasBody && { "Content-Type": "application/json" }) },
    ...(hasBody && {
      body: JSON.stringify({ id: headers["X-Session-Id"], message: "hello", decision: "approve" }),
    }),
  });
  await answer.body?.cancel();
  return answer.status;
}

describe("the log", () => {
  it("has handles in place of session ids, whatever is requested in whatever spelling", async () => {
    const session = await converse(newWallet());
    const handle = await handleOf(session);
    const failing = newSession();
    expect((await ask("POST", "/api/control/model?rig=broken/model", { session: failing })).status).toBe(200);
    await ask("POST", "/api/chat?message=hello", { session: failing, headers: { Prefer: "wait=20" } });
    const failed = await handleOf(failing);
    expect((await admin("DELETE", `sessions/${failing}`)).status).toBe(200);
    const encoded = session
      .replaceAll("-", "%2D")
      .replace(/^./, (digit) => `%3${digit}`.replace(/%3([a-f])/, "$1"));
    for (const id of [session, session.toUpperCase(), encoded, `${session}%00`, `x${session}`]) {
      for (const { method, path } of await operations()) {
        const target = path.replaceAll(/\{\w+\}/g, id);
        const authorization = path.startsWith("/api/admin/") ? { Authorization: `Bearer ${ADMIN_KEY}` } : {};
        const headers = {
          "X-Session-Id": session,
          "X-Request-Id": `trace.${session.toUpperCase()}`,
          ...authorization,
        };
        await touch({ method, path: `${target}?app=${id}&message=hello` }, headers);
        await touch({ method, path: target }, headers);
      }
    }
    // One request in a thousand of each node has a line.
    const headers = { "X-Session-Id": session.toUpperCase() };
    for (let count = 0; count < 1000 * (NODES?.count ?? 1); count += 1)
      await touch({ method: "GET", path: "/api/state" }, headers);
    const logged = () => program.log;
    for (const line of [
      `"session_read".*"${handle}"`,
      `"session_deleted".*"${failed}"`,
      `"${failed}".*"a turn failed"`,
      `"${handle}".*"request .one of a thousand."`,
    ])
      await expect.poll(logged).toMatch(new RegExp(line));
    // In no spelling, and no part of it.
    const plain = logged().replaceAll(/%(?:25)*([0-9a-f]{2})/gi, (_all, code: string) =>
      String.fromCharCode(Number.parseInt(code, 16)),
    );
    for (const part of [session.slice(0, 8), session.slice(-12)])
      expect(plain.toLowerCase()).not.toContain(part);
  }, 120_000);

  it("has the request id that a client or a proxy sent, unless it contains the session's id", async () => {
    const session = newSession();
    const own = newSession();
    const idOf = async (path: string, id: string, call: Call = {}) =>
      (await ask("GET", path, { ...call, headers: { "X-Request-Id": id } })).headers["x-request-id"];
    expect(await idOf("/api/state", own, { session })).toBe(own);
    expect(await idOf(`/api/sessions/${session}`, own)).toBe(own);
    for (const id of [session, session.toUpperCase(), `x_${session}.1`, session.replaceAll("-", "")]) {
      expect(await idOf("/api/state", id, { session })).toMatch(/^[0-9a-f]{12}-/);
      expect(await idOf(`/api/sessions/${session}`, id)).toMatch(/^[0-9a-f]{12}-/);
    }
  });
});

describe("an operator who may only read", () => {
  it("sees neither the id of a session nor its wallet in any read; others see both", async () => {
    const wallet = newWallet();
    const session = await converse(wallet);
    await callOwnTool(session);
    const handle = await handleOf(session);
    const reads = (await operations()).filter(
      ({ method, path }) => method === "GET" && path.startsWith("/api/admin/"),
    );
    expect(reads.length).toBeGreaterThan(8);
    let withId = 0;
    for (const { path } of reads) {
      const query = path.endsWith("/export") ? `?public_key=${wallet}` : "";
      const target = path.replace("/api/admin/", "").replace("{id}", handle) + query;
      const [seen, whole] = [await read(target), await admin("GET", target)];
      expect([target, seen.status, whole.status]).toEqual([target, 200, 200]);
      for (const secret of [session, session.replaceAll("-", ""), OTHER, wallet])
        expect(seen.text.toLowerCase()).not.toContain(secret.toLowerCase());
      if (whole.text.includes(session)) {
        withId += 1;
        expect(seen.text).toContain(handle);
      }
    }
    // Sessions, one session, messages, audit and export.
    expect(withId).toBe(5);
  });

  it("reads a session by its handle, page by page, and finds it by the whole handle alone", async () => {
    const session = await converse(newWallet());
    const handle = await handleOf(session);
    const { session: seen, pending_actions } = (await read(`sessions/${handle}`)).as(AdminSessionDetail);
    expect(seen).toMatchObject({ session_id: handle, handle, title: `about ${handle}`, public_key: null });
    expect(pending_actions).toHaveLength(1);
    const first = await read(`sessions/${handle}/messages?limit=1`);
    expect(first.headers["link"]).toMatch(/^<\?/);
    const [message] = first.json() as [{ id: string; session_id: string; content: string }];
    expect((await ask("GET", "/api/state", { session: OTHER })).status).toBe(200);
    const other = await handleOf(OTHER);
    const content = `I am in ${handle}, ${handle} and ${other}`;
    expect(message).toMatchObject({ session_id: handle, thread_id: handle, content });
    const rest = await read(`sessions/${handle}/messages?after=${message.id}`);
    expect(rest.json()).toHaveLength(3);
    const found = async (search: string) =>
      (await read(`sessions?search=${encodeURIComponent(search)}`)).as(AdminSessionPage).sessions.length;
    expect(await found(handle)).toBe(1);
    expect(await found(session)).toBe(1);
    for (const part of [handle.slice(0, 12), handle.slice(0, 23), `${handle}A`])
      expect(await found(part)).toBe(0);
    const { entries } = (await read(`audit?target=${handle}`)).as(AuditPage);
    // Reads of one key within a calendar minute are one entry.
    const minutes = new Set(entries.map(({ actor, at }) => `${actor.id} ${at.slice(0, 16)}`));
    expect(new Set(entries.map(({ actor }) => actor.id)).size).toBe(2);
    expect(entries.map(({ target }) => target)).toEqual(Array.from(minutes, () => handle));
  });

  it.each(["nonsense", "h_", "h_AAAAAAAAAAAAAAAAAAAAAB"])(
    "gets 400 for %s, and 404 for another handle",
    async (id) => {
      expectProblem(await read(`sessions/${id}`), 400);
      expectProblem(await read("sessions/h_AAAAAAAAAAAAAAAAAAAAAA"), 404, "session_not_found");
      expectProblem(await read("sessions/h_AAAAAAAAAAAAAAAAAAAAAA/messages"), 404);
    },
  );
});

it("a handle opens nothing: all but the reads of operators refuse it, with any key", async () => {
  const session = await converse(newWallet());
  const handle = await handleOf(session);
  const before = (await ask("GET", "/api/state", { session })).text;
  const { id: action = "" } = (JSON.parse(before) as Snapshot).pending_actions[0] ?? {};
  const answer = (JSON.parse(before) as Snapshot).messages.at(-1)?.id ?? "";
  const conversation = {
    session: handle,
    action,
    answer,
    file: newSession(),
    resultFile: newSession(),
    title: "Renamed",
    clientId: "web",
  };
  const target = { app: "default", rig: "demo/assistant", slot: "", wallet: "", conversation };
  const naming = Object.entries(OPERATIONS).filter(([, { path, body }]) =>
    JSON.stringify([path(target), body?.(target)]).includes(handle),
  );
  expect(naming.length).toBeGreaterThan(15);
  for (const [name, operation] of naming) {
    const isAdmin = operation.class === "admin";
    for (const key of isAdmin ? [ADMIN_KEY, reader] : [null]) {
      const headers = key === null ? {} : { Authorization: `Bearer ${key}` };
      const { status, text } = await sendOperation(program.url, name, operation, target, headers);
      if (operation.refusesInBody === true) {
        expect([name, status, text]).toEqual([name, 200, expect.stringContaining('"isError":true')]);
        continue;
      }
      const isRead = name.startsWith("GET");
      const expected = isAdmin && isRead ? 200 : isAdmin && key === reader ? 403 : 400;
      expect([name, status]).toEqual([name, expected]);
    }
  }
  expectProblem(await ask("GET", "/api/state", { session: handle }), 400, "session_id_invalid");
  expect((await ask("GET", "/api/state", { session })).text).toBe(before);
});
