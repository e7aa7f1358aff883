// Tokens that are refused, and an issuer that cannot be reached. `npm run test:nodes` runs this on three nodes too.

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { BAD_TOKENS, claimsFor } from "../bad-tokens.ts";
import { Issuer } from "../issuer.ts";
import { expectProblem, newSession, send, type Answer } from "./client.ts";
import { NODES } from "./processes.ts";
import { Program } from "./server.ts";

const AUDIENCE = "here";
const CHAT = ["POST", "/api/chat?message=hello"] as const;

let issuer: Issuer;
let program: Program;
beforeAll(async () => {
  issuer = await Issuer.start();
  const users = { issuer: issuer.url, audience: AUDIENCE };
  program = await Program.start({ apps: { default: { models: ["demo/assistant"], users } } });
});
afterAll(async () => {
  await program.remove();
  await issuer.stop();
});

const request = (method: string, path: string, session: string, token?: string): Promise<Answer> =>
  send(program.url, method, path, {
    session,
    ...(token !== undefined && { headers: { Authorization: `Bearer ${token}` } }),
  });

const good = (subject: string): Promise<string> =>
  issuer.sign(claimsFor({ issuer, audience: AUDIENCE }, { sub: subject, jti: newSession() }));

/** Sends a request with a new token to each node, twice. */
async function fromEveryNode(ask: () => Promise<Answer>): Promise<readonly Answer[]> {
  const answers: Answer[] = [];
  while (answers.length < 2 * (NODES?.count ?? 1)) answers.push(await ask());
  return answers;
}

// Runs first: a node that has fetched the keys accepts tokens while the issuer is down.
describe("while the issuer cannot be reached", () => {
  it("answers a token with 503 and Retry-After until the issuer is back, and then caches its keys", async () => {
    await issuer.stop();
    const session = newSession();
    for (const answer of await fromEveryNode(async () => request(...CHAT, session, await good("alice")))) {
      expectProblem(answer, 503, "issuer_unavailable");
      expect(answer.headers["retry-after"]).toBe("5");
    }
    expectProblem(await request("GET", `/api/sessions/${session}`, session), 404, "session_not_found");
    expect((await request(...CHAT, newSession())).status).toBe(200);

    await issuer.resume();
    const ask = async () => request(...CHAT, newSession(), await good("alice"));
    for (const { status } of await fromEveryNode(ask)) expect(status).toBe(200);
    await issuer.stop();
    for (const { status } of await fromEveryNode(ask)) expect(status).toBe(200);
    await issuer.resume();
  });
});

describe("a bad token", () => {
  it.each(BAD_TOKENS)(
    "is rejected with 401 on every operation and creates nothing: %s",
    async (_what, code, token) => {
      const [session, sent] = [newSession(), await token({ issuer, audience: AUDIENCE })];
      for (const [method, path] of [
        CHAT,
        ["GET", "/api/state"],
        ["GET", "/api/updates"],
        ["POST", "/api/sessions"],
        ["PUT", `/api/sessions/${session}/pin`],
        ["POST", `/api/sessions/${session}/claim`],
        ["POST", "/api/interrupt"],
        ["GET", "/api/actions"],
        ["GET", "/api/sessions"],
        ["GET", "/api/control/apps"],
        ["POST", "/api/auth/revoke"],
        ["GET", "/api/users/me/export"],
        ["DELETE", "/api/users/me"],
      ] as const) {
        const answer = await request(method, path, session, sent);
        expectProblem(answer, 401, code);
        expect(answer.headers["www-authenticate"]).toBe('Bearer realm="colloquy", error="invalid_token"');
      }
      expectProblem(await request("GET", `/api/sessions/${session}`, session), 404, "session_not_found");
    },
  );
});
