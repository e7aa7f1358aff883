// The policy decision stored with a step stays binding when its turn resumes after a crash, even if the tools
// have changed. These tests use the whole service.

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { z } from "zod";
import { type BeforeCall } from "../../../server/test/intercepted-store.ts";
import { ManualClock } from "../../../server/test/manual-clock.ts";
import { newId, startService, until, type TestService } from "../../../server/test/service.ts";
import type { AppSettings, OwnTool } from "../core/app-settings.ts";
import { storeUnavailable } from "../store/unavailable.ts";
import { httpServer } from "@colloquy/mcp/internal/testing/opened-mcp";
import { mcp } from "@colloquy/mcp/internal/plugin";
import { sourceSettings } from "../tools/testing/source-settings.ts";
import { ScriptedMcp } from "@colloquy/mcp/internal/testing/scripted-mcp";

type Tools = Partial<Pick<AppSettings["tools"], "own" | "sources" | "effects" | "approvals">>;

/** More calls than slots, so that some wait. */
const IDS = Array.from({ length: 12 }, (_, index) => `c${index}`);
const ALWAYS = { approvals: { pay: "always" } } as const;
const away: BeforeCall = (method) =>
  method === "toolResult" || method === "startCalls"
    ? Promise.reject(storeUnavailable(new Error("gone")))
    : undefined;

let directory: string;
let service: TestService;
let id: string;
/** Inputs of the tool's runs, in order. */
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

/** Returns the tool `pay` with this input schema. */
function pay(inputSchema: z.ZodType): Record<string, OwnTool> {
  const execute = (input: unknown): string => {
    ran.push(input);
    return "paid";
  };
  return { pay: { title: "Pay somebody", inputSchema, execute } };
}
const amounts = pay(z.object({ amount: z.number() }));

/** Stores a step with all calls, then crashes before their results can be stored. */
async function callAndCrash(tools: Tools, input: object, name = "pay"): Promise<void> {
  await start(tools);
  before = away;
  await service.say(id, "go");
  const call = await service.model.next();
  for (const callId of IDS) call.callTool(name, input, callId);
  call.finish("tool-calls");
  await until(() => calls.includes("stepWithCalls"));
  // Let the store's response and its continuation run.
  await until(() => calls.includes("toolResult") || service.model.waitingCalls > 0);
  await service.crash();
  before = () => undefined;
}

/** Completes the turn and returns the model's result of each call. */
async function outputs(): Promise<unknown[]> {
  (await service.model.next()).say("Done.").finish();
  await until(async () => !(await service.snapshot(id)).is_processing);
  const results = (await service.snapshot(id)).messages[1]?.tool_results ?? [];
  return IDS.map((callId) => results.find(({ call_id }) => call_id === callId)?.output);
}

describe("call without an approval", () => {
  it.each(["unsafe", "read"] as const)(
    "does not run after a crash if its unknown tool exists in the meantime and is %s",
    async (effect) => {
      await callAndCrash({}, { amount: 1 });
      await start({ own: amounts, ...ALWAYS, effects: { pay: effect } });
      for (const output of await outputs()) expect(output).toMatch(/^There is no tool with this name/);
      expect(ran).toEqual([]);
    },
  );

  it("does not reach a server that was down at first and is available after a crash", async () => {
    const server = await new ScriptedMcp().start();
    const tools: Tools = {
      sources: [sourceSettings(mcp, "shop", httpServer(server.url))],
      approvals: { shop_work: "always" },
    };
    await server.stop();
    await callAndCrash(tools, {}, "shop_work");
    await server.start();
    try {
      await start(tools);
      for (const output of await outputs()) expect(output).toBe("The tool shop_work failed.");
      expect(server.of("tools/list")).toHaveLength(1);
      expect(server.of("tools/call")).toEqual([]);
    } finally {
      await server.stop();
    }
  });

  it.each(["unsafe", "read"] as const)(
    "does not run after a crash if its invalid input has become valid and the tool is %s",
    async (effect) => {
      const effects = { pay: effect };
      await callAndCrash({ own: amounts, ...ALWAYS, effects }, { amount: "1" });
      await start({ own: pay(z.object({ amount: z.string() })), ...ALWAYS, effects });
      for (const output of await outputs()) expect(output).toMatch(/^The input does not fit the tool pay/);
      expect(ran).toEqual([]);
    },
  );

  it("does not run after a crash if it has come to need approval", async () => {
    const effects = { pay: "read" } as const;
    await callAndCrash({ own: amounts, effects }, { amount: 1 });
    ran = [];
    await start({ own: amounts, ...ALWAYS, effects });
    for (const output of await outputs())
      expect(output).toMatch(/^This call was not made: .* Call the tool again/);
    expect(ran).toEqual([]);
  });
});

