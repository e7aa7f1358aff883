import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { newId, startService, until, type TestService } from "../../../server/test/service.ts";
import { Unavailable } from "../core/errors.ts";
import type { Logger } from "../core/ports/driven/logger.ts";

let service: TestService;
let calls: string[];
/** Number of expiry transactions that fail. */
let failures = 0;
/** True if these transactions fail after the commit. */
let isLost = false;
let warnings: string[];

beforeEach(async () => {
  calls = [];
  failures = 0;
  isLost = false;
  warnings = [];
  const warn: Logger["warn"] = (_fields, text) => void warnings.push(text);
  service = await startService({
    beforeCall: (method) => {
      calls.push(method);
      if (method !== "expireActions" || failures === 0) return undefined;
      failures -= 1;
      const fail = (): never => {
        throw new Unavailable(507, "insufficient_storage", "The disk is full.", 30);
      };
      return isLost
        ? service.store.executeEach({ kind: "expireActions", limit: 64 }).then(fail)
        : Promise.resolve().then(fail);
    },
    logger: { debug() {}, info() {}, warn, error() {} },
    adjust: (config) => {
      const app = config.apps["default"]!;
      const tools = { ...app.tools, approvals: { current_time: "always" } as const };
      return {
        ...config,
        limits: { ...config.limits, actionMs: 5_000 },
        apps: { default: { ...app, tools } },
      };
    },
  });
});
afterEach(() => service.close());

/** Creates sessions whose turns wait for a person. */
async function waiting(count: number): Promise<string[]> {
  const ids = Array.from({ length: count }, newId);
  await Promise.all(ids.map((id) => service.say(id, "go")));
  for (let n = 0; n < count; n += 1)
    (await service.model.next()).callTool("current_time", {}).finish("tool-calls");
  await until(() => calls.filter((method) => method === "wait").length === count);
  await service.store.probe();
  return ids;
}

describe("ActionExpiry", () => {
  it("expires all due actions in batches, and their turns continue", async () => {
    const ids = await waiting(150);
    await service.pass(5_000);
    await until(() => calls.filter((method) => method === "expireActions").length === 3);
    for (let n = 0; n < ids.length; n += 1) (await service.model.next()).say("Too late.").finish();
    await until(async () =>
      (await Promise.all(ids.map((id) => service.snapshot(id)))).every(({ is_processing }) => !is_processing),
    );
    expect(await service.store.actions.isAnyDue()).toBe(false);
  });

  it("retries after store failures, and logs them once", async () => {
    failures = 2;
    await waiting(1);
    await service.pass(5_000);
    await service.pass(2_000);
    (await service.model.next()).say("Too late.").finish();
    expect(calls.filter((method) => method === "expireActions")).toHaveLength(3);
    expect(warnings).toHaveLength(1);
    expect(warnings[0]).toContain("retrying");
  });

  it("claims turns and reloads sessions after an expiry whose result was lost", async () => {
    const [id = ""] = await waiting(1);
    failures = 1;
    isLost = true;
    await service.pass(5_000);
    await until(() => warnings.length === 1);
    await service.pass(1_000);
    const call = await service.model.next();
    expect((await service.snapshot(id)).pending_actions).toEqual([]);
    call.say("Too late.").finish();
    await until(async () => !(await service.snapshot(id)).is_processing);
  });

  it("does nothing after a stop", async () => {
    await waiting(1);
    await service.actionExpiry.stop();
    calls = [];
    await service.pass(10_000);
    expect(calls.filter((method) => method.startsWith("actions.") || method === "expireActions")).toEqual([]);
  });
});
