// `colloquy approvals` asks the running server as an approver.

import { randomUUID } from "node:crypto";
import { createClient } from "@colloquy/client";
import { afterAll, beforeAll, expect, it } from "vitest";
import { FaultProxy } from "../../../client/test/fault-proxy.ts";
import { Issuer } from "../issuer.ts";
import { Service } from "./service.ts";

let issuer: Issuer;
let service: Service;
let approver: string;
beforeAll(async () => {
  issuer = await Issuer.start();
  service = await Service.start({
    config: {
      apps: {
        default: {},
        support: {
          models: ["demo/assistant"],
          users: { issuer: issuer.url, audience: "support", required: true },
          tools: ["calculator"],
          approvals: {
            calculator: { when: "always", approvers: { claim: "sub", values: ["mia"] } },
          },
        },
      },
    },
  });
  approver = await issuer.token("mia", "support");
});
afterAll(async () => {
  await service.remove();
  await issuer.stop();
});

const run = (parameters: readonly string[], COLLOQUY_TOKEN = approver) =>
  service.command(["approvals", ...parameters], { COLLOQUY_TOKEN });

/** Sends a message that leads to a call with this input. Returns the id of the call's action, and its session. */
async function asked(expression: string) {
  const token = await issuer.token("uma", "support");
  const session = createClient({ baseUrl: service.url, app: "support", token: () => token }).session();
  const input = JSON.stringify({ expression });
  const { pending_actions } = await session.send(`call calculator ${input}`, { wait: true });
  return { id: pending_actions[0]!.id, session };
}

it("lists what waits, approves with the input that it shows, and denies with a comment", async () => {
  expect(await run(["list", "--app", "support"])).toEqual({
    code: 0,
    output: "Nothing waits for your approval.\n",
    errors: "",
  });
  const [one, other] = [await asked("12 * 7"), await asked("1 + 1")];
  const listed = await run(["list", "--app", "support"]);
  expect(listed).toMatchObject({ code: 0, errors: "" });
  const at = String.raw`\d{4}-\d\d-\d\dT[\d:.]+Z`;
  expect(listed.output).toMatch(
    new RegExp(
      [
        `^${one.id}  Calculator \\(calculator\\) in support`,
        `  requested ${at}, counts as denied after ${at}`,
        '  {\n    "expression": "12 \\* 7"\n  }',
        `${other.id}  Calculator`,
      ].join("\n"),
    ),
  );
  const first = await run(["list", "--app", "support", "--limit", "1"]);
  expect(first.output).not.toContain(other.id);
  expect(first.errors).toBe("More calls wait: decide these, or use --limit.\n");

  expect(await run(["approve", one.id])).toEqual({
    code: 0,
    output: "Approved: calculator in support.\n",
    errors: "",
  });
  const denied = await run(["deny", other.id, "--comment", "Over the limit.", "--json"]);
  expect(JSON.parse(denied.output)).toMatchObject({ id: other.id, status: "denied" });
  const { messages } = await one.session.refresh({ wait: true });
  expect(messages.at(-1)?.tool_results).toMatchObject([{ is_error: false, output: { result: 84 } }]);
  const [call] = (await other.session.refresh({ wait: true })).messages.at(-1)?.tool_calls ?? [];
  expect(call?.decision).toMatchObject({ status: "denied", by: "approver", comment: "Over the limit." });
  expect(JSON.parse((await run(["list", "--app", "support", "--json"])).output)).toEqual([]);
  const changed = await run(["deny", one.id]);
  expect(changed).toMatchObject({ code: 1, output: "", errors: expect.stringMatching(/^Colloquy: /) });
});

it("lists more calls than a page has", async () => {
  const ids = new Set<string>();
  for (let count = 0; count < 52; count += 1) ids.add((await asked(`${count} + 1`)).id);
  const { output } = await run(["list", "--app", "support", "--limit", "100", "--json"]);
  expect(new Set((JSON.parse(output) as { id: string }[]).map(({ id }) => id))).toEqual(ids);
  for (const id of ids) expect(await run(["deny", id])).toMatchObject({ code: 0 });
});

it("explains a missing token, users who are no approvers, and unknown calls", async () => {
  expect(await run(["list"], "")).toMatchObject({
    code: 2,
    errors: expect.stringMatching(/COLLOQUY_TOKEN/) as string,
  });
  expect(await run(["list", "--app", "support"], await issuer.token("uma", "support"))).toMatchObject({
    code: 1,
    errors: expect.stringMatching(/approver/i) as string,
  });
  expect(await run(["approve", randomUUID()])).toMatchObject({ code: 1, output: "" });
  expect(await run(["approve", "x"])).toMatchObject({ code: 2, output: "" });
});

it("prints text of others without control characters, and inputs with every invisible one", async () => {
  const hostile = "a\u001B]0;owned\u0007\u202Eb\u200B\n\u009B2J";
  const { id, session } = await asked(hostile);
  const { output } = await run(["list", "--app", "support"]);
  expect(output).toContain(String.raw`"a\u001b]0;owned\u0007\u202eb\u200b\n\u009b2J"`);
  await run(["deny", id]);
  session.stop();
  const proxy = await FaultProxy.start(service.url);
  const at = "2026-11-28T12:00:00.000Z";
  const action = {
    id: hostile,
    app: hostile,
    tool: hostile,
    title: hostile,
    input: hostile,
    created_at: hostile,
    expires_at: at,
    status: "pending",
    resolved_at: null,
  };
  proxy.plan = ({ method }) => ({
    status: 200,
    headers: { "content-type": "application/json" },
    body: JSON.stringify(method === "GET" ? [action] : action),
  });
  for (const command of [["list"], ["approve", id], ["list", "--json"], ["approve", id, "--json"]]) {
    const { code, output } = await run([...command, "--url", proxy.url]);
    expect(code).toBe(0);
    expect(output).toContain("owned");
    expect(output).not.toMatch(/[\u0000-\u0009\u000B-\u001F\u007F-\u009F\u202A-\u202E\u2066-\u2069]/);
  }
  await proxy.stop();
});
