// Clients of signed-in users, against the service and a real token issuer.

import { afterAll, beforeAll, expect, it } from "vitest";
import { Program } from "../../server/test/black-box/server.ts";
import { Issuer } from "../../server/test/issuer.ts";
import { createAdminClient } from "../src/admin.ts";
import { createClient, type Client, type LiveSession } from "../src/index.ts";

const KEY = "admin-key-of-the-token-test";

let issuer: Issuer;
let program: Program;
beforeAll(async () => {
  issuer = await Issuer.start();
  const users = { issuer: issuer.url, audience: "here", claimSessions: true };
  program = await Program.start({ apps: { default: { users } } }, { COLLOQUY_ADMIN_KEY: KEY });
});
afterAll(async () => {
  await program.remove();
  await issuer.stop();
});

const client = (token?: () => Promise<string>): Client =>
  createClient({ baseUrl: program.url, ...(token !== undefined && { token }) });
const user = (subject: string): Client => {
  const token = issuer.token(subject, "here");
  return client(() => token);
};

/** Resolves when the condition holds after a change of the session. */
async function until(session: LiveSession, condition: () => boolean): Promise<void> {
  await new Promise<void>((resolve) => {
    const check = (): void => {
      if (!condition()) return;
      leave();
      resolve();
    };
    const leave = session.subscribe(check);
    check();
  });
}

it("use and list the conversations of their user only", async () => {
  const ada = user("ada");
  const session = ada.session();
  await session.send("hello", { wait: true });
  expect((await ada.listThreads(undefined)).threads.map(({ session_id }) => session_id)).toEqual([
    session.id,
  ]);
  expect((await user("bob").listThreads(undefined)).threads).toEqual([]);
  const hidden = { status: 404, code: "session_not_found" };
  await expect(user("bob").session(session.id).send("hello")).rejects.toMatchObject(hidden);
  await expect(client().getState(session.id)).rejects.toMatchObject(hidden);
});

it("follow a session with the next token after the first one has ended", async () => {
  const tokens = [await issuer.token("cyd", "here"), await issuer.token("cyd", "here")];
  let current = tokens[0]!;
  const cyd = client(async () => current);
  const session = cyd.session();
  session.subscribe(() => undefined);
  await session.send("hello", { wait: true });
  await until(session, () => session.getConnection().state === "live");
  await cyd.revokeToken();
  current = tokens[1]!;
  await cyd.sendMessage(session.id, "are you there?", { wait: true });
  await until(session, () => session.getSnapshot()?.messages.length === 4);
  expect(session.getConnection().error).toBeNull();
  session.stop();
});

it("repeat a request with the next token if the service refused the first one", async () => {
  const ended = await issuer.token("eve", "here");
  await client(async () => ended).revokeToken();
  const tokens = [ended, await issuer.token("eve", "here")];
  const listed = await client(async () => tokens.shift()!).listThreads(undefined);
  expect(listed.threads).toEqual([]);
  expect(tokens).toEqual([]);
  await expect(client(async () => ended).listThreads(undefined)).rejects.toMatchObject({
    status: 401,
    code: "token_revoked",
  });
});

it("report an application that cannot provide a token", async () => {
  const cause = new Error("signed out");
  const failing = createClient({ baseUrl: program.url, retries: 0, token: () => Promise.reject(cause) });
  await expect(failing.listThreads(undefined)).rejects.toMatchObject({ code: "token_failed", cause });
  const silent = client(() => new Promise(() => undefined));
  const signal = AbortSignal.abort(new Error("Enough"));
  await expect(silent.listThreads(undefined, { signal })).rejects.toThrow("Enough");
});

it("stop following a session that was given to another user", async () => {
  const [dan, admin] = [user("dan"), createAdminClient({ baseUrl: program.url, key: KEY })];
  const session = dan.session();
  session.subscribe(() => undefined);
  await session.send("hello", { wait: true });
  await until(session, () => session.getConnection().state === "live");
  await admin.transferSession(session.id, { issuer: issuer.url, subject: "erin" });
  await until(session, () => session.getConnection().state === "failed");
  expect(session.getConnection().error).toMatchObject({ status: 404, code: "session_not_found" });
  expect((await user("erin").getState(session.id)).messages).toHaveLength(2);
  session.stop();
});

it("claim a conversation that began before the user signed in", async () => {
  const anonymous = client().session();
  await anonymous.send("hello", { wait: true });
  await user("fay").claimThread(anonymous.id);
  await expect(client().getState(anonymous.id)).rejects.toMatchObject({ code: "session_not_found" });
  expect((await user("fay").getState(anonymous.id)).messages).toHaveLength(2);
});
