// Calls of client tools on the real service: the tests advance the clients' clock.

import { randomUUID } from "node:crypto";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { LiveSession, ToolHandler, ToolRun } from "../src/index.ts";
import { serve, type Served } from "./served.ts";

/** The service's answer to a claim when another client has the call. */
const CLAIMED_ELSEWHERE = {
  status: 409,
  body: JSON.stringify({ code: "action_claimed", detail: "Another client runs this call." }),
};
const TOOL = { description: "Reads the page", inputSchema: { type: "object" as const } };

let served: Served;
let session: LiveSession;
/** Handler invocations. A test settles them. */
let started: {
  readonly input: unknown;
  readonly run: ToolRun;
  finish(output: unknown): void;
  fail(error: unknown): void;
}[];

beforeEach(async () => {
  served = await serve({
    client: { read_page: TOOL, read_again: { ...TOOL, repeatable: true }, valueOf: TOOL },
  });
  session = served.client().session(randomUUID());
  started = [];
});
afterEach(async () => {
  session.stop();
  await served.stop();
});

const handler: ToolHandler = (input, run) =>
  new Promise((resolve, reject) => {
    started.push({ input, run, finish: resolve, fail: reject });
  });
const tools = { read_page: handler, read_again: handler };

/** Makes the assistant call the tool. */
async function call(tool = "read_page", input: object = { part: "title" }): Promise<void> {
  await served.direct.sendMessage(session.id, "Hi");
  (await served.model.next()).callTool(tool, input).finish("tool-calls");
}

/** Makes the assistant call the tool, which this client begins to run. */
async function begun(tool?: string): Promise<() => void> {
  const stop = session.runTools(tools);
  await call(tool);
  await served.until(() => started.length === 1);
  return stop;
}

/** Returns the tool result that the model gets, and ends its answer. */
async function told(): Promise<string> {
  const next = await served.model.next();
  next.say("Thank you.").finish();
  return next.prompt.at(-1) ?? "";
}

const isPending = (): Promise<void> =>
  served.until(() => session.getSnapshot()?.pending_actions.length === 1);
const claims = (): number => served.proxy.seen.filter((line) => line.endsWith("/claim")).length;
const decisions = (): number =>
  served.proxy.seen.filter((line) => /^POST \/api\/actions\/[^/]+$/.test(line)).length;

/** Claims the pending call for another client. */
async function claimElsewhere(): Promise<void> {
  const { pending_actions } = await served.direct.getState(session.id, { wait: 10 });
  await served.direct.claimAction(session.id, pending_actions[0]!.id);
}

