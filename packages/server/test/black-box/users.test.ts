// Signed-in users, with tokens of a real issuer. `npm run test:nodes` runs this on three nodes too.

import { createHash, randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Snapshot, UpdateEvent } from "@colloquy/protocol";
import { Issuer } from "../issuer.ts";
import { expectProblem, newSession, newWallet, send, type Call } from "./client.ts";
import { EventReader } from "./event-reader.ts";
import { NODES } from "./processes.ts";
import { Program } from "./server.ts";

const ADMIN_KEY = "admin-key-of-the-users-test";
const MODEL = "demo/assistant";

let issuer: Issuer;
let program: Program;
beforeAll(async () => {
  issuer = await Issuer.start();
  const users = (audience: string, more: object = {}) => ({ issuer: issuer.url, audience, ...more });
  const secrets = [{ name: "API_KEY", description: "A key" }];
  program = await Program.start(
    {
      apps: {
        default: { models: [MODEL], users: users("here", { claimSessions: true }) },
        shop: { models: [MODEL], secrets, users: users("shop") },
        members: { models: [MODEL], users: users("members", { required: true }) },
        plain: { models: [MODEL] },
      },
    },
    { COLLOQUY_ADMIN_KEY: ADMIN_KEY },
  );
});
afterAll(async () => {
  await program.remove();
  await issuer.stop();
});

const bearer = (token: string): Call => ({ headers: { Authorization: `Bearer ${token}` } });
const as = async (subject: string, audience = "here"): Promise<Call> =>
  bearer(await issuer.token(subject, audience));

const request = (method: string, path: string, session: string, { headers, ...call }: Call = {}) =>
  send(program.url, method, path, { session, ...(headers !== undefined && { headers }), ...call });

const chat = (session: string, call: Call = {}, app?: string) =>
  request("POST", `/api/chat?message=hello${app === undefined ? "" : `&app=${app}`}`, session, {
    ...call,
    headers: { Prefer: "wait=20", ...call.headers },
  });

/** Repeats a request until every node answers it this way. */
async function untilEverywhere(
  status: number,
  ask: () => Promise<{ readonly status: number }>,
): Promise<void> {
  for (let same = 0; same < 2 * (NODES?.count ?? 1); ) {
    same = (await ask()).status === status ? same + 1 : 0;
  }
}

