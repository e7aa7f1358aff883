import { afterEach, describe, expect, it } from "vitest";
import { lines, newId, startService, until, type TestService } from "../../../server/test/service.ts";

let service: TestService;
/** Store calls that throw unexpected errors. */
let defective: string | null = null;
afterEach(async () => {
  defective = null;
  await service.close();
});

async function start(): Promise<void> {
  service = await startService({
    beforeCall: (method, parameters) => {
      if (method !== defective) return undefined;
      const [identity] = parameters as [{ readonly sessionId: string }];
      if (identity.sessionId === healthy) return undefined;
      throw new Error("defect");
    },
  });
}

/** A session without defects. */
const healthy = newId();

async function isIdle(id: string): Promise<boolean> {
  return !(await service.snapshot(id)).is_processing;
}

/** Answers pending model calls, except those of the healthy session. */
async function answerAll(text: string): Promise<void> {
  while (service.model.waitingCalls > 0) (await service.model.next()).say(text).finish();
}

describe("turn with a recurring defect", () => {
  it("fails after its third attempt, reports it, and lets queued turns go on", async () => {
    await start();
    // Another turn runs meanwhile; only its lease is renewed.
    await service.say(healthy, "think");
    await service.model.next();
    const id = newId();
    defective = "complete";
    await service.say(id, "go");
    await service.say(id, "next");
    for (let second = 0; second < 60; second += 1) {
      await answerAll("answer");
      await service.pass(1_000);
      if ((await service.snapshot(id)).messages[1]?.status === "failed") defective = null;
    }
    await until(async () => {
      await answerAll("answer");
      return await isIdle(id);
    });
    const snapshot = await service.snapshot(id);
    expect(lines(snapshot.messages)).toEqual([
      "user complete: go",
      expect.stringMatching(/^agent failed: /),
      "user complete: next",
      "agent complete: answer",
    ]);
    expect(snapshot.system_events.map(({ payload }) => payload["code"])).toContain("turn_crashed");
    expect((await service.snapshot(healthy)).is_processing).toBe(true);
  });

  it("runs again as soon as its lease expires, and keeps its progress", async () => {
    await start();
    const id = newId();
    defective = "toolResult";
    await service.say(id, "go");
    (await service.model.next())
      .say("First.")
      .callTool("calculator", { expression: "1+1" }, "c")
      .finish("tool-calls");
    await service.pass(3_000);
    expect((await service.snapshot(id)).messages[1]?.tool_results).toBeUndefined();
    defective = null;
    await service.pass(10_000);
    (await service.model.next()).say("Second.").finish();
    await until(async () => await isIdle(id));
    const { messages } = await service.snapshot(id);
    expect(lines(messages)).toEqual(["user complete: go", "agent complete: First.\n\nSecond."]);
    expect(messages[1]?.tool_results).toMatchObject([{ call_id: "c", is_error: false }]);
  });
});

describe("waiting turns", () => {
  it("are answered behind a failed one", async () => {
    await start();
    const id = newId();
    await service.say(id, "one");
    await service.say(id, "two");
    (await service.model.next()).fail(new TypeError("not retryable"));
    (await service.model.next()).say("2").finish();
    await until(async () => await isIdle(id));
    expect(lines((await service.snapshot(id)).messages)).toEqual([
      "user complete: one",
      "agent failed: ",
      "user complete: two",
      "agent complete: 2",
    ]);
  });

  it("get the slot of a rejected chat", async () => {
    const gate = Promise.withResolvers<void>();
    const refused = newId();
    service = await startService({
      adjust: (config) => ({ ...config, limits: { ...config.limits, maxRunning: 1 } }),
      beforeCall: (method, parameters) => {
        const [command] = parameters as [{ readonly target?: { readonly session?: string } } | undefined];
        return method === "chat" && command?.target?.session === refused
          ? gate.promise.then(() => Promise.reject(new Error("defect")))
          : undefined;
      },
    });
    const rejected = service.say(refused, "never");
    rejected.catch(() => undefined);
    const id = newId();
    await service.say(id, "waits");
    expect(service.model.waitingCalls).toBe(0);
    gate.resolve();
    await expect(rejected).rejects.toThrow("defect");
    (await service.model.next()).say("runs").finish();
    await until(async () => await isIdle(id));
  });
});
