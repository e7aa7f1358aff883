// Export and erasure of a user's data. `npm run test:nodes` runs this on three nodes too.

import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { Client } from "pg";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Issuer } from "../issuer.ts";
import { expectProblem, newSession, newWallet, send, type Answer, type Call } from "./client.ts";
import { Program } from "./server.ts";

const ADMIN_KEY = "admin-key-of-the-user-data-test";
const ADMIN = { headers: { Authorization: `Bearer ${ADMIN_KEY}` } };
/** Part of every text, value and decision of the user. */
const CANARY = "CANARY-7f3a91";

let issuer: Issuer;
let program: Program;
beforeAll(async () => {
  issuer = await Issuer.start();
  const users = (audience: string) => ({ issuer: issuer.url, audience });
  const secrets = [{ name: "API_KEY", description: "A key" }];
  const tools = ["calculator", "ask_user"];
  program = await Program.start(
    {
      apps: {
        default: { users: users("here"), tools },
        shop: { users: users("shop"), tools, secrets, approvals: { calculator: "always" } },
      },
    },
    { COLLOQUY_ADMIN_KEY: ADMIN_KEY },
  );
});
afterAll(async () => {
  await program.remove();
  await issuer.stop();
});

const as = async (subject: string, audience = "shop"): Promise<Call> => ({
  headers: { Authorization: `Bearer ${await issuer.token(subject, audience)}` },
});
const ask = (method: string, path: string, { headers = {}, ...call }: Call = {}) =>
  send(program.url, method, path, { session: newSession(), headers, ...call });

async function chat(message: string, call: Call, more: object = {}, session = newSession()): Promise<string> {
  const headers = { Prefer: "wait=20", ...call.headers };
  const answer = await ask("POST", "/api/chat", {
    headers,
    session,
    json: { message, app: "shop", ...more },
  });
  expect(answer.status).toBe(200);
  return session;
}

const linesOf = (answer: Answer) =>
  answer.text
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as Record<string, never>);

/** Leaves the canary in every table that holds data of a user. Returns the session, which waits for a decision. */
async function leaveCanaries(call: Call): Promise<string> {
  const session = await chat(`${CANARY} first`, call, {
    public_key: `0x${CANARY}`,
    user_state: { note: CANARY },
  });
  await ask("PATCH", `/api/sessions/${session}`, { ...call, json: { title: `${CANARY} title` } });
  const set = await ask("PUT", "/api/secrets?app=shop", { ...call, json: { API_KEY: `${CANARY} secret` } });
  expect(set.status).toBe(200);
  const key = { ...call, headers: { ...call.headers, "Idempotency-Key": CANARY } };
  await chat(`call ask_user {"question":"${CANARY}?"}`, key, {}, session);
  return session;
}

describe("an export", () => {
  it("contains only the user's sessions, messages, actions and secret names in the App", async () => {
    const alice = await as("alice");
    const session = await leaveCanaries(alice);
    await chat("not hers", await as("bob"));
    await chat("elsewhere", await as("alice", "here"), { app: "default" });
    const answer = await ask("GET", "/api/users/me/export?app=shop", alice);
    expect(answer.status).toBe(200);
    expect(answer.headers["content-type"]).toContain("application/x-ndjson");
    const lines = linesOf(answer);
    expect(lines.map(({ kind }) => kind)).toEqual([
      "session",
      ...Array<string>(4).fill("message"),
      "action",
      "secret",
      "done",
    ]);
    expect(lines[0]).toMatchObject({
      session: { session_id: session, title: `${CANARY} title`, user_state: { note: CANARY } },
    });
    expect(lines[1]).toMatchObject({ message: { role: "user", content: `${CANARY} first` } });
    expect(lines[5]).toMatchObject({ session_id: session, action: { kind: "question", status: "pending" } });
    expect(lines[6]).toEqual({ kind: "secret", app: "shop", name: "API_KEY" });
    expect(lines[7]).toEqual({ kind: "done", sessions: 1, messages: 4, actions: 1, secrets: 1 });
    expect(answer.text).not.toMatch(/not hers|elsewhere|CANARY-7f3a91 secret/);
  });

  it("requires a user of the App", async () => {
    for (const method of ["GET", "DELETE"]) {
      const path = method === "GET" ? "/api/users/me/export" : "/api/users/me";
      expectProblem(await ask(method, path), 401, "token_required");
      expectProblem(await ask(method, `${path}?app=shop`, await as("alice", "here")), 401, "token_required");
      expectProblem(await ask(method, path, await as("alice", "nobody")), 401, "token_audience_wrong");
    }
  });

  it("can be requested by operators for a user or wallet, in one App or all", async () => {
    const wallet = newWallet();
    await chat("by wallet", {}, { app: "default", public_key: wallet });
    const ofWallet = await ask("GET", `/api/admin/users/export?public_key=${wallet}`, ADMIN);
    expect(linesOf(ofWallet).at(-1)).toMatchObject({ sessions: 1, messages: 2 });
    await chat("one", await as("carol"));
    await chat("two", await as("carol", "here"), { app: "default" });
    const person = `issuer=${encodeURIComponent(issuer.url)}&subject=carol`;
    const all = await ask("GET", `/api/admin/users/export?${person}`, ADMIN);
    expect(linesOf(all).at(-1)).toMatchObject({ sessions: 2, messages: 4 });
    const one = await ask("GET", `/api/admin/users/export?${person}&app=shop`, ADMIN);
    expect(linesOf(one).at(-1)).toMatchObject({ sessions: 1 });
    const refused = (query: string) => ask("GET", `/api/admin/users/export?${query}`, ADMIN);
    for (const query of ["", "owner=x&public_key=0xa"])
      expectProblem(await refused(query), 400, "parameter_missing");
    for (const query of ["issuer=x", `${person}&public_key=0xa`, `${person}&owner=x`])
      expectProblem(await refused(query), 400, "parameter_invalid");
  });
});

