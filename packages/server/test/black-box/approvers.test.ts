// Approvers, who decide actions of conversations that they cannot open. `npm run test:nodes` also runs this
// file against three nodes.

import { randomUUID } from "node:crypto";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { ApproverAction, type Snapshot } from "@colloquy/protocol";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { z } from "zod";
import { Issuer } from "../issuer.ts";
import { expectProblem, newSession, send, type Call } from "./client.ts";
import { EventReader } from "./event-reader.ts";
import { Program } from "./server.ts";

const ADMIN_KEY = "admin-key-of-the-approvers-test";
const MODEL = "demo/assistant";

let issuer: Issuer;
let program: Program;
let config: (more?: object) => object;

beforeAll(async () => {
  issuer = await Issuer.start();
  const users = (audience: string) => ({ issuer: issuer.url, audience, required: true });
  const approvers = { claim: "realm_access.roles", values: ["finance", "lead"] };
  config = (more = {}) => ({
    protocols: { openai: { apps: ["shop"] }, "ag-ui": { apps: ["shop"] } },
    apps: {
      default: { models: [MODEL] },
      shop: {
        models: [MODEL],
        users: users("shop"),
        tools: ["calculator", "current_time"],
        approvals: {
          calculator: { when: "always", expiresAfter: "2d", approvers },
          current_time: { when: "always", approvers, owner: "may" },
        },
        ...more,
      },
      bank: {
        models: [MODEL],
        users: users("bank"),
        tools: ["calculator"],
        approvals: { calculator: { when: "always", approvers } },
      },
    },
  });
  program = await Program.start(config(), { COLLOQUY_ADMIN_KEY: ADMIN_KEY });
});
afterAll(async () => {
  await program.remove();
  await issuer.stop();
});

const now = () => Math.floor(Date.now() / 1000);
/** Returns a token for a user of an App with these roles. */
async function token(sub: string, roles: readonly string[] = [], more: object = {}): Promise<Call> {
  const claims = { iss: issuer.url, aud: "shop", sub, exp: now() + 600, jti: randomUUID() };
  const signed = await issuer.sign({ ...claims, realm_access: { roles }, ...more });
  return { headers: { Authorization: `Bearer ${signed}` } };
}
const finance = (sub = "fay", more: object = {}) =>
  token(sub, ["staff", "finance"], { name: "Fay", ...more });

const request = (method: string, path: string, call: Call) => send(program.url, method, path, call);
async function stateOf(session: string, call: Call): Promise<Snapshot> {
  return (await request("GET", "/api/state", { ...call, session })).json() as Snapshot;
}

/** Sends a message that causes an approval. Returns the session, its user's token and the pending action. */
async function ask(message = "what is 12 * 7?", user: string = randomUUID(), app = "shop") {
  const session = newSession();
  const call = await token(user, [], { aud: app });
  const query = new URLSearchParams({ message, app });
  expect((await request("POST", `/api/chat?${query.toString()}`, { ...call, session })).status).toBe(200);
  await expect.poll(async () => (await stateOf(session, call)).pending_actions.length).toBe(1);
  const { pending_actions } = await stateOf(session, call);
  return { session, user, call, id: pending_actions[0]?.id ?? "", action: pending_actions[0] };
}

async function pages(call: Call, query = "") {
  const found: ApproverAction[] = [];
  for (let next: string | undefined = `?status=pending${query}`; next !== undefined; ) {
    const answer = await request("GET", `/api/actions${next}`, call);
    expect([answer.status, answer.text.slice(0, 200)]).toEqual([200, expect.any(String)]);
    found.push(...answer.as(z.array(ApproverAction.strict())));
    next = /<(.*)>; rel="next"/.exec(answer.headers["link"]?.toString() ?? "")?.[1];
  }
  return found;
}
const idsFor = async (call: Call, query = "") => (await pages(call, query)).map(({ id }) => id);
const decide = (id: string, call: Call, json: unknown = { decision: "approve" }) =>
  request("POST", `/api/actions/${id}`, { ...call, json });

