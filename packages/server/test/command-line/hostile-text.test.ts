// Text of others never controls the terminal, whichever way it gets there.

import { afterAll, beforeAll, expect, it, vi } from "vitest";
import { FaultProxy } from "../../../client/test/fault-proxy.ts";
import { ScriptedModel } from "@colloquy/testing/internal/models/scripted-model";
import { PROMPT, useSeats } from "./terminals.ts";
import { Service } from "./service.ts";
import { CTRL_C } from "./terminal.ts";

// Processes start one after another on busy machines.
vi.setConfig({ testTimeout: 90_000 });

const MODEL = "test/scripted";
/** Title, clearing the screen, the clipboard, a link, 8-bit colours, reordering, backspace. */
const HOSTILE =
  "\u001B]0;owned\u0007\u001B[2J\u001B]52;c;b3duZWQ=\u0007\u001B]8;;http://x.test\u001B\\link\u001B]8;;\u001B\\ \u009B31m\u202Etxt.exe\u0008\r.";
/** Sequences that a terminal would obey. The program's own sequences end differently. */
const OBEYED = /\u001B\]|\u001B\[2J|\u009B|[\u202A-\u202E\u2066-\u2069]|\u0008|\u001BP/;

let service: Service;
const model = new ScriptedModel();
beforeAll(async () => {
  const app = { models: ["demo/assistant", MODEL], utilityModel: "demo/assistant", tools: ["ask_user"] };
  const providers = { test: { kind: "openai-compatible", baseURL: "http://127.0.0.1:1/v1" } };
  service = await Service.start({
    config: { providers, apps: { default: app } },
    models: { [MODEL]: model },
  });
});
afterAll(() => service.remove());
const { openTerminal, run } = useSeats(() => service);

it("prints control characters and escape sequences visibly, whoever wrote them", async () => {
  const session = service.client.session();
  await session.send(HOSTILE, { wait: true });
  session.stop();
  const user = openTerminal(["chat", "--session", session.id]);
  await user.shows(/␛\]0;owned␇[\s\S]*I am the demo model[\s\S]*␛\]0;owned␇[\s\S]*>$/);
  expect(user.title).toBeNull();
  expect(user.written).not.toMatch(OBEYED);
  const once = await run(["chat", HOSTILE]);
  expect(once.code).toBe(0);
  expect(once.output).toContain("␛]52;c;b3duZWQ=␇");
  expect(once.output).not.toMatch(OBEYED);
});

it("prints them visibly in streamed answers, questions, titles and names of tools", async () => {
  const user = openTerminal(["chat", "--model", MODEL], { columns: 40 });
  await user.shows(PROMPT);
  user.enter("go on");
  const call = await model.next();
  // Each sequence is split in the middle.
  call.say("one \u001B", "]0;owned\u0007 two \u001B", "[2J\u009B", "2J three \u202E", "x");
  call.callTool("a\u001B]0;b\u0007", { of: HOSTILE });
  call.callTool("ask_user", { question: HOSTILE, choices: [`red${HOSTILE}`, "green"] }).finish("tool-calls");
  await user.shows(/\(\/deny for none\):$/);
  user.enter("2");
  (await model.next()).say("Thank you.").finish();
  await user.shows(/Thank you\.\n>$/);
  user.enter(`/title T\u001B]0;owned\u0007`);
  await user.shows("Renamed to");
  user.enter("/threads");
  await user.shows(/Type \/open and a number to continue one\.\n>$/);
  expect(user.title).toBeNull();
  expect(user.written).not.toMatch(OBEYED);
});

it("prints them visibly in error texts of the service", async () => {
  const proxy = await FaultProxy.start(service.url);
  const refusal = (status: number) => ({
    status,
    headers: { "content-type": "application/problem+json" },
    body: JSON.stringify({ type: "about:blank", status, code: "not_so", title: "No", detail: HOSTILE }),
  });
  try {
    const user = openTerminal(["chat", "--model", MODEL, "--url", proxy.url]);
    await user.shows(PROMPT);
    user.enter("go on");
    (await model.next()).callTool("ask_user", { question: "Why?" }).finish("tool-calls");
    await user.shows(/\(\/deny for none\):$/);
    proxy.plan = ({ path }) => (path === "/api/interrupt" ? refusal(400) : null);
    user.type(CTRL_C);
    await user.shows(/none\):[^\n]*\n[\s\S]*␛\]0;owned␇[\s\S]*none\):$/);
    proxy.plan = () => refusal(403);
    proxy.cut();
    expect(await user.exits()).toBe(1);
    expect(user.text.match(/␛\]0;owned␇/g)).toHaveLength(2);
    expect(user.title).toBeNull();
    expect(user.written).not.toMatch(OBEYED);
  } finally {
    await proxy.stop();
  }
});

it("escapes them in JSON, preserving the value", async () => {
  const { code, output } = await run(["chat", "--json", HOSTILE]);
  expect(code).toBe(0);
  const events = output.trimEnd().split("\n");
  const created = events.map(
    (line) => JSON.parse(line) as { readonly message?: { readonly content: string } },
  );
  expect(created[0]?.message?.content).toBe(HOSTILE);
  expect(output).not.toMatch(OBEYED);
});