describe("the conversation of a signed-in user", () => {
  // The isolation matrix tries every operation (test/isolation/users.test.ts); these read the session on other nodes.
  it("is hidden from all other callers with 404", async () => {
    const session = newSession();
    expect((await chat(session, await as("alice"))).status).toBe(200);
    for (const call of [{}, await as("bob"), await as("alice", "shop")]) {
      expectProblem(await chat(session, call), 404, "session_not_found");
      for (const path of [`/api/sessions/${session}`, `/api/sessions/${session}/messages`, "/api/state"])
        expectProblem(await request("GET", path, session, call), 404, "session_not_found");
    }
    expect((await request("GET", "/api/state", session, await as("alice"))).status).toBe(200);
  });

  it("belongs to the first who uses the session with a token, as long as it is empty", async () => {
    const session = newSession();
    expect((await request("GET", "/api/state", session)).status).toBe(200);
    expect((await request("GET", "/api/state", session, await as("alice"))).status).toBe(200);
    expectProblem(await request("GET", "/api/state", session), 404, "session_not_found");
    expectProblem(await request("GET", "/api/state", session, await as("bob")), 404, "session_not_found");
  });

  it("belongs to the user of its first message, also if it got a title before", async () => {
    const session = newSession();
    const alice = await as("alice", "members");
    expect((await request("GET", "/api/state", session, alice)).status).toBe(200);
    const json = { title: "Mine" };
    expect((await request("PATCH", `/api/sessions/${session}`, session, { ...alice, json })).status).toBe(
      200,
    );
    expect((await chat(session, alice, "members")).status).toBe(200);
    const bob = await as("bob", "members");
    expectProblem(await request("GET", "/api/state", session, bob), 404, "session_not_found");
    expect((await request("GET", "/api/state", session, alice)).json()).toMatchObject({ title: "Mine" });
  });

  it("has no owner once its first message binds it to an App that does not accept the token", async () => {
    const session = newSession();
    const token = await as("alice");
    expect((await request("GET", "/api/state", session, token)).status).toBe(200);
    const key = { "SERVICE-APP-KEY": await createKey("plain", []), ...token.headers };
    expect((await chat(session, { headers: key }, "plain")).status).toBe(200);
    for (const call of [token, {}])
      expect((await request("GET", "/api/state", session, call)).json()).toMatchObject({ app: "plain" });
  });

  it("stays open to anyone who knows its id if it began without a token", async () => {
    const session = newSession();
    await chat(session);
    expect((await chat(session, await as("alice"))).status).toBe(200);
    expect((await chat(session)).status).toBe(200);
  });

  it("may be deleted by its owner, after which anyone may use the id", async () => {
    const session = newSession();
    await chat(session, await as("alice"));
    expect((await request("DELETE", `/api/sessions/${session}`, session, await as("alice"))).status).toBe(
      200,
    );
    expect((await chat(session)).status).toBe(200);
  });

  it("can be copied by its owner only, and never into another user's session", async () => {
    const [session, theirs] = [newSession(), newSession()];
    const alice = await as("alice");
    await chat(session, alice);
    await request("GET", "/api/state", theirs, await as("bob"));
    const fork = (to: string, call: Call = {}) =>
      request("POST", `/api/sessions/${session}/fork`, session, { ...call, json: { session_id: to } });
    for (const call of [{}, await as("bob")])
      expectProblem(await fork(newSession(), call), 404, "session_not_found");
    expectProblem(await fork(theirs, alice), 404, "session_not_found");
    const copy = newSession();
    expect((await fork(copy, alice)).status).toBe(200);
    expectProblem(await request("GET", "/api/state", copy), 404, "session_not_found");
    const { messages } = (await request("GET", "/api/state", copy, alice)).json() as Snapshot;
    expect(messages).toHaveLength(2);
    expect((await request("GET", "/api/state", theirs, await as("bob"))).json()).toMatchObject({
      messages: [],
    });
  });

  it("appears only in the lists of its owner", async () => {
    const [subject, wallet, session] = [randomUUID(), newWallet(), newSession()];
    const create = { ...(await as(subject)), json: { public_key: wallet } };
    expect((await request("POST", "/api/sessions", session, create)).status).toBe(200);
    const listed = async (path: string, call: Call) => {
      const answer = await request("GET", path, path.includes("public_key") ? newSession() : session, call);
      if (answer.status === 404) return [];
      expect(answer.status).toBe(200);
      return (answer.json() as { session_id: string }[]).map(({ session_id }) => session_id);
    };
    expect(await listed("/api/sessions", await as(subject))).toEqual([session]);
    expect(await listed("/api/sessions?limit=1", await as(subject))).toEqual([session]);
    expect(await listed("/api/sessions", await as("bob"))).not.toContain(session);
    expect(await listed(`/api/sessions?public_key=${wallet}`, await as(subject))).toEqual([session]);
    expect(await listed(`/api/sessions?public_key=${wallet}`, {})).toEqual([]);
    expect(await listed(`/api/sessions?public_key=${wallet}`, await as("bob"))).toEqual([]);
    expectProblem(await request("GET", "/api/sessions", newSession()), 400, "parameter_missing");
  });

  it("is not one that only lists have used", async () => {
    const [subject, session] = [randomUUID(), newSession()];
    for (const path of ["/api/sessions", "/api/control/apps", "/api/control/models"])
      expect((await request("GET", path, session, await as(subject))).status).toBe(200);
    const listed = async () => (await request("GET", "/api/sessions", session, await as(subject))).json();
    expect(await listed()).toEqual([]);
    await request("GET", "/api/state", session, await as(subject));
    expect(await listed()).toMatchObject([{ session_id: session }]);
  });

  it("may be claimed while it has no owner, where the App permits it", async () => {
    const session = newSession();
    await chat(session);
    const claim = (call: Call) => request("POST", `/api/sessions/${session}/claim`, session, call);
    expectProblem(await claim({}), 401, "token_required");
    expectProblem(await claim(await as("alice", "shop")), 403, "claim_forbidden");
    const stream = await EventReader.connect(program.url, session);
    expect((await claim(await as("alice"))).status).toBe(200);
    await stream.find(isNotice("session_not_found"));
    await stream.until(() => stream.ended);
    expect((await claim(await as("alice"))).status).toBe(200);
    expectProblem(await claim(await as("bob")), 404, "session_not_found");
    const busy = newSession();
    await request("POST", "/api/chat?message=count+to+200", busy);
    const claimOfBusy = await request("POST", `/api/sessions/${busy}/claim`, busy, await as("alice"));
    expectProblem(claimOfBusy, 409, "session_busy");
    expect((await request("POST", "/api/interrupt", busy)).status).toBe(200);
    const forbidden = newSession();
    await chat(forbidden, await as("alice", "shop"), "shop");
    const path = `/api/sessions/${forbidden}/claim`;
    expectProblem(await request("POST", path, forbidden, await as("alice", "shop")), 403, "claim_forbidden");
  });

  it("can be transferred by an operator", async () => {
    const session = newSession();
    await chat(session, await as("alice"));
    const give = (user: object | null, key = ADMIN_KEY) =>
      request("PUT", `/api/admin/sessions/${session}/owner`, session, { ...bearer(key), json: { user } });
    const token = await issuer.token("alice", "here");
    expectProblem(await give(null, token), 401, "admin_key_invalid");
    expect((await give({ issuer: issuer.url, subject: "bob" })).status).toBe(200);
    expect((await request("GET", "/api/state", session, await as("bob"))).status).toBe(200);
    expectProblem(await request("GET", "/api/state", session, await as("alice")), 404, "session_not_found");
    expect((await give(null)).status).toBe(200);
    expect((await request("GET", "/api/state", session)).status).toBe(200);
  });
});

