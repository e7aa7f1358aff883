// `colloquy chat` as a person meets it: a pseudo terminal, a real server, the demo model.

import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { type Client, createClient } from "@colloquy/client";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { freePort } from "../free-port.ts";
import { CTRL_C, MAIN, TerminalUser, type TerminalOptions } from "./terminal.ts";

// Each of these starts several processes, one after the other.
vi.setConfig({ testTimeout: 90_000 });

const PROMPT = /\n>$|^>$/;
let directory = "";
let port = 0;
let server: ChildProcess | null = null;
let users: TerminalUser[] = [];

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "colloquy-chat-"));
  port = await freePort();
});

afterEach(async () => {
  for (const user of users) user.kill();
  users = [];
  await stopServer();
  await rm(directory, { recursive: true, force: true, maxRetries: 5 });
});

function sit(parameters: readonly string[], options: Partial<TerminalOptions> = {}): TerminalUser {
  const environment = { PORT: String(port), ...options.environment };
  const user = new TerminalUser(parameters, { directory, ...options, environment });
  users.push(user);
  return user;
}

async function startServer(): Promise<Client> {
  const env = { PATH: process.env["PATH"], PORT: String(port), COLLOQUY_LOG_LEVEL: "warn" };
  const child = spawn(process.execPath, [MAIN], {
    cwd: directory,
    env,
    stdio: ["ignore", "pipe", "inherit"],
  });
  server = child;
  for await (const line of createInterface({ input: child.stdout })) {
    if (line.includes('"listening"')) break;
  }
  child.stdout.resume();
  return createClient({ baseUrl: `http://127.0.0.1:${port}` });
}

async function stopServer(): Promise<void> {
  const child = server;
  server = null;
  if (child === null || child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, "exit");
  child.kill("SIGKILL");
  await ended;
}

async function configure(config: object): Promise<void> {
  await writeFile(join(directory, "colloquy.config.json"), JSON.stringify(config));
}

/** The conversations that were remembered, the newest last. */
async function rememberedIds(): Promise<string[]> {
  const text = await readFile(join(directory, "state/colloquy/threads.jsonl"), "utf8");
  const ids = text.split("\n").flatMap((line) => /"session_id":"([^"]+)"/.exec(line)?.[1] ?? []);
  return [...new Set(ids)];
}

async function lastId(): Promise<string> {
  return (await rememberedIds()).at(-1) ?? "";
}

interface Ended {
  readonly code: number;
  readonly output: string;
  readonly errors: string;
}

/** Runs the program without a terminal. */
async function run(parameters: readonly string[], input: string | null = null): Promise<Ended> {
  const env = { PATH: process.env["PATH"], PORT: String(port), XDG_STATE_HOME: join(directory, "state") };
  const { promise, resolve } = Promise.withResolvers<Ended>();
  const child = execFile(
    process.execPath,
    [MAIN, ...parameters],
    { cwd: directory, env },
    (error, output, errors) => resolve({ code: error === null ? 0 : Number(error.code), output, errors }),
  );
  child.stdin?.end(input ?? "");
  return promise;
}