async function whenDone(session: string, call: Call): Promise<Snapshot> {
  await expect.poll(async () => (await stateOf(session, call)).is_processing).toBe(false);
  return await stateOf(session, call);
}

it("shows the request to the user's OpenAI client, but rejects its decision", async () => {
  const user = await token(randomUUID());
  const respond = (more: object) =>
    request("POST", "/v1/responses", { ...user, json: { model: "shop", ...more } });
  const asked = await respond({ input: "what is 12 * 7?" });
  const Asked = z.object({
    id: z.string(),
    output: z.array(z.looseObject({ type: z.string(), id: z.string() })),
  });
  const { id, output } = asked.as(Asked);
  const approval = output.find(({ type }) => type === "mcp_approval_request");
  expect(approval).toBeDefined();
  const decision = { type: "mcp_approval_response", approval_request_id: approval?.id, approve: true };
  const refused = await respond({ previous_response_id: id, input: [decision] });
  expect([refused.status, refused.text]).toEqual([403, expect.stringContaining("approver_required")]);
});

it.each([
  [
    "/api/ai-sdk/chat",
    (id: string) => ({ id, app: "shop", trigger: "submit-message", ...messageIn("parts") }),
    "tool-approval-request",
  ],
  [
    "/api/ag-ui?app=shop",
    (threadId: string) => ({
      threadId,
      runId: randomUUID(),
      tools: [],
      context: [],
      ...messageIn("content"),
    }),
    '"interrupt"',
  ],
])("is not offered to the user's client of %s", async (path, body, offer) => {
  const user = await token(randomUUID());
  const session = newSession();
  const asked = await request("POST", path, { ...user, session, json: body(session) });
  expect([asked.status, asked.text]).toEqual([200, expect.stringContaining("calculator")]);
  expect(asked.text).not.toContain(offer);
  expect((await stateOf(session, user)).pending_actions).toMatchObject([{ approvers: "only" }]);
});

/** Returns a message with its text in this field, as the protocols send it. */
function messageIn(field: "parts" | "content") {
  const text = "what is 12 * 7?";
  const content = field === "parts" ? [{ type: "text", text }] : text;
  return { messages: [{ id: randomUUID(), role: "user", [field]: content }] };
}