const isNotice =
  (code: string) =>
  (event: UpdateEvent): boolean =>
    event.type === "system_notice" && "code" in event && event.code === code;

describe("a token", () => {
  it("replaces the key of the Apps that accept it, and of no other App", async () => {
    expect((await chat(newSession(), await as("alice", "shop"), "shop")).status).toBe(200);
    expectProblem(await chat(newSession(), await as("alice", "shop"), "members"), 401, "token_required");
    expectProblem(await chat(newSession(), await as("alice", "shop"), "plain"), 401, "app_key_invalid");
    expectProblem(await chat(newSession(), await as("alice", "here"), "shop"), 401, "token_required");
  });

  it("sets the client to the user, and rejects any other client_id", async () => {
    const [session, call] = [newSession(), await as("alice", "shop")];
    const secrets = (query: string, more: Call = {}) =>
      request("PUT", `/api/secrets?app=shop${query}`, session, {
        ...call,
        ...more,
        json: { API_KEY: "mine" },
      });
    expectProblem(await secrets("&client_id=web"), 403, "client_id_forbidden");
    expect((await secrets("")).json()).toEqual(["API_KEY"]);
    const read = await request("GET", "/api/secrets?app=shop", session, await as("bob", "shop"));
    expect(read.json()).toEqual([]);
    expectProblem(
      await request("POST", "/api/chat?message=hello&app=shop&client_id=web", session, call),
      403,
      "client_id_forbidden",
    );
    expectProblem(
      await request("GET", "/api/state?client_id=web", newSession(), await as("alice")),
      403,
      "client_id_forbidden",
    );
    const message = { id: randomUUID(), role: "user", parts: [{ type: "text", text: "hello" }] };
    const json = {
      id: session,
      messages: [message],
      trigger: "submit-message",
      app: "shop",
      client_id: "web",
    };
    const sent = await request("POST", "/api/ai-sdk/chat", session, { ...call, json });
    expectProblem(sent, 403, "client_id_forbidden");
  });

  it("prevents others from naming the user as their client and using the user's secrets", async () => {
    const text = JSON.stringify([issuer.url, "alice"]);
    const owner = createHash("sha256").update(text).digest("base64url");
    const named = `client_id=${owner}`;
    const message = `/api/chat?message=hello&${named}`;
    expectProblem(await request("POST", message, newSession()), 403, "client_id_forbidden");
    const headers = { "SERVICE-APP-KEY": await createKey("shop", []) };
    const [secrets, session] = [`/api/secrets?app=shop&${named}`, newSession()];
    expectProblem(await request("GET", secrets, session, { headers }), 403, "client_id_forbidden");
    expect((await request("GET", secrets, session, await as("alice", "shop"))).status).toBe(200);
    const plain = { headers: { "SERVICE-APP-KEY": await createKey("plain", []) } };
    expect((await request("POST", `${message}&app=plain`, newSession(), plain)).status).toBe(200);
  });

  it("is required where the App says so", async () => {
    const session = newSession();
    expectProblem(await chat(session, {}, "members"), 401, "token_required");
    expect((await chat(session, await as("alice", "members"), "members")).status).toBe(200);
    expectProblem(await request("GET", "/api/state", session), 401, "token_required");
    expect((await request("GET", "/api/state", session, await as("alice", "members"))).status).toBe(200);
  });

  it("is ignored where an App has no users", async () => {
    const session = newSession();
    const key = await createKey("plain", []);
    const headers = { "SERVICE-APP-KEY": key, Authorization: "Bearer nonsense" };
    expect((await chat(session, { headers }, "plain")).status).toBe(200);
    expect((await request("GET", "/api/state", session, bearer("nonsense"))).status).toBe(200);
  });

  it("is revoked on every node at sign-out, which ends its streams", async () => {
    const session = newSession();
    const [token, other] = [await issuer.token("alice", "here"), await issuer.token("alice", "here")];
    await chat(session, bearer(token));
    const stream = await EventReader.connect(program.url, session, bearer(token));
    expect((await request("POST", "/api/auth/revoke", session, bearer(token))).status).toBe(204);
    await stream.find(isNotice("user_token_expired"));
    await stream.until(() => stream.ended);
    await untilEverywhere(401, () => request("GET", "/api/state", session, bearer(token)));
    expectProblem(await request("GET", "/api/state", session, bearer(token)), 401, "token_revoked");
    expect((await request("GET", "/api/state", session, bearer(other))).status).toBe(200);
  });

  it("ends its streams with a notice when it expires; they resume with the next token", async () => {
    const session = newSession();
    await chat(session, await as("alice"));
    const short = bearer(await issuer.token("alice", "here", 12));
    const stream = await EventReader.connect(program.url, session, { lastEventId: "0", ...short });
    await stream.find(isNotice("user_token_expired"));
    await stream.until(() => stream.ended);
    const { lastEventId } = stream;
    await chat(session, await as("alice"));
    const next = await EventReader.connect(program.url, session, {
      include: "messages",
      ...(lastEventId !== null && { lastEventId }),
      ...(await as("alice")),
    });
    const { event } = await next.find(({ type }) => type === "message_completed");
    expect(event).toMatchObject({ message: { sender: "agent" } });
    next.leave();
  });

  it("closes other clients' streams when its user becomes the owner", async () => {
    const session = newSession();
    const [anonymous, mine] = [await EventReader.connect(program.url, session), newSession()];
    expect((await request("GET", "/api/state", session, await as("alice"))).status).toBe(200);
    await anonymous.find(isNotice("session_not_found"));
    await anonymous.until(() => anonymous.ended);
    // A stream with the user's token stays, although the App accepts the token only after the chat has bound
    // the session to it.
    const stream = await EventReader.connect(program.url, mine, {
      include: "messages",
      ...(await as("alice", "shop")),
    });
    expect((await chat(mine, await as("alice", "shop"), "shop")).status).toBe(200);
    await stream.find((event) => event.type === "message_completed");
    stream.leave();
  });
});

