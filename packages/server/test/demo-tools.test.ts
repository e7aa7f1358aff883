// The tools of the demo model, which other models are not offered.

import { afterEach, describe, expect, it } from "vitest";
import { z } from "zod";
import type { Config } from "../src/config/config.ts";
import { lines, MODEL, newId, startService, type TestService, until } from "./service.ts";
import { NO_APP_NAMED } from "./stream-access.ts";

let service: TestService;
afterEach(() => service.close());

/** Settings of the default App in addition to its models. */
type More = Partial<Config["apps"][string]> & { readonly maxSteps?: number };

async function start({ maxSteps, ...more }: More = {}): Promise<void> {
  service = await startService({
    adjust: (config) => ({
      ...config,
      limits: { ...config.limits, ...(maxSteps !== undefined && { maxSteps }) },
      apps: { default: { ...config.apps["default"]!, models: ["demo/assistant", MODEL], ...more } },
    }),
  });
}

async function ended(id: string): Promise<void> {
  await until(async () => {
    await service.pass(100);
    return !(await service.snapshot(id)).is_processing;
  });
}

async function answer(message: string): Promise<string> {
  const id = newId();
  await service.say(id, message);
  await ended(id);
  return (await service.snapshot(id)).messages[1]?.content ?? "";
}

const numbers = (from: number, to: number): string =>
  Array.from({ length: to - from + 1 }, (_, index) => from + index).join(" ");

describe("continue_counting", () => {
  it("divides a count into steps, whose calls readers with tools see", async () => {
    await start();
    const id = newId();
    await service.say(id, "count to 50");
    await ended(id);
    const { messages } = await service.snapshot(id);
    expect(messages[1]?.content).toBe([numbers(1, 17), numbers(18, 34), numbers(35, 50)].join("\n\n"));
    expect(messages[1]?.tool_calls?.map((call) => [call.name, call.arguments, call.status])).toEqual([
      ["continue_counting", { next: 18 }, "complete"],
      ["continue_counting", { next: 35 }, "complete"],
    ]);
  });

  it("takes fewer steps if a turn may have only few", async () => {
    await start({ maxSteps: 3 });
    expect(await answer("count to 100")).toBe(`${numbers(1, 50)}\n\n${numbers(51, 100)}`);
    await service.close();
    await start({ maxSteps: 1 });
    expect(await answer("count to 100")).toBe(numbers(1, 100));
  });

  it("is offered in an App without tools, and takes precedence over an own tool of its name", async () => {
    let called = 0;
    const tools = { builtIn: [], sources: [], wallet: null, effects: {}, approvals: {} };
    const own = { continue_counting: { inputSchema: z.object({}), execute: () => (called += 1) } };
    await start({ tools: { ...tools, own } });
    expect(await answer("count to 40")).toBe(`${numbers(1, 20)}\n\n${numbers(21, 40)}`);
    expect(called).toBe(0);
  });

  it("is not offered to other models, and is in no report for operators", async () => {
    await start();
    const id = newId();
    await service.models.setModel({ ...NO_APP_NAMED, sessionId: id, rig: MODEL, utilityModel: null }, null);
    await service.say(id, "count to 50");
    const call = await service.model.next();
    expect(call.options.tools?.map(({ name }) => name)).toEqual(["current_time", "calculator"]);
    call.say("No.").finish();
    await ended(id);
    await answer("count to 50");
    expect(service.tools.sources("default").map(({ name }) => name)).not.toContain("demo tools");
  });
});

describe("order_tea", () => {
  async function order(): Promise<string> {
    const id = newId();
    await service.say(id, "order 2 cups of tea");
    await until(async () => (await service.snapshot(id)).pending_actions.length > 0);
    return id;
  }

  it.each([
    [
      "approve",
      "The tool order_tea answered: You approved 2 cups of tea. This was a demo: nothing is ordered.",
    ],
    ["deny", "The tool order_tea reported an error: The user denied this call."],
  ] as const)("waits for a person in an App without configuration: %s", async (decision, text) => {
    await start();
    const id = await order();
    const [action] = (await service.snapshot(id)).pending_actions;
    expect(action).toMatchObject({
      kind: "approval",
      request: { tool: "order_tea", input: { cups: 2 } },
    });
    await service.actions.decide(id, action!.id, { decision, result: null }, null);
    await ended(id);
    expect(lines((await service.snapshot(id)).messages)[1]).toBe(`agent complete: ${text}`);
  });

  it("is not offered in an App with a configuration", async () => {
    await start();
    const { isUnconfigured: _, ...tools } = service.config.apps["default"]!.tools;
    await service.close();
    await start({ tools });
    expect(await answer("order tea")).toMatch(/only an App without a configuration has it/);
    expect(await answer("what tools do you have?")).toMatch(/continue_counting, current_time, calculator\./);
  });
});