describe("a call of a client tool", () => {
  it("runs with its input, and the model gets the output", async () => {
    await begun();
    expect(started[0]).toMatchObject({
      input: { part: "title" },
      run: { sessionId: session.id, action: { tool: "read_page", kind: "client_tool" } },
    });
    started[0]!.finish({ title: "Tea" });
    expect(await told()).toContain('{"title":"Tea"}');
    expect(started[0]!.run.signal.aborted).toBe(false);
    expect([claims(), decisions()]).toEqual([1, 1]);
  });

  it("reports files that its handler attaches", async () => {
    await begun();
    const file = new File(["green tea"], "seen.txt", { type: "text/plain" });
    const { id } = await started[0]!.run.attach(file);
    const named = await started[0]!.run.attach(new Blob(["black tea"], { type: "text/plain" }), {
      name: "b.txt",
    });
    started[0]!.finish("seen");
    expect(await told()).toContain("green tea");
    await served.until(() => session.getSnapshot()?.is_processing === false);
    const { messages } = await served.direct.getState(session.id);
    expect(messages[1]?.tool_results).toMatchObject([
      {
        output: "seen",
        attachments: [
          { id, name: "seen.txt" },
          { id: named.id, name: "b.txt" },
        ],
      },
    ]);
  });

  it("reports its output if its handler attaches too many files", async () => {
    await begun();
    const attach = () => started[0]!.run.attach(new Blob(["tea"], { type: "text/plain" }));
    const attached = await Promise.allSettled(Array.from({ length: 11 }, attach));
    expect(attached.at(-1)).toMatchObject({ reason: new Error("A result may have at most 10 files.") });
    started[0]!.finish("seen");
    await told();
    await served.until(() => session.getSnapshot()?.is_processing === false);
    const { messages } = await served.direct.getState(session.id);
    expect(messages[1]?.tool_results).toMatchObject([{ output: "seen", is_error: false }]);
    expect(messages[1]?.tool_results?.[0]?.attachments).toHaveLength(10);
  });

  it("runs if it was pending before the client started", async () => {
    await call();
    session.runTools(tools);
    await served.until(() => started.length === 1);
    started[0]!.finish(undefined);
    expect(await told()).toContain("null");
  });

  it.each([
    ["an error", new Error("There is no page."), "There is no page."],
    ["an error without a message", new TypeError(), "TypeError"],
    ["something else", "no page", "no page"],
  ])("gives the model the error of a handler that throws %s", async (_name, error, text) => {
    await begun();
    started[0]!.fail(error);
    expect(await told()).toContain(text);
  });

  it.each([
    ["is not JSON", 5n, /BigInt/],
    ["is too large", "x".repeat(90_000), /The service rejected the output: .*80 KiB/],
  ])("has an error as its result if the output %s", async (_name, output, text) => {
    await begun();
    started[0]!.finish(output);
    expect(await told()).toMatch(text);
  });

  it("is not claimed without a handler for its tool", async () => {
    session.runTools({ read_again: handler });
    await call("valueOf");
    await isPending();
    // By then a claim would have arrived.
    await served.direct.getState(session.id);
    expect([claims(), started]).toEqual([0, []]);
  });

  it("is claimed once by a client that stops and immediately restarts its tools", async () => {
    session.subscribe(() => undefined);
    await call();
    await isPending();
    session.runTools(tools)();
    session.runTools(tools);
    await served.until(() => started.length === 1);
    expect(claims()).toBe(1);
  });

  it("runs in one of several clients", async () => {
    const other = served.client().session(session.id);
    other.runTools(tools);
    await begun();
    await served.until(() => claimOf(other) !== null && claimOf(session) !== null);
    started[0]!.finish("Tea");
    expect(await told()).toContain("Tea");
    expect([started.length, decisions()]).toEqual([1, 1]);
    other.stop();
  });

  it("does not run if another client has claimed it", async () => {
    await call();
    await claimElsewhere();
    session.runTools(tools);
    await served.until(() => claimOf(session) !== null);
    expect([claims(), started]).toEqual([0, []]);
  });

  it("runs once when the responses to its claim were lost, more than the transport retries", async () => {
    let left = 8;
    served.proxy.plan = ({ path }) => (path.endsWith("/claim") && (left -= 1) >= 0 ? "lose" : null);
    session.runTools(tools);
    await call();
    await served.until(() => started.length === 1, 100);
    started[0]!.finish("done");
    expect(await told()).toContain("done");
    expect([claims(), started.length]).toEqual([9, 1]);
  });
});

/** Returns when the claim of the session's only call expires, as the snapshot shows it. */
function claimOf({ getSnapshot }: LiveSession): string | null {
  const [action] = getSnapshot()?.pending_actions ?? [];
  return action?.kind === "client_tool" ? action.claim_expires_at : null;
}

