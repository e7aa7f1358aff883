// The audit trail over HTTP. `npm run test:nodes` runs this on three nodes too.

import { AdminSessionDetail, AuditPage, type AuditEntry } from "@colloquy/protocol";
import { afterAll, beforeAll, expect, it } from "vitest";
import { Issuer } from "../issuer.ts";
import { expectProblem, newSession, send, type Call } from "./client.ts";
import { Program } from "./server.ts";

const ADMIN_KEY = "admin-key-of-the-audit-test";
const SECRETS = [{ name: "API_KEY", description: "A key" }];

let issuer: Issuer;
let program: Program;
beforeAll(async () => {
  issuer = await Issuer.start();
  const users = { issuer: issuer.url, audience: "here", claimSessions: true };
  program = await Program.start(
    {
      apps: {
        default: { users, tools: ["calculator"], approvals: { calculator: "always" } },
        shop: { secrets: SECRETS, requireKey: "chat" },
      },
      operators: { issuer: issuer.url, audience: "operators", claim: "groups", values: ["support"] },
    },
    { COLLOQUY_ADMIN_KEY: ADMIN_KEY },
  );
});
afterAll(async () => {
  await program.remove();
  await issuer.stop();
});

const bearer = (token: string) => ({ Authorization: `Bearer ${token}` });
const ask = (method: string, path: string, call: Call = {}) =>
  send(program.url, method, path, { session: newSession(), ...call });
const admin = (method: string, path: string, call: Call = {}) =>
  ask(method, `/api/admin/${path}`, { headers: bearer(ADMIN_KEY), ...call });

async function trail(query: string): Promise<AuditEntry[]> {
  const answer = await admin("GET", `audit?${query}`);
  expect(answer.status).toBe(200);
  return answer.as(AuditPage).entries;
}

async function operator(name: string): Promise<Call> {
  const exp = Math.floor(Date.now() / 1000) + 600;
  const claims = {
    iss: issuer.url,
    aud: "operators",
    sub: `id of ${name}`,
    email: name,
    groups: ["support"],
    exp,
  };
  return { headers: bearer(await issuer.sign(claims)) };
}

async function chat(session: string, message = "hello", headers: Call["headers"] = {}): Promise<void> {
  const path = `/api/chat?message=${encodeURIComponent(message)}`;
  const answer = await ask("POST", path, { session, headers: { Prefer: "wait=20", ...headers } });
  expect(answer.status).toBe(200);
}

it("names the operator who read or deleted a conversation, without its text", async () => {
  const session = newSession();
  await chat(session, "CANARY of the audit trail");
  const ada = await operator("ada@example.com");
  for (const path of [`sessions/${session}`, `sessions/${session}/messages`, `sessions/${session}`])
    expect((await admin("GET", path, ada)).status).toBe(200);
  expect((await admin("DELETE", `sessions/${session}`, ada)).status).toBe(200);
  const entries = await trail(`target=${session}`);
  const [deletion, ...reads] = entries;
  expect(deletion?.action).toBe("session_deleted");
  // The service stores one read per minute, and a minute may begin during the test.
  const minutes = new Set(reads.map(({ at }) => at.slice(0, "2026-11-29T09:54".length)));
  expect(minutes.size).toBeGreaterThan(0);
  expect(reads.map(({ action }) => action)).toEqual(Array.from(minutes, () => "session_read"));
  for (const entry of entries) {
    const actor = { kind: "operator", id: "id of ada@example.com", name: "ada@example.com" };
    expect(entry).toMatchObject({ actor, app: "default", target: session, request_id: expect.any(String) });
    expect(entry.actor.address).toMatch(/^(127\.0\.0\.1|::1|::ffff:127\.0\.0\.1)$/);
  }
  expect(JSON.stringify(entries)).not.toContain("CANARY");
  expect(await trail("actor=ada@example.com")).toEqual(entries);
});

it("names the operator who read only the messages of a conversation", async () => {
  const session = newSession();
  await chat(session);
  await admin("GET", `sessions/${session}/messages`);
  expect(await trail(`target=${session}`)).toMatchObject([{ action: "session_read" }]);
});

it("names the operator who decided an action on behalf of a user", async () => {
  const session = newSession();
  await chat(session, "what is 12 * 7?");
  const ada = await operator("ada@example.com");
  const seen = (await admin("GET", `sessions/${session}`, ada)).as(AdminSessionDetail);
  const [pending] = seen.pending_actions;
  expect(pending).toMatchObject({ kind: "approval", tool: "calculator" });
  const path = `sessions/${session}/actions/${pending!.id}`;
  const decided = await admin("POST", path, { ...ada, json: { decision: "approve" } });
  expect(decided.json()).toMatchObject({ id: pending!.id, status: "approved" });
  const state = await ask("GET", "/api/state", { session, headers: { Prefer: "wait=20" } });
  expect(state.text).toContain("84");
  const after = (await admin("GET", `sessions/${session}`, ada)).as(AdminSessionDetail);
  expect(after.pending_actions).toEqual([]);
  expectProblem(await admin("POST", path, { ...ada, json: { decision: "deny" } }), 409, "action_decided");
  const other = `sessions/${newSession()}/actions/${pending!.id}`;
  expectProblem(await admin("POST", other, { json: { decision: "deny" } }), 404, "action_not_found");
  const [entry] = await trail(`target=${session}&action=action_decided`);
  expect(entry).toMatchObject({
    actor: { kind: "operator", name: "ada@example.com" },
    details: { action: pending!.id, tool: "calculator", decision: "approve" },
  });
});

