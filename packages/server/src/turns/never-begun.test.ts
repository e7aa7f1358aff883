// Unsafe calls of a step that had no place yet when the turn was cut off: they run afterwards, each once, through the whole service.

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { z } from "zod";
import { type BeforeCall, losingAnswerOf } from "../../test/intercepted-store.ts";
import { ManualClock } from "../../test/manual-clock.ts";
import { newId, startService, until, type TestService } from "../../test/service.ts";
import type { Config } from "../config/config.ts";
import { storeUnavailable } from "../store/unavailable.ts";

const ALL = Array.from({ length: 12 }, (_, index) => index + 1);
/** Calls of one step that run at the same time. */
const AT_ONCE = 8;

let directory: string;
let service: TestService;
let id: string;
/** Amounts with which the tool has begun, in their order. */
let charged: number[];
/** Ends those calls that were let go; the others wait for it for ever. */
let ends: Map<number, () => void>;
/** Whether calls end at once. */
let isFree: boolean;
/** Calls of the store. */
let calls: string[];
let before: BeforeCall;
const clock = new ManualClock();

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "colloquy-"));
  charged = [];
  ends = new Map();
  isFree = false;
  id = newId();
  before = () => undefined;
  await start();
});
afterEach(async () => {
  await service.close();
  await rm(directory, { recursive: true });
});

async function start(): Promise<void> {
  calls = [];
  service = await startService({
    directory,
    clock,
    beforeCall: (method, parameters) => {
      calls.push(method);
      return before(method, parameters);
    },
    adjust: (config) => ({ ...config, apps: { default: withTools(config.apps["default"]!) } }),
  });
}

/** An App with an unsafe tool under two names, of which one asks for approval. */
function withTools(app: Config["apps"][string]): Config["apps"][string] {
  const charge = {
    description: "Charges a card",
    inputSchema: z.object({ amount: z.number() }),
    execute: async ({ amount }: { amount: number }) => {
      charged.push(amount);
      if (!isFree) await new Promise<void>((resolve) => ends.set(amount, resolve));
      return amount;
    },
  };
  const effects = { charge: "unsafe", pay: "unsafe" } as const;
  const own = { charge, pay: charge };
  return { ...app, tools: { ...app.tools, own, effects, approvals: { charge: "always" } } };
}

/** The model calls the tool for all amounts in one step, and where a person is asked, all are approved. */
async function callAll(tool: "charge" | "pay"): Promise<void> {
  await service.say(id, "go");
  const call = await service.model.next();
  for (const amount of ALL) call.callTool(tool, { amount }, `c${amount}`);
  call.finish("tool-calls");
  if (tool === "pay") return;
  await until(() => calls.includes("turns.wait"));
  for (const action of (await service.snapshot(id)).pending_actions ?? [])
    await service.actions.decide(id, action.id, { decision: "approve", result: null });
}

const begun = (count: number) => until(() => charged.length === count);

/** The outputs of all calls, in the order of the calls. */
async function outputs(): Promise<unknown[]> {
  const results = (await service.snapshot(id)).messages[1]?.tool_results ?? [];
  return ALL.map((amount) => results.find(({ call_id }) => call_id === `c${amount}`)?.output);
}

/** The turn goes on to its end. */
async function answer(): Promise<void> {
  (await service.model.next()).say("Done.").finish();
  await until(async () => !(await service.snapshot(id)).is_processing);
}

describe("calls that had not begun when their turn was cut off", () => {
  it.each([
    ["approved", "stop", "charge"],
    ["approved", "crash", "charge"],
    ["of a new step", "stop", "pay"],
    ["of a new step", "crash", "pay"],
  ] as const)("run after it, each once: %s, after a %s", async (_kind, end, tool) => {
    await callAll(tool);
    await begun(AT_ONCE);
    // Two have ended, and two others began in their places.
    ends.get(2)?.();
    ends.get(5)?.();
    await begun(AT_ONCE + 2);
    await (end === "stop" ? service.close() : service.crash());
    isFree = true;
    await start();
    await answer();
    expect(charged).toEqual(ALL);
    const expected = ALL.map((amount) => {
      const hasEnded = amount === 2 || amount === 5 || amount > AT_ONCE + 2;
      return hasEnded ? amount : "outcome unknown";
    });
    expect(await outputs()).toEqual(expected);
  });

  it("run after it, all of them, when the stop came before their start could be stored", async () => {
    before = (method) =>
      method === "turns.startCalls" ? Promise.reject(storeUnavailable(new Error("gone"))) : undefined;
    await callAll("charge");
    await until(() => calls.includes("turns.startCalls"));
    await service.close();
    expect(charged).toEqual([]);
    before = () => undefined;
    isFree = true;
    await start();
    await answer();
    expect(charged).toEqual(ALL);
    expect(await outputs()).toEqual(ALL);
  });

  it("run, each once, when the answer is lost that their start is stored", async () => {
    const methods = ["turns.startCalls", "turns.toolResult"];
    const losing = methods.map((method) => losingAnswerOf(method, service.store));
    before = (method, parameters) =>
      losing.map((lose) => lose(method, parameters)).find((lost) => lost !== undefined);
    isFree = true;
    await callAll("charge");
    await until(async () => {
      await service.pass(1_000);
      return charged.length === ALL.length;
    });
    await answer();
    expect(charged.toSorted((left, right) => left - right)).toEqual(ALL);
    expect(await outputs()).toEqual(ALL);
    // Asked for, made, and asked for again.
    expect(calls.filter((method) => method === "turns.startCalls")).toHaveLength(3);
  });

  it.each(["charge", "pay"] as const)("never run after an interrupt, which says so: %s", async (tool) => {
    await callAll(tool);
    await begun(AT_ONCE);
    await service.conversations.interrupt(id, null);
    for (const end of ends.values()) end();
    await service.close();
    isFree = true;
    await start();
    expect(await outputs()).toEqual(
      ALL.map((amount) => (amount <= AT_ONCE ? "outcome unknown" : "interrupted")),
    );
    expect(charged).toHaveLength(AT_ONCE);
  });
});

describe("that calls have started", () => {
  it.each([
    ["approved", "charge", 1],
    ["of a new step", "pay", 0],
  ] as const)("costs as few writes as can be: %s", async (_kind, tool, writes) => {
    isFree = true;
    await callAll(tool);
    await answer();
    expect(charged).toEqual(ALL);
    const count = (method: string) => calls.filter((called) => called === method).length;
    expect(count("turns.startCalls")).toBe(writes);
    expect(count("turns.toolResult")).toBe(ALL.length);
    await service.say(id, "no tools");
    await answer();
    expect(count("turns.startCalls")).toBe(writes);
  });
});