const createKey = async (app: string, scopes: readonly string[]): Promise<string> => {
  const answer = await request("POST", "/api/admin/keys", newSession(), {
    ...bearer(ADMIN_KEY),
    json: { apps: [app], scopes },
  });
  expect(answer.status).toBe(200);
  return (answer.json() as { key: string }).key;
};

describe("a key with the scope act_as", () => {
  const owner = (subject: string) => ({ "Colloquy-Owner": `${issuer.url} ${subject}` });

  it("acts for the user in the header, in the Apps that it opens", async () => {
    const key = await createKey("shop", ["chat", "read", "secrets", "act_as"]);
    const call = (subject: string) => ({ headers: { "SERVICE-APP-KEY": key, ...owner(subject) } });
    const session = newSession();
    expect((await chat(session, await as("alice", "shop"), "shop")).status).toBe(200);
    expect((await chat(session, call("alice"), "shop")).status).toBe(200);
    expect((await request("GET", "/api/state", session, call("alice"))).status).toBe(200);
    for (const other of [call("bob"), { headers: { "SERVICE-APP-KEY": key } }]) {
      expectProblem(await request("GET", "/api/state", session, other), 404, "session_not_found");
      expectProblem(await chat(session, other, "shop"), 404, "session_not_found");
    }
    const begun = newSession();
    expect((await chat(begun, call("carol"), "shop")).status).toBe(200);
    expect((await request("GET", "/api/state", begun, await as("carol", "shop"))).status).toBe(200);
    const listed = await request("GET", "/api/sessions", newSession(), call("carol"));
    expect(listed.json()).toMatchObject([{ session_id: begun }]);
  });

  it("is required for the header, which must name a user", async () => {
    const session = newSession();
    const plain = { "SERVICE-APP-KEY": await createKey("shop", []) };
    expectProblem(
      await chat(session, { headers: { ...plain, ...owner("alice") } }, "shop"),
      403,
      "scope_missing",
    );
    const alone = { "SERVICE-APP-KEY": await createKey("shop", ["read", "act_as"]) };
    expectProblem(
      await chat(session, { headers: { ...alone, ...owner("alice") } }, "shop"),
      403,
      "scope_missing",
    );
    const only = {
      headers: { "SERVICE-APP-KEY": await createKey("shop", ["secrets", "act_as"]), ...owner("alice") },
    };
    const data = await request("DELETE", "/api/users/me?app=shop", newSession(), only);
    expectProblem(data, 403, "scope_missing");
    const acting = { "SERVICE-APP-KEY": await createKey("shop", ["chat", "act_as"]) };
    const malformed = { headers: { ...acting, "Colloquy-Owner": "alice" } };
    expectProblem(await chat(session, malformed, "shop"), 400, "owner_invalid");
    expectProblem(await chat(session, { headers: owner("alice") }), 401, "app_key_invalid");
  });
});

describe("a preflight", () => {
  it("allows the token on every operation but the admin API's", async () => {
    const allowed = async (path: string) => {
      const headers = { Origin: "http://localhost:5173", "Access-Control-Request-Method": "GET" };
      const answer = await send(program.url, "OPTIONS", path, { headers });
      return answer.headers["access-control-allow-headers"];
    };
    expect(await allowed("/api/state")).toContain("Authorization");
    expect(await allowed("/api/sessions")).toContain("Colloquy-Owner");
    expect(await allowed("/api/admin/keys")).not.toContain("Authorization");
  });
});