describe("an erasure", () => {
  it("removes all data of the user in the App, even from the database files, and keeps everything else", async () => {
    const dora = await as("dora");
    const session = await leaveCanaries(dora);
    expect(await placesOf(CANARY)).not.toEqual([]);
    const others = [
      await chat("of another user", await as("emil")),
      await chat("of another App", await as("dora", "here"), { app: "default" }),
    ];
    await chat("count to 200", { headers: { ...dora.headers, Prefer: "wait=0" } });
    // Remove the sessions of the other tests.
    for (const subject of ["alice", "dora"]) {
      const answer = await ask("DELETE", "/api/users/me?app=shop", await as(subject));
      expect(answer.status).toBe(200);
      if (subject === "dora") expect(answer.json()).toMatchObject({ sessions: 2, secrets: 1 });
    }
    expectProblem(await ask("GET", `/api/sessions/${session}`, dora), 404, "session_not_found");
    const again = await ask("DELETE", "/api/users/me?app=shop", dora);
    expect(again.json()).toEqual({ sessions: 0, messages: 0, secrets: 0 });
    expect((await ask("GET", `/api/sessions/${others[0]}`, await as("emil"))).status).toBe(200);
    expect((await ask("GET", `/api/sessions/${others[1]}`, await as("dora", "here"))).status).toBe(200);
    expect(await placesOf(CANARY)).toEqual([]);
  });

  it("is audited with counts and a pseudonym that can no longer be resolved", async () => {
    const finn = await as("finn");
    await chat("hello", finn);
    await ask("GET", "/api/users/me/export?app=shop", finn);
    await ask("DELETE", "/api/users/me?app=shop", finn);
    await chat("hello again", finn);
    await ask("DELETE", "/api/users/me?app=shop", finn);
    const trail = await ask("GET", "/api/admin/audit?app=shop&limit=3", ADMIN);
    const { entries } = trail.json() as { entries: { action: string; target: string; details: object }[] };
    expect(entries).toMatchObject([
      { action: "user_erased", actor: { kind: "user" }, details: { sessions: 1, messages: 2, secrets: 0 } },
      { action: "user_erased", details: { sessions: 1 } },
      { action: "user_exported", details: {} },
    ]);
    expect(entries[1]!.target).toBe(entries[2]!.target);
    expect(entries[0]!.target).not.toBe(entries[1]!.target);
    expect(trail.text).not.toContain("finn");
  });

  it("can be requested by operators, also for the sessions of a wallet", async () => {
    const wallet = newWallet();
    const session = await chat("by wallet", {}, { app: "default", public_key: wallet });
    const erased = await ask("DELETE", `/api/admin/users?public_key=${wallet}`, ADMIN);
    expect(erased.json()).toEqual({ sessions: 1, messages: 2, secrets: 0 });
    expectProblem(await ask("GET", `/api/sessions/${session}`), 404, "session_not_found");
    const gina = await as("gina");
    await ask("PUT", "/api/secrets?app=shop", { ...gina, json: { API_KEY: "x" } });
    await chat("one", gina);
    const person = `issuer=${encodeURIComponent(issuer.url)}&subject=gina`;
    expect((await ask("DELETE", `/api/admin/users?${person}`, ADMIN)).json()).toEqual({
      sessions: 1,
      messages: 2,
      secrets: 1,
    });
  });

  it.each(["public_key=WALLET&app=", "app=shop&public_key=", "app=shop&issuer=&subject="])(
    "is refused for %s, because an empty parameter does not count as absent",
    async (query) => {
      const wallet = newWallet();
      const session = await chat("by wallet", {}, { app: "default", public_key: wallet });
      const path = `/api/admin/users?${query.replace("WALLET", wallet)}`;
      expectProblem(await ask("DELETE", path, ADMIN), 400, "parameter_invalid");
      expect((await ask("GET", `/api/sessions/${session}`)).status).toBe(200);
    },
  );
});

it.each(["sessions", "audit", "keys"])("GET /api/admin/%s refuses an empty App", async (list) => {
  expectProblem(await ask("GET", `/api/admin/${list}?app=`, ADMIN), 400, "parameter_invalid");
});

/** Returns where the text is still stored: tables of PostgreSQL, or files of SQLite. */
async function placesOf(text: string): Promise<readonly string[]> {
  const url = program.environment["COLLOQUY_DATABASE_URL"];
  if (url !== undefined) return await tablesWith(url, text);
  const directory = join(program.directory, "data");
  const files = (await readdir(directory)).filter((name) => name.startsWith("colloquy.db"));
  expect(files.length).toBeGreaterThan(0);
  const contents = await Promise.all(files.map((name) => readFile(join(directory, name))));
  return files.filter((_name, index) => contents[index]!.includes(text));
}

async function tablesWith(connectionString: string, text: string): Promise<readonly string[]> {
  const client = new Client({ connectionString });
  await client.connect();
  try {
    const tables = await client.query<{ name: string }>(
      "SELECT format('%I.%I', schemaname, tablename) AS name FROM pg_tables WHERE schemaname NOT IN ('pg_catalog', 'information_schema')",
    );
    const found: string[] = [];
    for (const { name } of tables.rows) {
      const rows = await client.query(`SELECT 1 FROM ${name} AS t WHERE strpos(t::text, $1) > 0`, [text]);
      if (rows.rowCount !== 0) found.push(name);
    }
    return found;
  } finally {
    await client.end();
  }
}