it("records changes of keys, with actor and scopes", async () => {
  const created = await admin("POST", "keys", { json: { apps: ["shop"], name: "web" } });
  const { id, key } = created.json() as { id: string; key: string };
  await admin("POST", `keys/${id}/rotate`, { json: {} });
  await admin("DELETE", `keys/${id}`);
  const entries = await trail(`target=${id}`);
  expect(entries.map(({ action }) => action)).toEqual(["key_revoked", "key_rotated", "key_created"]);
  expect(entries.at(-1)).toMatchObject({
    actor: { kind: "admin_key", id: null },
    details: { name: "web", apps: ["shop"], scopes: ["chat", "read", "secrets"] },
  });
  expect(JSON.stringify(entries)).not.toContain(key.slice(key.lastIndexOf("_") + 1));
});

it("records changes of secrets by key, without values", async () => {
  const created = await admin("POST", "keys", { json: { apps: ["shop"] } });
  const { id, key } = created.json() as { id: string; key: string };
  const call = { headers: { "SERVICE-APP-KEY": key } };
  const path = "/api/secrets?app=shop&client_id=carol";
  expect((await ask("PUT", path, { ...call, json: { API_KEY: "a value" } })).status).toBe(200);
  await ask("DELETE", path, call);
  // Nothing was left to remove.
  await ask("DELETE", path, call);
  const entries = await trail(`actor=${id}`);
  expect(entries).toMatchObject([
    { action: "secrets_removed", app: "shop", details: { names: null } },
    { action: "secrets_set", app: "shop", details: { names: ["API_KEY"] }, actor: { kind: "key", id } },
  ]);
  expect(JSON.stringify(entries)).not.toMatch(/a value|carol/);
});

it("records decisions, claims and transfers, with a pseudonym for each user", async () => {
  const token = { headers: bearer(await issuer.token("dora", "here")) };
  const session = newSession();
  await chat(session, "what is 12 * 7?");
  const pending = await ask("GET", "/api/actions", { session });
  const [action] = pending.json() as [{ id: string }];
  const decision = { session, json: { decision: "approve" } };
  expect((await ask("POST", `/api/actions/${action.id}`, decision)).status).toBe(200);
  await expect
    .poll(async () => (await ask("POST", `/api/sessions/${session}/claim`, token)).status)
    .toBe(200);
  const user = { issuer: issuer.url, subject: "dora" };
  await admin("PUT", `sessions/${session}/owner`, { json: { user: null } });
  await admin("PUT", `sessions/${session}/owner`, { json: { user } });
  const entries = await trail(`target=${session}`);
  expect(entries).toMatchObject([
    { action: "session_transferred", actor: { kind: "admin_key" } },
    { action: "session_transferred", details: { to: null } },
    { action: "session_claimed", actor: { kind: "user", name: null } },
    {
      action: "action_decided",
      actor: { kind: "client", id: null },
      details: { action: action.id, kind: "approval", tool: "calculator", decision: "approve" },
    },
  ]);
  expect(entries[0]!.details["to"]).toBe(entries[2]!.actor.id);
  expect(entries[0]!.details["to"]).toMatch(/^[\w-]{43}$/);
  expect(JSON.stringify(entries)).not.toContain("dora");
});

it("records one entry per minute for failed logins from an address", async () => {
  for (let tries = 0; tries < 3; tries += 1)
    expectProblem(
      await ask("GET", "/api/admin/apps", { headers: bearer("wrong") }),
      401,
      "admin_key_invalid",
    );
  // The minute may have changed in between.
  const found = async () => (await trail("action=login_failed")).length;
  await expect.poll(found).toBeGreaterThan(0);
  expect(await found()).toBeLessThanOrEqual(2);
});

it("is read in pages, and rejects invalid filters with the reason", async () => {
  for (let made = 0; made < 3; made += 1) await admin("POST", "keys", { json: { apps: ["shop"] } });
  const first = (await admin("GET", "audit?limit=2")).as(AuditPage);
  const second = (await admin("GET", `audit?limit=2&cursor=${first.next_cursor}`)).as(AuditPage);
  const both = await trail("limit=4");
  expect([...first.entries, ...second.entries]).toEqual(both);
  const [newest] = both;
  expect(await trail(`from=${newest!.at}&limit=1`)).toEqual([newest]);
  expect(await trail("to=2020-01-01T00:00:00Z")).toEqual([]);
  expectProblem(await admin("GET", "audit?cursor=x"), 400, "invalid_cursor");
  expectProblem(await admin("GET", "audit?action=none"), 400, "parameter_invalid");
  expectProblem(await admin("GET", "audit?from=yesterday"), 400, "parameter_invalid");
});
