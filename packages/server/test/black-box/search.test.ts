// Search over conversations. `npm run test:nodes` also runs this file against three nodes.

import { SearchPage } from "@colloquy/protocol";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Issuer } from "../issuer.ts";
import { type Call, expectProblem, newSession, send, state } from "./client.ts";
import { Program } from "./server.ts";

const MODEL = "demo/assistant";

let issuer: Issuer;
let program: Program;
beforeAll(async () => {
  issuer = await Issuer.start();
  const users = (audience: string) => ({ issuer: issuer.url, audience });
  const apps = {
    default: { models: [MODEL], users: { ...users("here"), claimSessions: true } },
    shop: { models: [MODEL], users: users("shop") },
    members: { models: [MODEL], users: { ...users("members"), required: true } },
  };
  program = await Program.start({ apps });
});
afterAll(async () => {
  await program.remove();
  await issuer.stop();
});

const as = async (subject: string, audience = "here"): Promise<Call> => ({
  headers: { Authorization: `Bearer ${await issuer.token(subject, audience)}` },
});

async function chat(
  message: string,
  call: Call = {},
  app = "default",
  session = newSession(),
): Promise<string> {
  const path = `/api/chat?app=${app}&message=${encodeURIComponent(message)}`;
  const headers = { Prefer: "wait=20", ...call.headers };
  const answer = await send(program.url, "POST", path, { ...call, session, headers });
  expect(answer.status).toBe(200);
  return session;
}

const search = (query: string, session = newSession(), call: Call = {}) =>
  send(program.url, "GET", `/api/search?${query}`, { session, ...call });
const found = async (q: string, session?: string, call?: Call) =>
  (await search(`q=${encodeURIComponent(q)}`, session, call)).as(SearchPage).results;
/** Returns the sessions of matching user messages. Answers match too: the demo model repeats questions. */
const asked = async (...parameters: Parameters<typeof found>) =>
  (await found(...parameters)).filter(({ sender }) => sender === "user").map(({ session_id: id }) => id);