describe("GET /api/actions?status=pending of an approver", () => {
  it("lists tool, title and input from all conversations, but no other data", async () => {
    const { session, id, action, user } = await ask();
    const found = (await pages(await finance())).find((one) => one.id === id);
    expect(found).toEqual({
      id,
      app: "shop",
      tool: "calculator",
      title: "Calculator",
      input: action?.kind === "approval" && action.request.input,
      created_at: action?.created_at,
      expires_at: action?.expires_at,
      status: "pending",
      resolved_at: null,
    });
    expect(Date.parse(found?.expires_at ?? "") - Date.parse(found?.created_at ?? "")).toBe(2 * 86_400_000);
    const text = JSON.stringify(found);
    for (const secret of [session, user, "12 \\* 7?", action?.call_id ?? ""])
      expect(text).not.toMatch(secret);
  });

  it("pages with links, oldest first, and filters by App", async () => {
    const asked = [await ask(), await ask("call current_time {}"), await ask()];
    const bank = await ask(undefined, undefined, "bank");
    const ids = asked.map(({ id }) => id);
    const both = await finance("fay", { aud: ["shop", "bank"] });
    const all = await idsFor(both, "&limit=1");
    expect(all.filter((id) => [...ids, bank.id].includes(id))).toEqual([...ids, bank.id]);
    expect(await idsFor(both, "&app=bank")).toEqual([bank.id]);
    expect(await idsFor(both, "&app=shop")).not.toContain(bank.id);
    expect(await idsFor(await finance())).not.toContain(bank.id);
    expectProblem(await request("GET", "/api/actions?cursor=no", both), 400, "invalid_cursor");
    expectProblem(await request("GET", "/api/actions?status=decided", both), 400);
    expectProblem(await request("GET", "/api/actions?app=bank", await finance()), 403, "approver_unknown");
  });

  it("checks the claim on each request, as a string and as a list", async () => {
    const { id } = await ask();
    const path = "/api/actions?status=pending";
    for (const realm_access of [{ roles: "finance" }, { roles: ["x", "lead"] }])
      expect(await idsFor(await token("sam", [], { realm_access, aud: "shop" }))).toContain(id);
    for (const more of [
      {},
      { realm_access: { roles: ["Finance"] } },
      { "realm_access.roles": [["finance"]] },
    ]) {
      const call = await token("sam", [], more);
      expectProblem(await request("GET", path, call), 403, "approver_unknown");
      expectProblem(await decide(id, call), 403, "approver_unknown");
    }
    expectProblem(await request("GET", path, {}), 400, "session_id_missing");
    const expired = await finance("fay", { exp: now() - 600 });
    expectProblem(await request("GET", path, expired), 401, "token_expired");
    expectProblem(await decide(id, expired), 401, "token_expired");
    const revoked = await finance();
    expect((await request("POST", "/api/auth/revoke", revoked)).status).toBe(204);
    await expect.poll(async () => (await decide(id, revoked)).status).toBe(401);
    expectProblem(
      await request("GET", path, { ...(await finance()), session: "x" }),
      400,
      "session_id_invalid",
    );
  });

  it("lists the actions of a single conversation for its user", async () => {
    const { session, call, id } = await ask();
    const list = await request("GET", "/api/actions?status=pending", { ...call, session });
    expect(list.json()).toMatchObject([{ id, approvers: "only", status: "pending" }]);
    await decide(id, await finance());
    await whenDone(session, call);
    expect((await request("GET", "/api/actions?status=pending", { ...call, session })).json()).toEqual([]);
    expect((await request("GET", "/api/actions", { ...call, session })).json()).toMatchObject([{ id }]);
  });
});

