// Tools that run in the client: claims and results over HTTP.

import { ActionClaim, Attachment, type PendingAction } from "@colloquy/protocol";
import { afterEach, describe, expect, it } from "vitest";
import { expectProblem, newSession, send, state, whenIdle } from "./client.ts";
import { EventReader } from "./event-reader.ts";
import { fold } from "./reference-fold.ts";
import { Program, useService } from "./server.ts";

const SCHEMA = { type: "object", properties: { city: { type: "string" } }, required: ["city"] };
const WHERE = { description: "Looks where the user is", inputSchema: SCHEMA };
const CONFIG = {
  apps: {
    default: {
      models: ["demo/assistant"],
      clientTools: { look: WHERE, peek: { ...WHERE, repeatable: true, timeoutMs: 120_000 } },
      allowClientTools: true,
      secrets: [{ name: "TOKEN", description: "A token" }],
    },
    closed: { models: ["demo/assistant"] },
  },
};

type Clients = "action" | "session";
type Waiting = { readonly [Part in Clients]: string } & { readonly asked: PendingAction };

/** Sends a chat that calls the tool. Returns the action that a client must run. */
async function waiting(url: string, tool = "look", more: object = {}): Promise<Waiting> {
  const session = newSession();
  const message = `call ${tool} {"city":"Bern"}`;
  const sent = await send(url, "POST", "/api/chat", { session, json: { message, ...more } });
  expect([sent.status, sent.text]).toEqual([200, expect.any(String)]);
  await expect.poll(async () => (await state(url, session)).pending_actions.length).toBe(1);
  const [asked] = (await state(url, session)).pending_actions;
  return { session, action: asked!.id, asked: asked! };
}

function claim(url: string, { session, action }: Pick<Waiting, Clients>, json?: object) {
  return send(url, "POST", `/api/actions/${action}/claim`, { session, ...(json !== undefined && { json }) });
}

async function claimed(url: string, target: Pick<Waiting, Clients>): Promise<string> {
  const answer = await claim(url, target);
  expect(answer.status).toBe(200);
  return answer.as(ActionClaim).claim;
}

function decide(url: string, { session, action }: Pick<Waiting, Clients>, json: object) {
  return send(url, "POST", `/api/actions/${action}`, { session, json });
}

async function resultOf(url: string, session: string) {
  await whenIdle(url, session);
  return (await state(url, session)).messages[1]?.tool_results?.[0];
}

