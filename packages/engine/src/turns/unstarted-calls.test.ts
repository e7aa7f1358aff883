// Unsafe calls that had no slot yet when their turn was cut off run afterwards, each once; tested through the
// whole service.

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { z } from "zod";
import { type BeforeCall, losingAnswerOf } from "../../../server/test/intercepted-store.ts";
import { ManualClock } from "../../../server/test/manual-clock.ts";
import { newId, startService, until, type TestService } from "../../../server/test/service.ts";
import type { Config } from "../../../server/src/config/config.ts";
import { storeUnavailable } from "../store/unavailable.ts";
import { ANONYMOUS } from "../core/session-access.ts";

const ALL = Array.from({ length: 12 }, (_, index) => index + 1);
/** Concurrent calls of one step. */
const AT_ONCE = 8;

let directory: string;
let service: TestService;
let id: string;
/** Amounts of the started runs, in order. */
let charged: number[];
/** Releases calls; the others wait forever. */
let ends: Map<number, () => void>;
/** If true, calls end at once. */
let isFree: boolean;
/** Recorded store calls. */
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

/** An App with an unsafe tool under two names, one of which needs approval. */
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

/** Calls the tool for all amounts in one step, and approves all calls that need it. */
async function callAll(tool: "charge" | "pay"): Promise<void> {
  await service.say(id, "go");
  const call = await service.model.next();
  for (const amount of ALL) call.callTool(tool, { amount }, `c${amount}`);
  call.finish("tool-calls");
  if (tool === "pay") return;
  await until(() => calls.includes("wait"));
  for (const action of (await service.snapshot(id)).pending_actions ?? [])
    await service.actions.decide(id, action.id, { decision: "approve", result: null }, null);
}

const begun = (count: number) => until(() => charged.length === count);

/** Returns the outputs of all calls, in order. */
async function outputs(): Promise<unknown[]> {
  const results = (await service.snapshot(id)).messages[1]?.tool_results ?? [];
  return ALL.map((amount) => results.find(({ call_id }) => call_id === `c${amount}`)?.output);
}

/** Completes the turn. */
async function answer(): Promise<void> {
  (await service.model.next()).say("Done.").finish();
  await until(async () => !(await service.snapshot(id)).is_processing);
}

describe("calls that had not started when their turn was cut off", () => {
  it.each([
    ["approved", "stop", "charge"],
    ["approved", "crash", "charge"],
    ["of a new step", "stop", "pay"],
    ["of a new step", "crash", "pay"],
  ] as const)("run once afterwards: %s, after a %s", async (_kind, end, tool) => {
    await callAll(tool);
    await begun(AT_ONCE);
    // Two calls have ended, and two others took their slots.
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

  it("all run when the stop came before their start was stored", async () => {
    before = (method) =>
      method === "startCalls" ? Promise.reject(storeUnavailable(new Error("gone"))) : undefined;
    await callAll("charge");
    await until(() => calls.includes("startCalls"));
    await service.close();
    expect(charged).toEqual([]);
    before = () => undefined;
    isFree = true;
    await start();
    await answer();
    expect(charged).toEqual(ALL);
    expect(await outputs()).toEqual(ALL);
  });

  it("run once when the acknowledgement of their stored start is lost", async () => {
    const methods = ["startCalls", "toolResult"];
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
    // Requested, stored, and requested again.
    expect(calls.filter((method) => method === "startCalls")).toHaveLength(3);
  });

  it.each(["charge", "pay"] as const)("never run after an interrupt, which reports it: %s", async (tool) => {
    await callAll(tool);
    await begun(AT_ONCE);
    await service.conversations.interrupt(id, ANONYMOUS, null);
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

describe("storing the start of calls", () => {
  it.each([
    ["approved", "charge", 1],
    ["of a new step", "pay", 0],
  ] as const)("takes as few writes as possible: %s", async (_kind, tool, writes) => {
    isFree = true;
    await callAll(tool);
    await answer();
    expect(charged).toEqual(ALL);
    const count = (method: string) => calls.filter((called) => called === method).length;
    expect(count("startCalls")).toBe(writes);
    expect(count("toolResult")).toBe(ALL.length);
    await service.say(id, "no tools");
    await answer();
    expect(count("startCalls")).toBe(writes);
  });
});