describe("POST /api/actions/{id} of an approver", () => {
  it("continues the turn with the displayed input, and shows the approver's name to the user", async () => {
    const { session, call, id } = await ask();
    const reader = await EventReader.connect(program.url, session, { include: "messages,state", ...call });
    const [shown] = (await pages(await finance())).filter((one) => one.id === id);
    const answer = await decide(id, await finance(), { decision: "approve", comment: " As agreed. " });
    expect(answer.as(ApproverAction.strict())).toEqual({
      ...shown,
      status: "approved",
      resolved_at: expect.any(String),
    });
    const done = await whenDone(session, call);
    const [made] = done.messages[1]?.tool_calls ?? [];
    expect(made?.arguments).toEqual(shown?.input);
    expect(made?.decision).toEqual({
      kind: "approval",
      status: "approved",
      at: expect.any(String),
      by: "approver",
      name: "Fay",
      comment: "As agreed.",
    });
    expect(done.messages[1]?.content).toContain("84");
    await reader.find(({ type }) => type === "message_completed");
    reader.leave();
  });

  it("reports a denial and its comment to the user and the model", async () => {
    const { session, call, id } = await ask();
    expect((await decide(id, await finance(), { decision: "deny", comment: "Not today." })).status).toBe(200);
    const done = await whenDone(session, call);
    expect(done.messages[1]?.tool_results?.[0]?.output).toBe(
      "An approver denied this call. Comment: Not today.",
    );
    const long = { decision: "deny", comment: "x".repeat(1_001) };
    expectProblem(await decide(id, await finance(), long), 400);
  });

  it("gives no access to the conversation", async () => {
    const { session, id } = await ask();
    const call = await finance();
    await decide(id, call);
    for (const [method, path] of [
      ["GET", "/api/state"],
      ["GET", "/api/actions"],
      ["GET", `/api/sessions/${session}/messages`],
      ["POST", "/api/interrupt"],
      ["POST", `/api/actions/${id}`],
    ] as const) {
      const json = method === "POST" && path.includes(id) ? { json: { decision: "approve" } } : {};
      expectProblem(await request(method, path, { ...call, session, ...json }), 404, "session_not_found");
    }
  });

  // Growth-Circle/cadis#852: two concurrent approvals run the tool twice.
  it("accepts one of several concurrent decisions by approvers and the user", async () => {
    const { session, call, id } = await ask("call current_time {}");
    const answers = await Promise.all([
      ...Array.from({ length: 6 }, async (_, index) => decide(id, await finance(`fay${index}`))),
      decide(id, { ...call, session }),
      decide(id, await finance("dan"), { decision: "deny" }),
    ]);
    const statuses = answers.map(({ status }) => status);
    expect(statuses.filter((status) => status !== 200 && status !== 409)).toEqual([]);
    const done = await whenDone(session, call);
    expect(done.messages[1]?.tool_results).toHaveLength(1);
    const resolved = done.system_events.filter(({ type }) => type === "action_resolved");
    expect(resolved).toHaveLength(1);
    const isDenied = resolved[0]?.payload["status"] === "denied";
    expect(statuses.filter((status) => status === 200)).toHaveLength(isDenied ? 1 : 7);
    expectProblem(await decide(id, await finance(), { decision: isDenied ? "approve" : "deny" }), 409);
  });

  // google/grr#389, alphaonedev/ai-memory-mcp#1787: a user approves a request of their own.
  it("rejects decisions by the user who asked, unless the user may decide", async () => {
    const user = randomUUID();
    const { session, call, id } = await ask(undefined, user);
    const own = await finance(user);
    expect(await idsFor(own)).not.toContain(id);
    expectProblem(await decide(id, own), 403, "own_request");
    for (const asUser of [call, own])
      expectProblem(await decide(id, { ...asUser, session }), 403, "approver_required");
    expect((await stateOf(session, call)).pending_actions).toMatchObject([{ id, approvers: "only" }]);

    const free = await ask("call current_time {}", user);
    expect(free.action).toMatchObject({ approvers: "also" });
    expect(await idsFor(own)).toContain(free.id);
    expect((await decide(free.id, { ...free.call, session: free.session })).status).toBe(200);
  });

  // samhotchkiss/otter-camp#504: a program acts as the second person.
  it("rejects keys, even one that acts for an approver", async () => {
    const { session, id } = await ask();
    const issued = await request("POST", "/api/admin/keys", {
      headers: { Authorization: `Bearer ${ADMIN_KEY}` },
      json: { apps: ["shop"], scopes: ["chat", "read", "act_as"] },
    });
    const { key } = issued.json() as { readonly key: string };
    const headers = { "SERVICE-APP-KEY": key, "Colloquy-Owner": `${issuer.url} fay` };
    expectProblem(
      await request("GET", "/api/actions?status=pending", { headers }),
      400,
      "session_id_missing",
    );
    expectProblem(await decide(id, { headers }), 400, "session_id_missing");
    expectProblem(await decide(id, { headers, session }), 404, "session_not_found");
    const user = randomUUID();
    const asked = await ask(undefined, user);
    const asOwner = { "SERVICE-APP-KEY": key, "Colloquy-Owner": `${issuer.url} ${user}` };
    expectProblem(
      await decide(asked.id, { headers: asOwner, session: asked.session }),
      403,
      "approver_required",
    );
  });

  // activepieces/activepieces#14024: a mail scanner's GET of a link decides.
  it("decides nothing on a GET request", async () => {
    const { session, call, id } = await ask();
    const approver = await finance();
    for (const path of [`/api/actions/${id}`, `/api/actions/${id}?decision=approve`])
      expect((await fetch(program.url + path, { headers: approver.headers as never })).status).toBe(405);
    expect((await stateOf(session, call)).pending_actions).toHaveLength(1);
  });

  // vercel/eve#2217: a message that follows makes the model ask again.
  it("creates no second request for later messages, and cancels the request when the user stops the answer", async () => {
    const { session, call, id } = await ask();
    await request("POST", "/api/chat?message=what%20is%2012%20*%207%3F", { ...call, session });
    expect((await stateOf(session, call)).pending_actions).toHaveLength(1);
    await request("POST", "/api/interrupt", { ...call, session });
    expect(await idsFor(await finance())).not.toContain(id);
    expectProblem(await decide(id, await finance()), 409, "action_cancelled");
  });

  it("cancels the request when its message is replaced or its user is erased", async () => {
    const replaced = await ask();
    const { messages } = await stateOf(replaced.session, replaced.call);
    const json = { message: "hello", app: "shop", replaces: messages[0]?.id };
    const sent = await request("POST", "/api/chat", { ...replaced.call, session: replaced.session, json });
    expect(sent.status).toBe(200);
    expectProblem(await decide(replaced.id, await finance()), 404, "action_not_found");

    const erased = await ask();
    expect((await request("DELETE", "/api/users/me?app=shop", erased.call)).status).toBe(200);
    expectProblem(await decide(erased.id, await finance()), 404, "action_not_found");
    const left = await idsFor(await finance());
    for (const { id } of [replaced, erased]) expect(left).not.toContain(id);
    expectProblem(await decide(randomUUID(), await finance()), 404, "action_not_found");
  });

  it("records the decision under the approver's pseudonym in the audit trail", async () => {
    const { session, id } = await ask();
    await decide(id, await finance("auditee"), { decision: "deny", comment: "A secret word" });
    const admin = { headers: { Authorization: `Bearer ${ADMIN_KEY}` } };
    const trail = await request("GET", `/api/admin/audit?action=action_decided&target=${session}`, admin);
    expect(trail.json()).toMatchObject({
      entries: [
        {
          actor: { kind: "user", id: expect.any(String), name: null },
          app: "shop",
          details: { action: id, tool: "calculator", decision: "deny", as: "approver" },
        },
      ],
    });
    expect(trail.text).not.toContain("auditee");
    expect(trail.text).not.toContain("secret word");
  });
});