describe("a tool that runs in the client", () => {
  const url = useService(CONFIG);

  it("is claimed, renewed, and answered by one client; every subscriber sees the claim", async () => {
    const target = await waiting(url());
    const { session, asked } = target;
    expect(asked).toMatchObject({
      kind: "client_tool",
      tool: "look",
      request: { tool: "look", input: { city: "Bern" } },
      claim_expires_at: null,
    });
    const before = await state(url(), session);
    const reader = await EventReader.connect(url(), session, { include: "tools,messages,state" });
    const first = (await claim(url(), target)).as(ActionClaim);
    expect((await state(url(), session)).pending_actions).toMatchObject([
      { claim_expires_at: first.expires_at },
    ]);
    expectProblem(await claim(url(), target), 409, "action_claimed");
    expectProblem(await claim(url(), target, { claim: "another" }), 409, "action_claimed");
    const again = (await claim(url(), target, { claim: first.claim })).as(ActionClaim);
    expect(again.claim).toBe(first.claim);
    expect(Date.parse(again.expires_at)).toBeGreaterThanOrEqual(Date.parse(first.expires_at));
    const result = { output: { found: true } };
    expectProblem(await decide(url(), target, { decision: "approve", result }), 409, "action_claimed");
    expectProblem(await decide(url(), target, { decision: "deny" }), 409, "action_claimed");
    const decided = await decide(url(), target, { decision: "approve", claim: first.claim, result });
    expect(decided.json()).toMatchObject({ status: "approved", result, claim_expires_at: null });
    expect(await resultOf(url(), session)).toMatchObject({ output: { found: true }, is_error: false });
    const after = await state(url(), session);
    await reader.until(() => reader.lastEventId === after.last_event_id);
    expect(fold(before, reader.events)).toEqual(after);
    expect(JSON.stringify(reader.events)).not.toContain(first.claim);
    reader.leave();
  });

  it("returns the same claim for a repeated Idempotency-Key, and no other action's", async () => {
    const target = await waiting(url());
    const path = `/api/actions/${target.action}/claim`;
    const ask = (key: string) =>
      send(url(), "POST", path, { session: target.session, headers: { "idempotency-key": key } });
    const [first, again] = [await ask("mine"), await ask("mine")].map(
      (answer) => answer.as(ActionClaim).claim,
    );
    expect(again).toBe(first);
    const other = await waiting(url());
    const headers = { "idempotency-key": "mine" };
    const ofOther = await send(url(), "POST", `/api/actions/${other.action}/claim`, {
      session: other.session,
      headers,
    });
    expect(ofOther.as(ActionClaim).claim).not.toBe(first);
    expectProblem(await ask("another"), 409, "action_claimed");
    expectProblem(await ask("\t"), 400, "idempotency_key_invalid");
    expectProblem(await decide(url(), target, { decision: "deny", claim: "mine" }), 409, "action_claimed");
    expect((await decide(url(), target, { decision: "deny", claim: first })).status).toBe(200);
  });

  it("gives the model a client's error, and a denial without a claim", async () => {
    const failing = await waiting(url());
    await decide(url(), failing, {
      decision: "approve",
      claim: await claimed(url(), failing),
      result: { error: "no position" },
    });
    expect(await resultOf(url(), failing.session)).toMatchObject({ output: "no position", is_error: true });
    const denied = await waiting(url());
    expect((await decide(url(), denied, { decision: "deny" })).status).toBe(200);
    expect(await resultOf(url(), denied.session)).toMatchObject({ is_error: true });
    expectProblem(await claim(url(), denied), 409, "action_decided");
  });

  it.each([
    { result: null },
    { result: {} },
    { result: { output: 1, error: "x" } },
    { result: { error: 1 } },
    {},
  ])("rejects %j as a result", async (wrong) => {
    const target = await waiting(url());
    const token = await claimed(url(), target);
    const answer = await decide(url(), target, { decision: "approve", claim: token, ...wrong });
    expectProblem(answer, 400, "action_result_invalid");
    const unclaimed = await waiting(url());
    const result = { output: 1 };
    const late = await decide(url(), unclaimed, { decision: "approve", claim: token, result });
    expectProblem(late, 409, "action_not_claimed");
  });

  it("keeps 64 KiB of an output, and takes a body of 80 KiB", async () => {
    const target = await waiting(url());
    const token = await claimed(url(), target);
    const body = (length: number) => ({
      decision: "approve",
      claim: token,
      result: { output: "x".repeat(length) },
    });
    expectProblem(await decide(url(), target, body(82_000)), 413, "body_too_large");
    expect((await decide(url(), target, body(75_000))).status).toBe(200);
    const output = (await resultOf(url(), target.session))?.output;
    expect(output).toContain("[Cut: this is the beginning of 75002 bytes.]");
    expect(JSON.stringify(output).length).toBeLessThanOrEqual(64 * 1_024);
  });

  it.each([
    ["an output", (secret: string) => ({ output: { said: `the token is ${secret}`, [secret]: [secret] } })],
    ["an error", (secret: string) => ({ error: `the token is ${secret}` })],
  ])("shows the client's secrets in %s to nobody", async (_what, resultWith) => {
    const secret = "s3cr3t-of-the-client-0123456789";
    const set = await send(url(), "PUT", "/api/secrets?client_id=me", { json: { TOKEN: secret } });
    expect(set.status).toBe(200);
    const target = await waiting(url(), "look", { client_id: "me" });
    const { session } = target;
    const reader = await EventReader.connect(url(), session, { include: "tools,messages,state" });
    const body = { decision: "approve", claim: await claimed(url(), target), result: resultWith(secret) };
    const decided = await decide(url(), target, body);
    expect((await decide(url(), target, body)).json()).toEqual(decided.json());
    expect(JSON.stringify(await resultOf(url(), session))).toContain("the token is [secret]");
    // The demo model repeats what it is given.
    const after = await state(url(), session);
    expect(after.messages[1]?.content).toContain("the token is [secret]");
    await reader.until(() => reader.lastEventId === after.last_event_id);
    const shown = [decided.text, JSON.stringify([after, reader.events])];
    for (const path of ["/api/actions", `/api/sessions/${session}/messages`])
      shown.push((await send(url(), "GET", path, { session })).text);
    for (const text of shown) expect(text).not.toContain(secret);
    reader.leave();
  });

  async function uploaded(session: string, text: string): Promise<string> {
    const headers = { "Content-Type": "text/plain" };
    const answer = await send(url(), "POST", "/api/files?name=seen.txt", { session, headers, body: text });
    expect(answer.status).toBe(200);
    return answer.as(Attachment).id;
  }

  it("has files of the conversation in its result, for the model too", async () => {
    const target = await waiting(url());
    const { session } = target;
    const [one, two] = [await uploaded(session, "green tea"), await uploaded(session, "black tea")];
    const claim = await claimed(url(), target);
    const result = { output: "seen", attachments: [two.toUpperCase(), one] };
    const body = { decision: "approve", claim, result };
    const decided = await decide(url(), target, body);
    expect(decided.json()).toMatchObject({ result: { output: "seen", attachments: [two, one] } });
    expect((await decide(url(), target, body)).json()).toEqual(decided.json());
    expect(await resultOf(url(), session)).toMatchObject({
      output: "seen",
      attachments: [
        { id: two, name: "seen.txt", media_type: "text/plain" },
        { id: one, name: "seen.txt" },
      ],
    });
    // The demo model repeats what it is given.
    expect((await state(url(), session)).messages[1]?.content).toContain("black tea");
    const again = { ...body, result: { output: "seen", attachments: [one] } };
    expectProblem(await decide(url(), target, again), 409, "action_decided");
  });

  it("rejects files of another conversation, and stays claimed", async () => {
    const target = await waiting(url());
    const claim = await claimed(url(), target);
    const ofOther = await uploaded(newSession(), "theirs");
    const mine = await uploaded(target.session, "mine");
    const answer = (attachments: unknown) =>
      decide(url(), target, { decision: "approve", claim, result: { output: 1, attachments } });
    expectProblem(await answer([mine, ofOther]), 400, "attachment_not_found");
    expectProblem(await answer([mine, mine]), 400, "action_result_invalid");
    expect((await answer([mine])).status).toBe(200);
  });

  it("has its own time limit, and validates its input", async () => {
    const { asked } = await waiting(url(), "peek");
    expect(Date.parse(asked.expires_at) - Date.parse(asked.created_at)).toBe(120_000);
    const session = newSession();
    await send(url(), "POST", "/api/chat", { session, json: { message: 'call look {"city":7}' } });
    expect(await resultOf(url(), session)).toMatchObject({ is_error: true });
  });

  it("may be offered by a chat", async () => {
    const offered = { draw: { ...WHERE, timeoutMs: 60_000 } };
    const { asked } = await waiting(url(), "draw", { client_tools: offered });
    expect(asked).toMatchObject({ kind: "client_tool", tool: "draw" });
    expect(Date.parse(asked.expires_at) - Date.parse(asked.created_at)).toBe(60_000);
    // The next message does not offer it.
    const session = newSession();
    await send(url(), "POST", "/api/chat", { session, json: { message: 'call draw {"city":"Bern"}' } });
    await whenIdle(url(), session);
    expect((await state(url(), session)).pending_actions).toEqual([]);
  });

  const many = (count: number) =>
    Object.fromEntries(Array.from({ length: count }, (_item, index) => [`tool_${index}`, WHERE]));
  const deep = (levels: number): object => (levels === 0 ? {} : { properties: { of: deep(levels - 1) } });
  it.each([
    ["a name of the settings", { look: WHERE }, "client_tool_name_taken"],
    ["a name of a built-in tool", { calculator: WHERE }, "client_tool_name_taken"],
    ["the name of the demo model's tool", { continue_counting: WHERE }, "client_tool_name_taken"],
    ["a bad name", { "no spaces": WHERE }, "parameter_invalid"],
    ["more than 16 tools", many(17), "parameter_invalid"],
    ["no object", [WHERE], "parameter_invalid"],
    ["an unknown field", { x: { ...WHERE, execute: "rm" } }, "parameter_invalid"],
    ["no description", { x: { inputSchema: SCHEMA } }, "parameter_invalid"],
    ["a schema of no object", { x: { ...WHERE, inputSchema: { type: "string" } } }, "parameter_invalid"],
    ["a deep schema", { x: { ...WHERE, inputSchema: { type: "object", ...deep(9) } } }, "parameter_invalid"],
    [
      "a large schema",
      { x: { ...WHERE, inputSchema: { type: "object", title: "x".repeat(16_384) } } },
      "parameter_invalid",
    ],
    [
      "a regular expression",
      { x: { ...WHERE, inputSchema: { type: "object", properties: { a: { pattern: "(a+)+" } } } } },
      "parameter_invalid",
    ],
    [
      "a reference",
      { x: { ...WHERE, inputSchema: { type: "object", $ref: "https://elsewhere.test" } } },
      "parameter_invalid",
    ],
    ["a short time", { x: { ...WHERE, timeoutMs: 1 } }, "parameter_invalid"],
  ])("is refused in a chat with %s", async (_what, client_tools, code) => {
    const json = { message: "hello", client_tools };
    const answer = await send(url(), "POST", "/api/chat", { session: newSession(), json });
    expectProblem(answer, 400, code);
  });

  it.each([
    [{ x: { inputSchema: { type: "object" } } }, '"client_tools.x.description" must be a string.'],
    [{ x: { ...WHERE, timeoutMs: 1 } }, '"client_tools.x.timeoutMs" must be at least 1,000.'],
    [{ "a b": WHERE }, '"client_tools.a b" must be a tool\'s name: 1 to 64 letters, digits, _ and -.'],
  ])("is refused with the place of the problem: %j", async (client_tools, place) => {
    const json = { message: "hello", client_tools };
    const answer = await send(url(), "POST", "/api/chat", { session: newSession(), json });
    expect(expectProblem(answer, 400, "parameter_invalid")).toBe(`The body field ${place}`);
  });

  it("may have properties that are named like keywords, and 16 tools", async () => {
    const inputSchema = { type: "object", properties: { pattern: { type: "string" }, format: {} } };
    const json = { message: "hello", client_tools: { ...many(15), odd: { ...WHERE, inputSchema } } };
    const answer = await send(url(), "POST", "/api/chat", { session: newSession(), json });
    expect([answer.status, answer.text]).toEqual([200, expect.any(String)]);
  });

  it.each([
    ["order_tea", "order_tea"],
    ["constructor", "_constructor"],
    ["toString", "_toString"],
  ])("may be called %s: a model sees %s", async (tool, offered) => {
    const { asked } = await waiting(url(), offered, { client_tools: { [tool]: WHERE } });
    expect(asked).toMatchObject({ kind: "client_tool", tool });
  });

  it("is never left out because of its name", async () => {
    const session = newSession();
    const body = `{"message":"call __proto__ {}","client_tools":{"__proto__":${JSON.stringify(WHERE)}}}`;
    const headers = { "Content-Type": "application/json" };
    expectProblem(
      await send(url(), "POST", "/api/chat", { session, headers, body }),
      400,
      "parameter_invalid",
    );
  });

  const listOf = (items: object) => ({
    draw: {
      ...WHERE,
      inputSchema: { type: "object", properties: { list: { type: "array", items } } },
    },
  });
  const repeated = (count: number, value: unknown) => Array.from({ length: count }, () => value);

  it("has a schema that is checked: 2,250 times the same type is none", async () => {
    const json = { message: "hello", client_tools: listOf({ type: repeated(2_250, "null") }) };
    const answer = await send(url(), "POST", "/api/chat", { session: newSession(), json });
    expect(expectProblem(answer, 400, "parameter_invalid")).toContain(
      'The body field "client_tools.draw.inputSchema" must be a JSON Schema of draft 7: schema is invalid',
    );
  });

  it("is not called with an input that is too large to check, and the turn continues", async () => {
    const session = newSession();
    const message = `call draw {"list":[${repeated(16_000, 1).join(",")}]}`;
    const client_tools = listOf({ enum: Array.from({ length: 2_250 }, (_, index) => `${index}`) });
    await send(url(), "POST", "/api/chat", { session, json: { message, client_tools } });
    expect(await resultOf(url(), session)).toMatchObject({
      output: expect.stringContaining(
        "The call was not made, because the input of the tool draw was not checked: it is too large to check",
      ),
      is_error: true,
    });
    expect((await state(url(), session)).pending_actions).toEqual([]);
  });

  it("belongs to the idempotency key of its chat", async () => {
    const session = newSession();
    const chat = (client_tools: object) =>
      send(url(), "POST", "/api/chat", {
        session,
        headers: { "Idempotency-Key": "once" },
        json: { message: "hello", client_tools },
      });
    expect((await chat({ draw: WHERE })).status).toBe(200);
    expect((await chat({ draw: WHERE })).status).toBe(200);
    expectProblem(await chat({ paint: WHERE }), 409, "idempotency_key_reused");
  });
});

