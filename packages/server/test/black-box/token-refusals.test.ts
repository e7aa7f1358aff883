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
  program = await startProgram();
});

function startProgram(): Promise<Program> {
  const users = { issuer: issuer.url, audience: AUDIENCE };
  return Program.start({ apps: { default: { models: ["demo/assistant"], users } } });
}

afterAll(async () => {
  await program.remove();
  await issuer.stop();
});

const request = (
  method: string,
  path: string,
  session: string,
  token?: string,
  { url } = program,
): Promise<Answer> =>
  send(url, method, path, {
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

describe("while the issuer cannot be reached", () => {
  it("answers a token with 503 and Retry-After on a node that has never read its keys", async () => {
    await issuer.stop();
    const unread = await startProgram();
    try {
      const session = newSession();
      const ask = async () => request(...CHAT, session, await good("alice"), unread);
      for (const answer of await fromEveryNode(ask)) {
        expectProblem(answer, 503, "issuer_unavailable");
        const seconds = Number(answer.headers["retry-after"]);
        expect(seconds).toBeGreaterThan(0);
        expect(seconds).toBeLessThanOrEqual(30);
      }
      const path = `/api/sessions/${session}`;
      expectProblem(await request("GET", path, session, undefined, unread), 404, "session_not_found");
      expect((await request(...CHAT, newSession(), undefined, unread)).status).toBe(200);
    } finally {
      await unread.remove();
      await issuer.resume();
    }
  });

  it("accepts its tokens on a node that has read its keys", async () => {
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