// netclaw-dev/netclaw#1204: approvals are lost in a crash. Siddhant-K-code/agent-trace#137: they outlive
// their rule.
describe("a pending action of a killed service", () => {
  it("can be decided after the restart by the approvers in the current configuration", async () => {
    const [kept, moved] = [await ask(), await ask()];
    await program.stop("SIGKILL");
    await program.run();
    expect(await idsFor(await finance())).toEqual(expect.arrayContaining([kept.id, moved.id]));
    expect((await decide(kept.id, await finance())).status).toBe(200);
    const done = await whenDone(kept.session, kept.call);
    expect(done.messages[1]?.tool_results).toHaveLength(1);
    expect(done.messages[1]?.content).toContain("84");

    await program.stop();
    const approvers = { claim: "role", values: ["board"] };
    const more = { approvals: { calculator: { when: "always", approvers, owner: "may" } } };
    await writeFile(join(program.directory, "colloquy.config.json"), JSON.stringify(config(more)));
    await program.run();
    expectProblem(await decide(moved.id, await finance()), 403, "approver_unknown");
    // Whether the user may decide was fixed when the request was made.
    expectProblem(
      await decide(moved.id, { ...moved.call, session: moved.session }),
      403,
      "approver_required",
    );
    expect((await decide(moved.id, await token("bo", [], { role: "board" }))).status).toBe(200);
    expect((await whenDone(moved.session, moved.call)).messages[1]?.content).toContain("84");

    const orphan = await ask();
    await program.stop();
    const without = { tools: ["current_time"], approvals: {} };
    await writeFile(join(program.directory, "colloquy.config.json"), JSON.stringify(config(without)));
    await program.run();
    expectProblem(await decide(orphan.id, await token("bo", [], { role: "board" })), 403, "approver_unknown");
    expect((await decide(orphan.id, { ...orphan.call, session: orphan.session })).status).toBe(200);
    const { messages } = await whenDone(orphan.session, orphan.call);
    expect(messages[1]?.tool_results?.[0]).toMatchObject({ is_error: true });
    expect(messages[1]?.tool_results?.[0]?.output).toContain("There is no tool with this name.");
  });
});
