// Apps that require a signed-in user. `npm run test:nodes` runs this on three nodes too.

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Issuer } from "../issuer.ts";
import { OPERATIONS, type Target } from "../isolation/classified-operations.ts";
import { sendOperation } from "../isolation/sent-operation.ts";
import { expectProblem, newSession, newWallet, send, type Call } from "./client.ts";
import { Program } from "./server.ts";

const ADMIN_KEY = "admin-key-of-the-required-users-test";
const RIG = "demo/assistant";
type Headers = NonNullable<Call["headers"]>;

let issuer: Issuer;
let program: Program;
/** A key of the App `members`. */
let key: Headers;
beforeAll(async () => {
  issuer = await Issuer.start();
  const app = (audience: string) => ({
    models: [RIG],
    users: { issuer: issuer.url, audience, required: true },
    secrets: [{ name: "API_KEY", description: "A key" }],
  });
  program = await Program.start(
    { apps: { default: app("here"), members: app("members") } },
    { COLLOQUY_ADMIN_KEY: ADMIN_KEY },
  );
  const created = await send(program.url, "POST", "/api/admin/keys", {
    headers: { Authorization: `Bearer ${ADMIN_KEY}` },
    json: { apps: ["members"] },
  });
  key = { "SERVICE-APP-KEY": (created.json() as { key: string }).key };
});
afterAll(async () => {
  await program.remove();
  await issuer.stop();
});

const bearer = async (audience: string): Promise<Headers> => ({
  Authorization: `Bearer ${await issuer.token("alice", audience)}`,
});

async function conversation(app: string, wallet: string): Promise<string> {
  const session = newSession();
  const headers = { ...(await bearer(app === "default" ? "here" : app)), Prefer: "wait=20" };
  const json = { message: "hello", app, public_key: wallet };
  expect((await send(program.url, "POST", "/api/chat", { session, headers, json })).status).toBe(200);
  return session;
}

describe.each([
  ["default", () => ({})],
  ["members", () => key],
] as const)("the App %s, which requires a user", (app, credentials) => {
  const names = Object.entries(OPERATIONS)
    .filter(([, { class: rule }]) => rule === "app" || rule === "session")
    .map(([name]) => name);
  let target: Target;
  beforeAll(async () => {
    const wallet = newWallet();
    const session = await conversation(app, wallet);
    const action = newSession();
    const held = {
      session,
      action,
      answer: newSession(),
      file: newSession(),
      resultFile: newSession(),
      title: "A title",
      clientId: "web",
    };
    target = { app, rig: RIG, slot: "API_KEY", wallet, conversation: held };
  });

  it.each(names)("refuses %s of an anonymous request with 401", async (name) => {
    const { status, text } = await sendOperation(program.url, name, OPERATIONS[name]!, target, credentials());
    expect([status, text]).toEqual([401, expect.stringContaining('"code":"token_required"')]);
    expect(text.toLowerCase()).toContain('"www-authenticate":"bearer realm=');
  });

  it("appears in no list of an anonymous request", async () => {
    const path = `/api/sessions?public_key=${target.wallet}`;
    const list = (headers: Headers) => send(program.url, "GET", path, { session: newSession(), headers });
    expect((await list(await bearer(app === "default" ? "here" : app))).json()).toMatchObject([
      { session_id: target.conversation.session },
    ]);
    if (app === "default") {
      expectProblem(await list({}), 401, "token_required");
      return;
    }
    // Not even one that an operator gave to nobody.
    const unowned = await conversation(app, target.wallet);
    const given = await send(program.url, "PUT", `/api/admin/sessions/${unowned}/owner`, {
      headers: { Authorization: `Bearer ${ADMIN_KEY}` },
      json: { user: null },
    });
    expect(given.status).toBe(200);
    expect((await list(key)).json()).toEqual([]);
  });
});
