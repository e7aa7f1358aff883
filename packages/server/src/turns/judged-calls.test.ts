// What was decided about a call when its step was stored is all that may become of it, whatever the tools are like when its turn goes on
// after a crash: through the whole service.

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { z } from "zod";
import { type BeforeCall } from "../../test/intercepted-store.ts";
import { ManualClock } from "../../test/manual-clock.ts";
import { newId, startService, until, type TestService } from "../../test/service.ts";
import type { AppSettings, OwnTool } from "../core/app-settings.ts";
import { storeUnavailable } from "../store/unavailable.ts";
import { httpServer } from "../tools/mcp/testing/opened-mcp.ts";
import { ScriptedMcp } from "../tools/mcp/testing/scripted-mcp.ts";

type Tools = Partial<Pick<AppSettings["tools"], "own" | "mcp" | "effects" | "approvals">>;

/** More than run at the same time, so that some wait for a place. */
const IDS = Array.from({ length: 12 }, (_, index) => `c${index}`);
const ALWAYS = { approvals: { pay: "always" } } as const;
const away: BeforeCall = (method) =>
  method === "turns.toolResult" || method === "turns.startCalls"
    ? Promise.reject(storeUnavailable(new Error("gone")))
    : undefined;

let directory: string;
let service: TestService;
let id: string;
/** What the tool was run with, in its order. */
let ran: unknown[];
let calls: string[];
let before: BeforeCall;
const clock = new ManualClock();

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "colloquy-"));
  ran = [];
  id = newId();
  before = () => undefined;
});
afterEach(async () => {
  await service.close();
  await rm(directory, { recursive: true });
});

async function start(tools: Tools): Promise<void> {
  calls = [];
  service = await startService({
    directory,
    clock,
    beforeCall: (method, parameters) => {
      calls.push(method);
      return before(method, parameters);
    },
    adjust: (config) => {
      const app = config.apps["default"]!;
      return { ...config, apps: { default: { ...app, tools: { ...app.tools, ...tools } } } };
    },
  });
}

/** The tool `pay`, with what its schema takes. */
function pay(inputSchema: z.ZodType): Record<string, OwnTool> {
  const execute = (input: unknown): string => {
    ran.push(input);
    return "paid";
  };
  return { pay: { inputSchema, execute } };
}
const amounts = pay(z.object({ amount: z.number() }));

/** The model asks for all calls in one step, which is stored; then the process is gone, before it could note anything of them. */
async function callAndCrash(tools: Tools, input: object, name = "pay"): Promise<void> {
  await start(tools);
  before = away;
  await service.say(id, "go");
  const call = await service.model.next();
  for (const callId of IDS) call.callTool(name, input, callId);
  call.finish("tool-calls");
  await until(() => calls.includes("turns.stepWithCalls"));
  // The answer of the store, and what is done next.
  await until(() => calls.includes("turns.toolResult") || service.model.waitingCalls > 0);
  await service.crash();
  before = () => undefined;
}

/** The turn goes on to its end; answers what the model has read of each call. */
async function outputs(): Promise<unknown[]> {
  (await service.model.next()).say("Done.").finish();
  await until(async () => !(await service.snapshot(id)).is_processing);
  const results = (await service.snapshot(id)).messages[1]?.tool_results ?? [];
  return IDS.map((callId) => results.find(({ call_id }) => call_id === callId)?.output);
}

describe("a call of which nobody was asked, because", () => {
  it.each(["unsafe", "read"] as const)(
    "its tool was not there, does not run when the tool is there after a crash, where it is %s",
    async (effect) => {
      await callAndCrash({}, { amount: 1 });
      await start({ own: amounts, ...ALWAYS, effects: { pay: effect } });
      for (const output of await outputs()) expect(output).toMatch(/^There is no tool with this name/);
      expect(ran).toEqual([]);
    },
  );

  // Under load it takes its time to load an MCP client.
  it("its server was away, does not reach the server when that is back after a crash", {
    timeout: 20_000,
  }, async () => {
    const server = await new ScriptedMcp().start();
    const tools: Tools = { mcp: { shop: httpServer(server.url) }, approvals: { shop_work: "always" } };
    await server.stop();
    await callAndCrash(tools, {}, "shop_work");
    await server.start();
    try {
      await start(tools);
      for (const output of await outputs()) expect(output).toMatch(/^The tool was not called/);
      expect(server.of("tools/list")).toHaveLength(1);
      expect(server.of("tools/call")).toEqual([]);
    } finally {
      await server.stop();
    }
  });

  it.each(["unsafe", "read"] as const)(
    "its input did not fit, does not run when it fits after a crash, where the tool is %s",
    async (effect) => {
      const effects = { pay: effect };
      await callAndCrash({ own: amounts, ...ALWAYS, effects }, { amount: "1" });
      await start({ own: pay(z.object({ amount: z.string() })), ...ALWAYS, effects });
      for (const output of await outputs()) expect(output).toMatch(/^The input does not fit the tool pay/);
      expect(ran).toEqual([]);
    },
  );

  it("nobody had to be, does not run after a crash where somebody has to be then", async () => {
    const effects = { pay: "read" } as const;
    await callAndCrash({ own: amounts, effects }, { amount: 1 });
    ran = [];
    await start({ own: amounts, ...ALWAYS, effects });
    for (const output of await outputs())
      expect(output).toMatch(/^This call was not made: .* Call the tool again/);
    expect(ran).toEqual([]);
  });
});