describe("a claim", () => {
  it("is renewed every ten seconds until the result is reported", async () => {
    await begun();
    for (const renewals of [1, 2, 3]) {
      await served.clock.advance(9_999);
      expect(claims()).toBe(renewals);
      await served.clock.advance(1);
      await served.until(() => claims() === renewals + 1);
      // The next renewal starts when this one is answered.
      await served.until(() => served.clock.hasTimerIn(10_000));
    }
    started[0]!.finish("Tea");
    expect(await told()).toContain("Tea");
    await served.until(() => session.getSnapshot()?.is_processing === false);
    await served.clock.advance(60_000);
    expect(claims()).toBe(4);
  });

  it("aborts the handler and reports nothing if its renewal is refused", async () => {
    await begun();
    served.proxy.plan = ({ path }) => (path.endsWith("/claim") ? CLAIMED_ELSEWHERE : null);
    await served.clock.advance(10_000);
    await served.until(() => started[0]!.run.signal.aborted);
    started[0]!.finish("Tea");
    await served.clock.advance(60_000);
    expect([claims(), decisions()]).toEqual([2, 0]);
  });

  it("aborts the handler after thirty seconds without a renewal", async () => {
    await begun();
    served.proxy.plan = () => "refuse";
    served.proxy.cut();
    await served.clock.advance(29_999);
    expect(started[0]!.run.signal.aborted).toBe(false);
    await served.clock.advance(1);
    expect(started[0]!.run.signal.reason).toMatchObject({ message: "The claim expired." });
  });

  it("ends when the session is interrupted or deleted", async () => {
    await begun();
    await served.direct.interrupt(session.id);
    await served.until(() => started[0]!.run.signal.aborted);
    await call();
    await served.until(() => started.length === 2);
    await served.direct.deleteThread(session.id);
    await served.until(() => started[1]!.run.signal.aborted);
    const before = claims();
    await served.clock.advance(60_000);
    expect([claims(), decisions()]).toEqual([before, 0]);
  });
});

describe("a result", () => {
  it("is reported as soon as the service is back", async () => {
    await begun();
    served.proxy.plan = ({ path }) => (path.startsWith("/api/actions/") ? "refuse" : null);
    started[0]!.finish("Tea");
    await served.until(() => decisions() > 7, 100);
    served.proxy.plan = () => null;
    await served.until(() => served.model.waitingCalls === 1, 100);
    expect(await told()).toContain("Tea");
  });
});

describe("a client that stops its tools", () => {
  it("aborts the handler, stops renewing its claim, and still reports its result", async () => {
    const stop = await begun();
    stop();
    expect(started[0]!.run.signal.aborted).toBe(true);
    await served.clock.advance(15_000);
    expect(claims()).toBe(1);
    const seen = new Blob(["green tea"], { type: "text/plain" });
    await started[0]!.run.attach(seen, { name: "seen.txt" });
    started[0]!.finish("Tea");
    expect(await told()).toContain("green tea");
  });

  it("reports an error for a call that it has claimed and not run yet", async () => {
    const gate = Promise.withResolvers<void>();
    const claiming: typeof fetch = async (input, init) => {
      const answer = await fetch(input, init);
      if (answer.url.endsWith("/claim")) await gate.promise;
      return answer;
    };
    session = served.client({ fetch: claiming }).session(session.id);
    const stop = session.runTools(tools);
    await call();
    await served.until(() => claimOf(session) !== null);
    stop();
    gate.resolve();
    expect(await told()).toContain("stopped offering this tool");
    expect(started).toEqual([]);
  });

  it("runs no later calls", async () => {
    const stop = session.runTools(tools);
    session.subscribe(() => undefined);
    stop();
    await call();
    await isPending();
    expect(claims()).toBe(0);
  });

  it("reports nothing if the session was stopped", async () => {
    await begun();
    session.stop();
    expect(started[0]!.run.signal.reason).toMatchObject({ code: "stopped" });
    started[0]!.finish("Tea");
    await served.clock.advance(0);
    expect([claims(), decisions(), served.clock.timers]).toEqual([1, 0, 0]);
  });
});

describe("a claim that expires on the service", () => {
  it("gives the call an unknown outcome, and no client runs it again", async () => {
    await call();
    await claimElsewhere();
    session.runTools(tools);
    await served.until(() => claimOf(session) !== null);
    served.pass(31_000);
    expect(await told()).toContain("outcome unknown");
    expect(started).toEqual([]);
  });

  it("lets another client run a repeatable call", async () => {
    served.proxy.plan = ({ path }) => (path.endsWith("/claim") ? CLAIMED_ELSEWHERE : null);
    session.runTools(tools);
    await call("read_again");
    await served.until(() => claims() === 1);
    await claimElsewhere();
    await served.until(() => claimOf(session) !== null);
    served.proxy.plan = () => null;
    served.pass(31_000);
    await served.until(() => started.length === 1);
    started[0]!.finish("Tea");
    expect(await told()).toContain("Tea");
  });
});
