// `colloquy sessions` beside a running server, and without one.

import { execFile } from "node:child_process";
import { randomUUID } from "node:crypto";
import { createClient } from "@colloquy/client";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { Program } from "../black-box/server.ts";
import { MAIN } from "./terminal.ts";

// Each of these starts several processes, one after the other.
vi.setConfig({ testTimeout: 90_000 });

let program: Program;
let isRunning = true;

beforeEach(async () => {
  program = await Program.start();
  isRunning = true;
});

afterEach(() => program.remove());

/** Runs the program where the server's data is; it finds the server at its port. */
async function run(...parameters: readonly string[]) {
  const { promise, resolve } = Promise.withResolvers<{ code: number; output: string; errors: string }>();
  const port = isRunning ? new URL(program.url).port : "0";
  const env = { PATH: process.env["PATH"], PORT: port, ...program.environment };
  const options = { cwd: program.directory, env };
  execFile(process.execPath, [MAIN, "sessions", ...parameters], options, (error, output, errors) =>
    resolve({ code: error === null ? 0 : Number(error.code), output, errors }),
  );
  return promise;
}

it("lists, shows and deletes beside a running server, which forgets what is deleted", async () => {
  const client = createClient({ baseUrl: program.url });
  const [kept, gone] = [client.session(), client.session()];
  await kept.send("what is 12 * 7?", { wait: true });
  await gone.send("count to 3 \u001B[2J", { wait: true });
  const listed = await run("list", "--json");
  const sessions = JSON.parse(listed.output) as {
    session_id: string;
    status: string;
    message_count: number;
  }[];
  expect(sessions.map(({ session_id }) => session_id).toSorted()).toEqual([kept.id, gone.id].toSorted());
  expect(sessions).toMatchObject([
    { status: "idle", message_count: 2 },
    { status: "idle", message_count: 2 },
  ]);
  expect(JSON.parse((await run("list", "--json", "--status", "failed")).output)).toEqual([]);
  const table = await run("list");
  expect(table.output).toMatch(new RegExp(`^ID .*TITLE\\n[\\s\\S]*${kept.id} {2}idle .*what is 12`));
  const shown = await run("show", kept.id);
  expect(shown.output).toContain("> what is 12 * 7?\n* calculator");
  expect(shown.output).toContain("12 * 7 = 84.\n");
  expect((await run("show", gone.id)).output).not.toContain("\u001B");
  expect(await run("delete", gone.id)).toEqual({ code: 0, output: `${gone.id} is deleted.\n`, errors: "" });
  await expect(client.getSession(gone.id)).rejects.toMatchObject({ status: 404 });
  expect(await run("delete", gone.id)).toMatchObject({ code: 1, output: "" });
  expect((await client.getSession(kept.id)).title).toBe("what is 12 * 7?");
});

it("deletes in the store when no server runs, and says what is wrong with its arguments", async () => {
  const session = createClient({ baseUrl: program.url }).session();
  await session.send("count to 3", { wait: true });
  await program.stop();
  isRunning = false;
  expect(await run("delete", session.id)).toEqual({
    code: 0,
    output: `${session.id} is deleted.\n`,
    errors: "",
  });
  expect((await run("list")).output).toBe("There are no such sessions.\n");
  const absent = await run("show", randomUUID());
  expect(absent).toMatchObject({ code: 1, output: "" });
  expect(absent.errors).toMatch(/^Colloquy: There is no session with the id [^\n]+\n$/);
  expect(await run("show", "x")).toMatchObject({ code: 2, output: "" });
  expect(await run("list", "--url", "http://127.0.0.1:1")).toMatchObject({
    code: 2,
    errors: "Colloquy: Set COLLOQUY_ADMIN_KEY to the administrator's key of that service.\n",
  });
});