describe("call whose schema transforms its input", () => {
  const asDate = z.string().transform((text) => new Date(text));
  const filled = pay(
    z.object({ to: z.string().transform((to) => `${to}@bank`), amount: z.number().default(1000) }),
  );

  /** Makes one call that needs approval, and returns the input shown to the person. */
  async function ask(tools: Tools, input: object): Promise<unknown> {
    await start(tools);
    await service.say(id, "go");
    (await service.model.next()).callTool("pay", input, "c0").finish("tool-calls");
    await until(() => calls.includes("wait"));
    const [action] = (await service.snapshot(id)).pending_actions ?? [];
    return action?.kind === "approval" ? action.request.input : action;
  }

  async function approve(): Promise<unknown> {
    const [action] = (await service.snapshot(id)).pending_actions ?? [];
    await service.actions.decide(id, action!.id, { decision: "approve", result: null }, null);
    return (await outputs())[0];
  }

  it("shows the transformed input, and runs with it", async () => {
    const shown = { to: "bob@bank", amount: 1000 };
    expect(await ask({ own: filled, ...ALWAYS }, { to: "bob" })).toEqual(shown);
    expect(await approve()).toBe("paid");
    expect(ran).toEqual([shown]);
    const [call] = (await service.snapshot(id)).messages[1]?.tool_calls ?? [];
    expect(call).toEqual({
      id: "c0",
      name: "pay",
      title: "Pay somebody",
      arguments: { to: "bob" },
      status: "complete",
      text_offset: 0,
      decision: {
        kind: "approval",
        status: "approved",
        at: expect.stringMatching(/^\d{4}-.*Z$/),
        by: "user",
      },
    });
  });

  it("passes the transformed input to approval rules", async () => {
    const approvals = { pay: (input: unknown) => (input as { amount: number }).amount > 100 };
    expect(await ask({ own: filled, approvals }, { to: "bob" })).toEqual({ to: "bob@bank", amount: 1000 });
    expect(ran).toEqual([]);
  });

  it("runs with the shown input even if the transformation varies, and even after a crash", async () => {
    let made = 0;
    const own = pay(z.object({ order: z.number().default(() => (made += 1)) }));
    const shown = await ask({ own, ...ALWAYS }, {});
    await service.crash();
    await start({ own, ...ALWAYS });
    expect(await approve()).toBe("paid");
    expect(ran).toEqual([shown]);
    expect(made).toBeGreaterThan(1);
  });

  it("runs with the input that the rule saw if it needs no approval", async () => {
    let made = 0;
    const decided: unknown[] = [];
    const own = pay(z.object({ order: z.number().default(() => (made += 1)) }));
    await start({ own, approvals: { pay: (input) => decided.push(input) > 1 } });
    await service.say(id, "go");
    (await service.model.next()).callTool("pay", {}, "c0").finish("tool-calls");
    expect((await outputs())[0]).toBe("paid");
    expect(ran).toEqual(decided);
  });

  it("runs with a non-JSON value that has the same JSON form", async () => {
    const own = pay(z.object({ day: asDate }));
    expect(await ask({ own, ...ALWAYS }, { day: "2026-03-01" })).toEqual({ day: "2026-03-01T00:00:00.000Z" });
    expect(await approve()).toBe("paid");
    expect(ran).toEqual([{ day: new Date("2026-03-01") }]);
  });

  it.each([
    ["another default came", z.object({ to: z.string(), amount: z.number().default(1000) })],
    ["it is not JSON any more", z.object({ to: asDate })],
  ])(
    "does not run with an input that differs from the shown one: %s while the service was down",
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

describe("approved call", () => {
  it("runs again after a crash if it is safe, without another approval", async () => {
    const tools: Tools = { own: amounts, ...ALWAYS, effects: { pay: "read" } };
    await start(tools);
    await service.say(id, "go");
    (await service.model.next()).callTool("pay", { amount: 1 }, "c0").finish("tool-calls");
    await until(() => calls.includes("wait"));
    before = away;
    const [action] = (await service.snapshot(id)).pending_actions ?? [];
    await service.actions.decide(id, action!.id, { decision: "approve", result: null }, null);
    await until(() => calls.includes("toolResult"));
    await service.crash();
    before = () => undefined;
    await start(tools);
    expect((await outputs())[0]).toBe("paid");
    expect(ran).toEqual([{ amount: 1 }, { amount: 1 }]);
  });
});
