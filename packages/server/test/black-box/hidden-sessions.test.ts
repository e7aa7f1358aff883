// A signed-in user's session does not exist for others, on any operation and any node. `npm run test:nodes`
// runs this on three nodes too; more callers are in test/isolation/users.test.ts.

import type { Action, Snapshot } from "@colloquy/protocol";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Issuer } from "../issuer.ts";
import { OPERATIONS, type ClassifiedOperation, type Target } from "../isolation/classified-operations.ts";
import { sendOperation } from "../isolation/sent-operation.ts";
import { expectProblem, newSession, newWallet, send, type Call } from "./client.ts";
import { NODES } from "./processes.ts";
import { Program } from "./server.ts";

const RIG = "demo/assistant";

let issuer: Issuer;
let program: Program;
let session: string;
let target: Target;
/** Id of the first message. */
let first: string;
let mine: NonNullable<Call["headers"]>;
let others: Readonly<Record<string, NonNullable<Call["headers"]>>>;
beforeAll(async () => {
  issuer = await Issuer.start();
  const users = (audience: string) => ({ issuer: issuer.url, audience, claimSessions: true });
  const approvals = { calculator: "always" };
  program = await Program.start({
    apps: {
      default: { models: [RIG], approvals, users: users("here") },
      shop: { models: [RIG], users: users("shop") },
    },
  });
  const bearer = async (subject: string, audience: string) => ({
    Authorization: `Bearer ${await issuer.token(subject, audience)}`,
  });
  mine = await bearer("alice", "here");
  others = {
    "another user": await bearer("bob", "here"),
    "the user in another App": await bearer("alice", "shop"),
    anonymous: {},
  };
  session = newSession();
  const headers = { ...mine, Prefer: "wait=20" };
  await send(program.url, "POST", "/api/chat?message=what+is+12+*+7", { session, headers });
  const { messages } = await state();
  first = messages[0]!.id;
  const [action] = (await ask("GET", "/api/actions")).json() as readonly [Action];
  const answer = messages.at(-1)!.id;
  const conversation = {
    session,
    action: action.id,
    answer,
    file: newSession(),
    resultFile: newSession(),
    title: "Not yours",
    clientId: "web",
  };
  target = { app: "default", rig: RIG, slot: "", wallet: newWallet(), conversation };
});
afterAll(async () => {
  await program.remove();
  await issuer.stop();
});

const ask = (method: string, path: string) => send(program.url, method, path, { session, headers: mine });
const state = async () => (await ask("GET", "/api/state")).json() as Snapshot;

/** Operations on a session, and variants that the isolation matrix does not have. */
const ON_SESSIONS: Readonly<Record<string, ClassifiedOperation>> = {
  ...Object.fromEntries(
    Object.entries(OPERATIONS).filter(
      ([name, { class: rule, isOnSession = false }]) =>
        (["app", "session"].includes(rule) || isOnSession || name === "GET /api/control/apps") &&
        !name.includes("/api/secrets"),
    ),
  ),
  "POST /api/chat that replaces a message": {
    class: "app",
    path: () => `/api/chat?message=mine&replaces=${first}`,
  },
  "POST /api/chat with another model": { class: "app", path: () => `/api/chat?message=mine&rig=${RIG}` },
  "POST /api/sessions with a wallet": {
    class: "session",
    path: () => "/api/sessions",
    body: ({ wallet }) => ({ public_key: wallet }),
  },
  "GET /api/state with user_state": {
    class: "session",
    path: () => "/api/state?user_state=%7B%22a%22%3A1%7D",
  },
};

describe.each(Object.keys(ON_SESSIONS))("%s on the session of a user", (name) => {
  it("answers 404 to others on every node, and changes nothing", async () => {
    const before = await state();
    for (const [caller, headers] of Object.entries(others)) {
      // Only a user may claim.
      const isUnclaimable = name === "POST /api/sessions/{id}/claim" && caller === "anonymous";
      const { refusesInBody = false } = ON_SESSIONS[name]!;
      const expected = isUnclaimable ? 401 : refusesInBody ? 200 : 404;
      for (let nodes = 0; nodes < (NODES?.count ?? 1); nodes += 1) {
        const { status, text } = await sendOperation(program.url, name, ON_SESSIONS[name]!, target, headers);
        expect([caller, status]).toEqual([caller, expected]);
        if (expected !== 401) expect(text).toContain('"code":"session_not_found"');
      }
    }
    expect(await state()).toEqual(before);
  });
});

describe("the session of a user", () => {
  it("is not replaced by a copy of another user's session", async () => {
    const before = await state();
    const [own, headers] = [newSession(), others["another user"]!];
    const said = { session: own, headers: { ...headers, Prefer: "wait=20" } };
    expect((await send(program.url, "POST", "/api/chat?message=hello", said)).status).toBe(200);
    const copy = { session: own, headers, json: { session_id: session } };
    const answer = await send(program.url, "POST", `/api/sessions/${own}/fork`, copy);
    expectProblem(answer, 404, "session_not_found");
    expect(await state()).toEqual(before);
  });
});