describe("a call whose input its schema makes something else of", () => {
  const asDate = z.string().transform((text) => new Date(text));
  const filled = pay(
    z.object({ to: z.string().transform((to) => `${to}@bank`), amount: z.number().default(1000) }),
  );

  /** The model makes one call, of which the person is asked; answers what the person is shown. */
  async function ask(tools: Tools, input: object): Promise<unknown> {
    await start(tools);
    await service.say(id, "go");
    (await service.model.next()).callTool("pay", input, "c0").finish("tool-calls");
    await until(() => calls.includes("turns.wait"));
    const [action] = (await service.snapshot(id)).pending_actions ?? [];
    return action?.kind === "approval" ? action.request.input : action;
  }

  async function approve(): Promise<unknown> {
    const [action] = (await service.snapshot(id)).pending_actions ?? [];
    await service.actions.decide(id, action!.id, { decision: "approve", result: null });
    return (await outputs())[0];
  }

  it("is shown as the tool gets it, and the tool gets what was shown", async () => {
    const shown = { to: "bob@bank", amount: 1000 };
    expect(await ask({ own: filled, ...ALWAYS }, { to: "bob" })).toEqual(shown);
    expect(await approve()).toBe("paid");
    expect(ran).toEqual([shown]);
    const [call] = (await service.snapshot(id)).messages[1]?.tool_calls ?? [];
    expect(call).toEqual({
      id: "c0",
      name: "pay",
      arguments: { to: "bob" },
      status: "complete",
      text_offset: 0,
    });
  });

  it("is judged by a rule as the tool gets it", async () => {
    const approvals = { pay: (input: unknown) => (input as { amount: number }).amount > 100 };
    expect(await ask({ own: filled, approvals }, { to: "bob" })).toEqual({ to: "bob@bank", amount: 1000 });
    expect(ran).toEqual([]);
  });

  it("runs with what was shown where the schema makes something else of it each time, after a crash too", async () => {
    let made = 0;
    const own = pay(z.object({ order: z.number().default(() => (made += 1)) }));
    const shown = await ask({ own, ...ALWAYS }, {});
    await service.crash();
    await start({ own, ...ALWAYS });
    expect(await approve()).toBe("paid");
    expect(ran).toEqual([shown]);
    expect(made).toBeGreaterThan(1);
  });

  it("that asks nobody runs with what the rule was given", async () => {
    let made = 0;
    const judged: unknown[] = [];
    const own = pay(z.object({ order: z.number().default(() => (made += 1)) }));
    await start({ own, approvals: { pay: (input) => judged.push(input) > 1 } });
    await service.say(id, "go");
    (await service.model.next()).callTool("pay", {}, "c0").finish("tool-calls");
    expect((await outputs())[0]).toBe("paid");
    expect(ran).toEqual(judged);
  });

  it("runs with what it was made into, where that is no JSON and says the same", async () => {
    const own = pay(z.object({ day: asDate }));
    expect(await ask({ own, ...ALWAYS }, { day: "2026-03-01" })).toEqual({ day: "2026-03-01T00:00:00.000Z" });
    expect(await approve()).toBe("paid");
    expect(ran).toEqual([{ day: new Date("2026-03-01") }]);
  });

  it.each([
    ["another default came", z.object({ to: z.string(), amount: z.number().default(1000) })],
    ["it is no JSON any more", z.object({ to: asDate })],
  ])(
    "does not run where the person saw something else: %s while the service was away",
    async (_case, schema) => {
      const shown = { to: "2026-03-01" };
      expect(await ask({ own: pay(z.object({ to: z.string() })), ...ALWAYS }, shown)).toEqual(shown);
      await service.crash();
      await start({ own: pay(schema), ...ALWAYS });
      expect(await approve()).toMatch(/^This call was not made: the tool would get another input now/);
      expect(ran).toEqual([]);
    },
  );
});

describe("a call that a person approved", () => {
  it("runs again after a crash where it may, and nobody is asked twice", async () => {
    const tools: Tools = { own: amounts, ...ALWAYS, effects: { pay: "read" } };
    await start(tools);
    await service.say(id, "go");
    (await service.model.next()).callTool("pay", { amount: 1 }, "c0").finish("tool-calls");
    await until(() => calls.includes("turns.wait"));
    before = away;
    const [action] = (await service.snapshot(id)).pending_actions ?? [];
    await service.actions.decide(id, action!.id, { decision: "approve", result: null });
    await until(() => calls.includes("turns.toolResult"));
    await service.crash();
    before = () => undefined;
    await start(tools);
    expect((await outputs())[0]).toBe("paid");
    expect(ran).toEqual([{ amount: 1 }, { amount: 1 }]);
  });
});