describe("an App without allowClientTools", () => {
  const url = useService({ apps: { default: { models: ["demo/assistant"] } } });

  it.each([
    ["usable", { draw: WHERE }],
    ["unusable", { "a b": { inputSchema: "none" } }],
    ["no object", 5],
  ])("refuses tools of a chat that are %s before it reads them", async (_what, client_tools) => {
    const json = { message: "hello", client_tools };
    const answer = await send(url(), "POST", "/api/chat", { session: newSession(), json });
    expectProblem(answer, 400, "client_tools_not_allowed");
    const message = { id: newSession(), role: "user", parts: [{ type: "text", text: "hello" }] };
    const ofSdk = { id: newSession(), messages: [message], trigger: "submit-message", client_tools };
    expectProblem(
      await send(url(), "POST", "/api/ai-sdk/chat", { json: ofSdk }),
      400,
      "client_tools_not_allowed",
    );
  });
});

describe("a process that is killed between claim and result", () => {
  const programs: Program[] = [];
  afterEach(async () => {
    for (const program of programs.splice(0)) await program.remove();
  });

  async function started(): Promise<Program> {
    const program = await Program.start(CONFIG);
    programs.push(program);
    return program;
  }

  it.each([
    ["look", {}],
    ["draw", { client_tools: { draw: WHERE } }],
  ])("takes the result of %s from the client with the claim, once", async (tool, more) => {
    const program = await started();
    const target = await waiting(program.url, tool, more);
    const token = await claimed(program.url, target);
    const before = await send(program.url, "GET", "/api/state", { session: target.session });
    await program.stop("SIGKILL");
    await program.run();
    expect((await send(program.url, "GET", "/api/state", { session: target.session })).text).toBe(
      before.text,
    );
    expectProblem(await claim(program.url, target), 409, "action_claimed");
    const body = { decision: "approve", claim: token, result: { output: 5 } };
    expect((await decide(program.url, target, body)).status).toBe(200);
    await program.stop("SIGKILL");
    await program.run();
    expect((await decide(program.url, target, body)).status).toBe(200);
    expect(await resultOf(program.url, target.session)).toMatchObject({ output: 5, is_error: false });
    const { tool_calls, tool_results } = (await state(program.url, target.session)).messages[1]!;
    expect([tool_calls?.length, tool_results?.length]).toEqual([1, 1]);
  });
});
