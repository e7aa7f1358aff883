// Keys that one process creates and revokes while another one serves.

import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { BARE_ENVIRONMENT } from "../bare-environment.ts";
import { expectProblem, expectSnapshot, newSession, send } from "./client.ts";
import { NODES } from "./processes.ts";
import { Program } from "./server.ts";

const MAIN = join(import.meta.dirname, "../../src/main.ts");

let program: Program;
beforeAll(async () => {
  const app = { models: ["demo/assistant"] };
  program = await Program.start({ apps: { default: app, defi: app } });
});
afterAll(() => program.remove());

/** Runs `colloquy keys …` like an operator; returns its JSON output. */
async function keys(...parameters: readonly string[]): Promise<Record<string, string>> {
  const { stdout } = await promisify(execFile)(process.execPath, [MAIN, "keys", ...parameters, "--json"], {
    cwd: program.directory,
    env: { ...BARE_ENVIRONMENT, ...program.environment },
  });
  return JSON.parse(stdout) as Record<string, string>;
}

const chat = (key: string, session = newSession()) =>
  send(program.url, "POST", "/api/chat?message=hello&app=defi", {
    session,
    headers: { "SERVICE-APP-KEY": key },
  });

describe("a fork", () => {
  const fork = (origin: string, copy: string, headers = {}) =>
    send(program.url, "POST", `/api/sessions/${origin}/fork`, { json: { session_id: copy }, headers });

  it("needs the key of the conversation's App, and reveals nothing about a target in another one", async () => {
    const { key = "" } = await keys("create", "--app", "defi");
    const [origin, plain, copy] = [newSession(), newSession(), newSession()];
    await chat(key, origin);
    await send(program.url, "POST", "/api/chat?message=hello", { session: plain });
    expectProblem(await fork(origin, copy), 401, "app_key_invalid");
    expectProblem(await send(program.url, "GET", `/api/sessions/${copy}`), 404);
    expectProblem(await fork(plain, origin), 409, "session_not_empty");
    const answer = await fork(origin, copy, { "SERVICE-APP-KEY": key });
    expect(answer.json()).toMatchObject({ session_id: copy, app: "defi" });
    expectProblem(await fork(copy, newSession()), 401, "app_key_invalid");
  });
});

describe("a key created while the server runs", () => {
  // keys-on-nodes.test.ts tests the limit of five seconds, on a manual clock.
  it("opens its App at once; after its revocation it is refused, and its streams end", async () => {
    const { id = "", key = "" } = await keys("create", "--app", "defi");
    const session = newSession();
    expectSnapshot(await chat(key, session), session);
    const stream = await fetch(`${program.url}/api/updates`, {
      headers: { accept: "text/event-stream", "x-session-id": session, "service-app-key": key },
    });
    expect(stream.status).toBe(200);
    const text = stream.text();
    await keys("revoke", id);
    const call = { session, headers: { "SERVICE-APP-KEY": key } };
    // Wait until every node has noticed.
    for (let refused = 0; refused < (NODES?.count ?? 1); ) {
      const { status } = await send(program.url, "GET", "/api/control/apps", call);
      refused = status === 401 ? refused + 1 : 0;
      if (refused === 0) expect(status).toBe(200);
    }
    expectProblem(await chat(key, session), 401, "app_key_invalid");
    expect(await text).toContain('"code":"app_key_invalid"');
  });
});