describe("a conversation in the terminal", () => {
  it("streams; Ctrl-C stops the answer, another one leaves, and the terminal is as it was", async () => {
    const client = await startServer();
    const user = sit([], { script: '$COLLOQUY chat; echo "left with $?"; stty -a' });
    await user.shows(PROMPT);
    user.enter("count to 2000");
    await user.shows("1 2 3 4 5 ");
    user.type(CTRL_C);
    await user.shows("(interrupted)");
    await user.shows(PROMPT);
    const id = await lastId();
    const { status, messages } = await client.getState(id);
    expect(status).toBe("interrupted");
    expect(messages.at(-1)?.status).toBe("interrupted");
    user.type(CTRL_C);
    await user.shows(/left with 0\n[\s\S]* icanon/);
    expect(user.text).toMatch(/(?<!-)\becho\b/);
    expect(user.written.lastIndexOf("\u001B[?2004l")).toBeGreaterThan(
      user.written.lastIndexOf("\u001B[?2004h"),
    );
    await user.exits();
  });

  it("has commands: models, titles, conversations, a new one, and going on with an old one", async () => {
    await startServer();
    const user = sit(["chat"]);
    await user.shows(PROMPT);
    user.enter("what is 12 * 7?");
    await user.shows(
      /\* calculator \{"expression":"12 \* 7"\}\n +calculator done in [^\n]+84\}\n12 \* 7 = 84\.\n>$/,
    );
    user.enter("/title Sums");
    await user.shows("It is named Sums.");
    user.enter("/new");
    await user.shows("A new conversation.");
    user.enter("count to 3");
    await user.shows(/\n1 2 3\n>$/);
    user.enter("/threads");
    await user.shows(/ 1\* count to 3 .*\n +2 {2}Sums .*\n\/open/);
    user.enter("/open 2");
    await user.shows(/\(Sums\)\n> what is 12 \* 7\?\n\* calculator [^\n]+\n[^\n]+\n12 \* 7 = 84\.\n>$/);
    user.enter("/model");
    await user.shows("* demo/assistant");
    user.enter("/model nobody/knows");
    await user.shows(/nobody\/knows(?![\s\S]*Answers come)[\s\S]*\n>$/);
    user.enter("/thraeds");
    await user.shows("There is no command /thraeds. Did you mean /threads?");
    user.enter("/quit");
    expect(await user.exits()).toBe(0);
    expect(await rememberedIds()).toHaveLength(2);
    expect((await stat(join(directory, "state/colloquy/threads.jsonl"))).mode & 0o777).toBe(0o600);
  });

  it("asks for approvals, and takes nothing for an answer that was typed before", async () => {
    await configure({
      apps: { default: { models: ["demo/assistant"], approvals: { calculator: "always" } } },
    });
    await startServer();
    const user = sit(["chat"]);
    await user.shows(PROMPT);
    user.type("what is 3 * 4?\ry\r");
    await user.shows(
      /The assistant wants to call calculator with \{"expression":"3 \* 4"\}\nAllow it\? \[y\/n\]$/,
    );
    user.enter("maybe");
    await user.shows(/Answer y or n\.\nAllow it\? \[y\/n\]$/);
    user.enter("y");
    await user.shows(/\(calculator: approved\)[\s\S]*3 \* 4 = 12\.\n>$/);
    user.enter("what is 5 * 5?");
    await user.shows(/5 \* 5"\}\nAllow it\? \[y\/n\]$/);
    user.enter("n");
    await user.shows(/\(calculator: denied\)[\s\S]*\n>$/);
    expect(await rememberedIds()).toHaveLength(1);
  });

  it("takes the question away when somebody else has decided, and Ctrl-C stops the turn that asks", async () => {
    await configure({
      apps: { default: { models: ["demo/assistant"], approvals: { calculator: "always" } } },
    });
    const client = await startServer();
    const user = sit(["chat"]);
    await user.shows(PROMPT);
    user.enter("what is 3 * 4?");
    await user.shows(/Allow it\? \[y\/n\]$/);
    const id = await lastId();
    const [action] = (await client.getState(id)).pending_actions;
    await client.decideAction(id, action!.id, { decision: "approve" });
    await user.shows(/\(calculator: approved\)[\s\S]*3 \* 4 = 12\.\n>$/);
    user.enter("what is 5 * 5?");
    await user.shows(/5 \* 5"\}\nAllow it\? \[y\/n\]$/);
    user.type(CTRL_C);
    await user.shows(/\(interrupted\)[\s\S]*\n>$/);
    expect(await client.getState(id)).toMatchObject({ status: "interrupted", pending_actions: [] });
  });

  it("goes on with an answer when the server was killed in the middle of it and is back", async () => {
    await startServer();
    const user = sit(["chat"]);
    await user.shows(PROMPT);
    user.enter("count to 60");
    await user.shows("1 2 3 4 5 6 7 8 9 10 11 12 ");
    await stopServer();
    await user.shows("(the service cannot be reached; trying again)");
    await startServer();
    await user.shows(/\(the service is back\)[\s\S]*58 59 60\n>$/);
    // Nothing was said twice but what the service itself began again.
    expect(user.text.match(/(?<!\d)5 6 7 8(?!\d)/g)?.length).toBeLessThanOrEqual(
      user.text.includes("(the answer begins again)") ? 2 : 1,
    );
    user.enter("what did I say first?");
    await user.shows('The first thing you said was: "count to 60"');
  });

  it("shows what is said elsewhere above the line that is being typed, and keeps that", async () => {
    const client = await startServer();
    const user = sit(["chat"]);
    await user.shows(PROMPT);
    user.enter("count to 2");
    await user.shows(/\n1 2\n>$/);
    user.type("half a thou");
    await user.shows(/> half a thou$/);
    await client.sendMessage(await lastId(), "count to 4");
    await user.shows(/\n> count to 4\n1 2 3 4\n> half a thou$/);
    user.enter("ght");
    await user.shows('You said: "half a thought"');
    expect(user.text.match(/count to 4/g)).toHaveLength(1);
  });

  it("keeps pasted lines and Alt-Enter in one message, and leaves out keys that hide in a paste", async () => {
    const client = await startServer();
    const user = sit(["chat"]);
    await user.shows(PROMPT);
    user.type("\u001B[200~one\r\ntwo\tthree\u0003\u001B[A\u001B[201~");
    await user.shows("> one␤two");
    user.type("\u001B\r");
    user.enter("four");
    await user.shows(/You said: "one[\s\S]*\n>$/);
    const { messages } = await client.getState(await lastId());
    expect(messages[0]?.content).toBe("one\ntwo\tthree[A\nfour");
  });

  it("bears narrow terminals, wide characters and resizing", async () => {
    await startServer();
    const user = sit(["chat"], { columns: 40, rows: 12 });
    await user.shows(PROMPT);
    const typed = "漢字".repeat(12);
    user.type(typed);
    await user.shows(`> ${typed}`);
    user.resize(100, 12);
    user.resize(30, 12);
    user.type("!");
    await user.shows(`${typed}!`);
    user.enter("");
    // The emulator leaves a column empty where a wide character does not fit any more.
    await user.shows(/You said: "[^"]+!"\n>$/);
    expect(user.text.replaceAll(" ", "")).toContain(`Yousaid:"${typed}!"`);
    user.enter("/help");
    await user.shows("/quit: leave");
    user.enter("count to 100");
    await user.shows(" 20 21 22");
    user.resize(120, 12);
    await user.shows(/98 99 100\n>$/);
  });

  it("runs a service of its own where none runs, on the configured data, and ends it", async () => {
    const user = sit(["chat"]);
    await user.shows("a service of its own");
    user.enter("count to 3");
    await user.shows(/\n1 2 3\n>$/);
    const second = sit(["chat"]);
    await second.shows(/has the data directory[\s\S]*colloquy serve/);
    expect(await second.exits()).toBe(1);
    user.type("\u0004");
    expect(await user.exits()).toBe(0);
    const client = await startServer();
    const { messages, status } = await client.getState(await lastId());
    expect({ status, text: messages.at(-1)?.content }).toEqual({ status: "idle", text: "1 2 3" });
  });

  it("ends in order when the process is asked to", async () => {
    const user = sit(["chat"]);
    await user.shows(PROMPT);
    process.kill(user.pid, "SIGTERM");
    expect(await user.exits()).toBe(143);
    expect(user.written).toContain("\u001B[?2004l");
  });

  it("is in colour, unless NO_COLOR is set", async () => {
    await startServer();
    // Colours alone; moving the cursor is what editing a line takes.
    const colour = /\u001B\[[\d;]*[1-9]\d*m/;
    const coloured = sit(["chat", "what is 2 + 2?"]);
    await coloured.exits();
    expect(coloured.written).toMatch(colour);
    const plain = sit(["chat", "what is 2 + 2?"], { environment: { NO_COLOR: "1" } });
    await plain.exits();
    expect(plain.text).toContain("2 + 2 = 4.");
    expect(plain.written).not.toMatch(colour);
  });

  it("shows control characters and escape sequences as signs, whoever wrote them", async () => {
    const client = await startServer();
    const hostile =
      "\u001B]0;owned\u0007\u001B[2J\u001B]52;c;b3duZWQ=\u0007\u001B]8;;http://x.test\u001B\\link\u001B]8;;\u001B\\ \u009B31m\u202Etxt.exe\u0008\r.";
    const session = client.session();
    await session.send(hostile, { wait: true });
    const user = sit(["chat", "--session", session.id]);
    await user.shows(/␛\]0;owned␇[\s\S]*I am the demo model[\s\S]*␛\]0;owned␇[\s\S]*>$/);
    expect(user.title).toBeNull();
    expect(user.written).not.toMatch(/\u001B\]|\u001B\[2J|\u009B|\u202E|\u0008/);
    const once = sit(["chat", hostile]);
    expect(await once.exits()).toBe(0);
    expect(once.text).toContain("␛]52;c;b3duZWQ=␇");
    expect(once.written).not.toMatch(/\u001B\]|\u001B\[2J|\u009B|\u202E/);
  });
});

describe("one question", () => {
  it("prints the answer and nothing else, from an argument or from what is piped in", async () => {
    await startServer();
    expect(await run(["chat", "what is 12 * 7?"])).toEqual({ code: 0, output: "12 * 7 = 84.\n", errors: "" });
    expect(await run(["chat"], "count to 4\n")).toEqual({ code: 0, output: "1 2 3 4\n", errors: "" });
    const both = await run(["chat", "Say this"], "and that\n");
    expect(both.output).toContain('"Say this\n\nand that"');
  });

  it("with --json prints each event as a line, to the end of the turn", async () => {
    await startServer();
    const { code, output } = await run(["chat", "--json", "count to 4"]);
    const events = output
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line) as { type: string; status?: string; text?: string });
    expect(code).toBe(0);
    expect(events.map(({ text }) => text ?? "").join("")).toBe("1 2 3 4");
    expect(events[0]?.type).toBe("message_created");
    expect(events.at(-1)).toMatchObject({ type: "state_changed", status: "idle" });
  });

  it("exits with 1 when the answer failed, or when a person is asked", async () => {
    await configure({
      providers: { off: { kind: "openai-compatible", baseURL: "http://127.0.0.1:1/v1" } },
      limits: { maxModelRetries: 0 },
      apps: {
        default: { models: ["demo/assistant", "off/model"], approvals: { calculator: "always" } },
      },
    });
    await startServer();
    const failed = await run(["chat", "--model", "off/model", "hello"]);
    expect(failed).toMatchObject({ code: 1, output: "" });
    expect(failed.errors).toMatch(/^[^\n]*cannot be reached[^\n]*\n$/);
    const asked = await run(["chat", "what is 3 * 4?"]);
    expect(asked.code).toBe(1);
    expect(asked.errors).toMatch(
      /asks for a decision about calculator.*colloquy chat --session [0-9a-f-]{36}\n$/,
    );
  });

  it("stops the answer and exits with 130 on Ctrl-C", async () => {
    const client = await startServer();
    const user = sit(["chat", "count to 2000"]);
    await user.shows("1 2 3 4 5 ");
    user.type(CTRL_C);
    expect(await user.exits()).toBe(130);
    expect((await client.getState(await lastId())).status).toBe("interrupted");
  });

  it.each([
    [["--json"], 2, /nothing to ask/],
    [["--url", "nowhere", "hi"], 2, /--url: nowhere is no address/],
    [["--session", "x", "hi"], 2, /x is no session id/],
    [["--session", "6f2a9d1e-3b47-4c58-9a60-d2e5f7081b3c", "hi"], 1, /no session/],
    [["--model", "a/b", "hi"], 1, /demo\/assistant/],
    [["--url", "http://127.0.0.1:1", "hi"], 1, /Nothing answers at http:\/\/127\.0\.0\.1:1/],
  ])("with %j exits with %i and one sentence", async (parameters, code, why) => {
    await startServer();
    const ended = await run(["chat", ...parameters]);
    expect(ended).toMatchObject({ code, output: "" });
    expect(ended.errors).toMatch(why);
    expect(ended.errors).toMatch(/^Colloquy: [^\n]+\n$/);
  });
});
