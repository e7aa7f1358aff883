// Ctrl-C in `colloquy chat`, whatever the service does: the person can always leave, and nobody else's answer
// is stopped.

import { afterAll, afterEach, beforeAll, beforeEach, expect, it, vi } from "vitest";
import { FaultProxy } from "../../../client/test/fault-proxy.ts";
import { PROMPT, useSeats } from "./terminals.ts";
import { Service } from "./service.ts";
import { CTRL_C, type TerminalUser } from "./terminal.ts";

// Processes start one after another on busy machines.
vi.setConfig({ testTimeout: 90_000 });

const WALLET = "0x52908400098527886E0F7030069857D2E4169EE7";
const AWAY = "(connection lost; reconnecting)";

let service: Service;
let proxy: FaultProxy;
beforeAll(async () => {
  const app = { models: ["demo/assistant"], approvals: { calculator: "always" } };
  service = await Service.start({ config: { apps: { default: app } } });
});
afterAll(() => service.remove());
beforeEach(async () => void (proxy = await FaultProxy.start(service.url)));
afterEach(() => proxy.stop());
const { openTerminal, lastId } = useSeats(() => service);

/** Starts the program at a terminal behind the proxy and waits for its prompt. */
async function openPrompt(...parameters: readonly string[]): Promise<TerminalUser> {
  const user = openTerminal(["chat", "--url", proxy.url, ...parameters]);
  await user.shows(PROMPT);
  return user;
}

/** Sets the fault for further requests. Resolves at the first request for such a path. */
function plan(path: RegExp, fault: FaultProxy["plan"]): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  proxy.plan = (request) => {
    if (path.test(request.path)) resolve();
    return fault(request);
  };
  return promise;
}

it("leaves a question if the service is down and Ctrl-C comes twice", async () => {
  const user = await openPrompt();
  user.enter("what is 3 * 4?");
  await user.shows(/Allow it\? \[y\/n\]$/);
  const asked = plan(/\/interrupt$/, () => "refuse");
  proxy.cut();
  await user.shows(AWAY);
  user.type(CTRL_C);
  await asked;
  user.type(CTRL_C);
  expect(await user.exits()).toBe(130);
});

it("asks again if the service did not stop the turn", async () => {
  const user = await openPrompt();
  user.enter("what is 3 * 4?");
  await user.shows(/Allow it\? \[y\/n\]$/);
  proxy.plan = ({ path }) => (path.endsWith("/interrupt") ? { status: 400 } : null);
  user.type(CTRL_C);
  await user.shows(/Allow it\? \[y\/n\] ?\n[\s\S]*400[\s\S]*\nAllow it\? \[y\/n\]$/);
  user.enter("y");
  await user.shows(/3 \* 4 = 12\.\n>$/);
  expect(user.text).not.toContain("(interrupted)");
});

it("abandons a stored message whose answer does not come; the next Ctrl-C exits", async () => {
  const user = await openPrompt();
  user.enter("count to 2");
  await user.shows(/\n1 2\n>$/);
  const id = await lastId();
  const heldBack = ({ method }: { readonly method: string }) => (method === "GET" ? "refuse" : null);
  void plan(/./, heldBack);
  proxy.cut();
  await user.shows(AWAY);
  user.enter("count to 3");
  const { client } = service;
  const last = async () => (await client.getState(id)).messages.at(-1)?.content;
  await vi.waitUntil(async () => (await last()) === "1 2 3", { timeout: 30_000 });
  user.type(CTRL_C);
  await user.shows(/\(canceled\)\n>$/);
  user.type(CTRL_C);
  expect(await user.exits()).toBe(0);
});

it("does not stop another client's turn after a list was abandoned", async () => {
  const user = await openPrompt("--wallet", WALLET);
  user.enter("count to 2");
  await user.shows(/\n1 2\n>$/);
  const asked = plan(/sessions$/, ({ path }) => (path.endsWith("/sessions") ? "swallow" : null));
  user.enter("/threads");
  await asked;
  user.type(CTRL_C);
  await user.shows("(canceled)");
  await service.client.sendMessage(await lastId(), "count to 40");
  await user.shows(/> count to 40\n[\s\S]*38 39 40\n>$/);
  expect(user.text).not.toContain("(interrupted)");
});