describe("GET /api/search", () => {
  it("searches only the session, and marks the matches in the snippet", async () => {
    const session = await chat("Does the Übersetzung of Zauberwald cost a <b>fee</b>?");
    await expect.poll(() => asked("zauberwald", session)).toEqual([session]);
    const result = (await found("ubersetzung fee", session)).find(({ sender }) => sender === "user");
    const { messages, title } = await state(program.url, session);
    expect(result).toEqual({
      session_id: session,
      title,
      message_id: messages[0]?.id,
      sender: "user",
      created_at: messages[0]?.created_at,
      snippet: [
        { text: "Does the " },
        { text: "Übersetzung", match: true },
        { text: " of Zauberwald cost a <b>" },
        { text: "fee", match: true },
        { text: "</b>?" },
      ],
    });
    expect(await found("zauberwald")).toEqual([]);
    expect(await found("zauberwald toll", session)).toEqual([]);
    expect(await asked("zauberw", session)).toEqual([session]);
  });

  it("pages through results from newest to oldest without gaps", async () => {
    const session = newSession();
    for (let turn = 1; turn <= 3; turn += 1) await chat(`pagination ${turn}`, {}, "default", session);
    await expect.poll(() => found("pagination", session).then(({ length }) => length)).toBe(6);
    const all = await found("pagination", session);
    const ids: string[] = [];
    for (let cursor: string | null = ""; cursor !== null; ) {
      const page: SearchPage = (await search(`q=pagination&limit=1&cursor=${cursor}`, session)).as(
        SearchPage,
      );
      expect(page.results.length).toBeLessThanOrEqual(1);
      ids.push(...page.results.map(({ message_id: id }) => id));
      cursor = page.next_cursor;
    }
    expect(ids).toEqual(all.map(({ message_id: id }) => id));
    const times = all.map(({ created_at: at }) => at);
    expect(times).toEqual(times.toSorted().toReversed());
  });

  it("searches only the user's conversations, regardless of the session", async () => {
    const [ada, bob] = [await as("ada"), await as("bob")];
    const own = await chat("the quokka of ada", ada);
    const others = await chat("the quokka of bob", bob);
    const nobodys = await chat("the quokka of nobody");
    await expect.poll(() => asked("quokka", nobodys)).toHaveLength(1);
    await expect.poll(() => asked("quokka", newSession(), ada)).toEqual([own]);
    await expect.poll(() => asked("quokka", newSession(), bob)).toEqual([others]);
    // A session without an owner is not the user's.
    expect(await asked("quokka", nobodys, ada)).toEqual([own]);
    expect(await found("quokka", newSession(), await as("carol"))).toEqual([]);
    // Another user's session looks like a missing one.
    expectProblem(await search("q=quokka", own), 404, "session_not_found");
  });

  it("searches only Apps that accept the user, and requires a user if the session's App does", async () => {
    const member = await as("dora", "members");
    const inApp = await chat("the numbat of dora", member, "members");
    await expect.poll(() => asked("numbat", newSession(), member)).toEqual([inApp]);
    expect(await found("numbat", newSession(), await as("dora"))).toEqual([]);
    expectProblem(await search("q=numbat", inApp), 401);
  });

  it("does not make a signed-in user the owner of the session", async () => {
    const session = newSession();
    const ada = await as("ada");
    await found("anything", session, ada);
    expect((await send(program.url, "GET", `/api/sessions/${session}`)).status).toBe(
      (await send(program.url, "GET", `/api/sessions/${await listed(ada)}`)).status,
    );
  });

  it("finds a claimed conversation for its new owner until its deletion", async () => {
    const session = await chat("the wombat that moves");
    await expect.poll(() => asked("wombat", session)).toHaveLength(1);
    const ada = await as("ada");
    const claimed = await send(program.url, "POST", `/api/sessions/${session}/claim`, ada);
    expect(claimed.status).toBe(200);
    await expect.poll(() => asked("wombat", newSession(), ada)).toEqual([session]);
    expect((await send(program.url, "DELETE", `/api/sessions/${session}`, ada)).status).toBe(200);
    expect(await found("wombat", newSession(), ada)).toEqual([]);
    expect(await found("wombat", session)).toEqual([]);
  });

  it("rejects queries without words, long queries, and unknown cursors with 400", async () => {
    const session = newSession();
    for (const query of ["", "q=", "q=*", "q=%22%22", `q=${"a".repeat(401)}`])
      expectProblem(
        await search(query, session),
        400,
        query === "" ? "parameter_missing" : "parameter_invalid",
      );
    expectProblem(await search("q=a&cursor=-1", session), 400, "invalid_cursor");
    expectProblem(await search("q=a&cursor=zzzzzzzzzzz", session), 400, "invalid_cursor");
    expectProblem(await search("q=a&limit=51", session), 400, "parameter_invalid");
    expect((await search(`q=${"a".repeat(400)}`, session)).status).toBe(200);
    expect((await send(program.url, "GET", `/api/sessions/${session}`)).status).toBe(200);
  });

  it.each([
    "NOT",
    "a AND b",
    "x OR",
    '"unclosed',
    "foo*",
    "col:umn",
    "^a",
    "NEAR(a b)",
    "a & b",
    "'a':*",
    "\\",
    "a!b|c",
  ])("treats the query syntax of databases as words: %s", async (q) => {
    const answer = await search(`q=${encodeURIComponent(q)}`);
    expect([200, 400]).toContain(answer.status);
    expect(answer.status === 400).toBe(q === "\\");
  });

  it("indexes remaining messages after a crash", async () => {
    const session = await chat("the bilby before the crash");
    await program.stop("SIGKILL");
    await program.run();
    await expect.poll(() => asked("bilby", session)).toHaveLength(1);
  });
});

/** Returns a session created by `GET /api/sessions` with these credentials. */
async function listed(call: Call): Promise<string> {
  const session = newSession();
  expect((await send(program.url, "GET", "/api/sessions", { session, ...call })).status).toBe(200);
  return session;
}
