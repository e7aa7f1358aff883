import { describe, expect, it } from "vitest";
import type { Config } from "../../../server/src/config/config.ts";
import { FoldingReader } from "../../../server/test/folding-reader.ts";
import { lines, newId, parse, until, type TestService } from "../../../server/test/service.ts";
import { CLAIM_MS } from "../core/commands/claim-action.ts";
import { ANONYMOUS } from "../core/session-access.ts";
import { useRestartableService } from "./testing/use-restartable-service.ts";

let service: TestService;
const { clock, restart } = useRestartableService((started) => (service = started));

/** Starts the service without resuming turns. */
async function restartWithoutPlaces(): Promise<void> {
  await restart((config) => ({ ...config, limits: { ...config.limits, maxRunning: 0 } }));
}

const withClientTool = ({ apps, ...config }: Config): Config => {
  const app = apps["default"]!;
  const client = { look: { description: "Looks where the user is", inputSchema: { type: "object" } } };
  return { ...config, apps: { ...apps, default: { ...app, tools: { ...app.tools, client } } } };
};

const idle = (id: string) => async (): Promise<boolean> => !(await service.snapshot(id)).is_processing;

describe("after a crash", () => {
  it("keeps the turn's agent message and resumes from its last finished step", async () => {
    const id = newId();
    await service.say(id, "go");
    (await service.model.next())
      .say("First.")
      .callTool("calculator", { expression: "1+1" }, "c1")
      .finish("tool-calls");
    (await service.model.next()).say("Sec");
    await until(async () => (await service.snapshot(id)).messages[1]?.content === "First.\n\nSec");
    const before = (await service.snapshot(id)).messages[1]!;

    await restart();
    const again = await service.model.next();
    expect(again.prompt.join()).toContain("2");
    const after = (await service.snapshot(id)).messages[1]!;
    expect(after).toMatchObject({ id: before.id, content: "First.", status: "streaming" });
    again.say("Second.").finish();
    await until(idle(id));
    const { messages } = await service.snapshot(id);
    expect(lines(messages)).toEqual(["user complete: go", "agent complete: First.\n\nSecond."]);
    expect(messages[1]?.tool_results).toHaveLength(1);
  });

  it("keeps checkpointed text on an interrupt before the turn resumes", async () => {
    const id = newId();
    await service.say(id, "go");
    (await service.model.next()).say("so far");
    await clock.advance(250);
    await until(async () => (await service.snapshot(id)).messages[1]?.content === "so far");
    await restartWithoutPlaces();
    const sealed = parse(await service.conversations.interrupt(id, ANONYMOUS, null));
    expect(lines(sealed.messages)[1]).toBe("agent interrupted: so far");
  });

  it("shows checkpointed text in the snapshot until the turn resumes", async () => {
    const id = newId();
    await service.say(id, "go");
    (await service.model.next())
      .say("First.")
      .callTool("calculator", { expression: "1+1" })
      .finish("tool-calls");
    (await service.model.next()).say("on disk");
    await until(async () => (await service.snapshot(id)).messages[1]?.content === "First.\n\non disk");
    await service.pass(250);
    await restartWithoutPlaces();
    expect((await service.snapshot(id)).messages[1]).toMatchObject({
      content: "First.\n\non disk",
      status: "streaming",
    });
    await restart();
    const again = await service.model.next();
    expect((await service.snapshot(id)).messages[1]?.content).toBe("First.");
    again.say("Second.").finish();
    await until(idle(id));
    expect((await service.snapshot(id)).messages[1]?.content).toBe("First.\n\nSecond.");
  });

  it.each([
    ["less than the checkpoint", ["one", " two"], 1],
    ["all of the checkpoint", ["one", " two"], 2],
    ["more than the checkpoint", ["one", " two", " lost"], 3],
  ])("brings a subscriber that has seen %s to the snapshot's text", async (_what, said, seen) => {
    const id = newId();
    const readers = [new FoldingReader(service, id), new FoldingReader(service, id)];
    for (const reader of readers) await reader.connect();
    await service.say(id, "go");
    const call = await service.model.next();
    for (const [index, text] of said.entries()) {
      call.say(text);
      await service.pass(index < 2 ? 250 : 1);
      if (index + 1 === seen) readers[0]!.drop();
    }
    expect(readers[1]!.snapshot?.messages[1]?.content).toBe(said.join(""));
    readers[1]!.drop();
    await restartWithoutPlaces();
    for (const reader of readers) await reader.connect(service);
    const shown = await service.snapshot(id);
    expect(shown.messages[1]?.content).toBe("one two");
    await until(() => readers.every(({ snapshot }) => snapshot?.last_event_id === shown.last_event_id));
    expect(readers.map(({ snapshot }) => snapshot)).toEqual([shown, shown]);
    for (const reader of readers) reader.drop();

    await restart();
    for (const reader of readers) await reader.connect(service);
    (await service.model.next()).say("whole").finish();
    await until(idle(id));
    const whole = await service.snapshot(id);
    await until(() => readers.every(({ snapshot }) => snapshot?.last_event_id === whole.last_event_id));
    expect(readers.map(({ snapshot }) => snapshot)).toEqual([whole, whole]);
    expect(readers.flatMap(({ faults }) => faults)).toEqual([]);
  });

  it("fails the turn on the third crash and leaves the session usable", async () => {
    const id = newId();
    await service.say(id, "go");
    for (let attempt = 1; attempt <= 3; attempt += 1) {
      await service.model.next();
      await restart();
    }
    await until(idle(id));
    const snapshot = await service.snapshot(id);
    expect(snapshot.messages[1]?.status).toBe("failed");
    expect(snapshot.system_events[0]?.payload["code"]).toBe("turn_crashed");
    await service.say(id, "again");
    (await service.model.next()).say("here").finish();
    await until(idle(id));
  });

  it("answers queued messages in order", async () => {
    const id = newId();
    await service.say(id, "one");
    await service.model.next();
    await service.say(id, "two");
    await service.say(id, "three");
    await restart();
    for (const text of ["1", "2", "3"]) (await service.model.next()).say(text).finish();
    await until(idle(id));
    expect(lines((await service.snapshot(id)).messages)).toEqual([
      "user complete: one",
      "agent complete: 1",
      "user complete: two",
      "user complete: three",
      "agent complete: 2",
      "agent complete: 3",
    ]);
  });

  it("ends a claimed call with `outcome unknown` if its client does not report before the claim expires", async () => {
    await restart(withClientTool);
    const id = newId();
    await service.say(id, "go");
    (await service.model.next()).callTool("look", {}, "c1").finish("tool-calls");
    await until(async () => (await service.snapshot(id)).pending_actions.length === 1);
    const action = (await service.snapshot(id)).pending_actions[0]!.id;
    const { claim } = await service.actions.claim(id, action, { renews: null }, null);

    await restart(withClientTool);
    await service.pass(CLAIM_MS);
    expect((await service.model.next()).prompt.join()).toContain("outcome unknown");
    expect((await service.snapshot(id)).messages[1]?.tool_results).toMatchObject([
      { output: "outcome unknown", is_error: true },
    ]);
    const late = { decision: "approve", claim, result: { output: 5 } } as const;
    const expired = { status: 410, code: "action_expired" };
    await expect(service.actions.decide(id, action, late, null)).rejects.toMatchObject(expired);
    await expect(service.actions.claim(id, action, { renews: null }, null)).rejects.toMatchObject(expired);
  });

  it("runs no more turns than slots, however many were cut off", { timeout: 120_000 }, async () => {
    const [many, cap] = [2_000, 50];
    const restartWith = (maxRunning: number): Promise<void> =>
      restart((config) => ({ ...config, limits: { ...config.limits, maxRunning } }));
    await restartWith(many);
    const ids = Array.from({ length: many }, newId);
    await Promise.all(ids.map((id) => service.say(id, "go")));
    await until(() => service.model.waitingCalls === many);

    await restartWith(cap);
    await until(() => service.model.waitingCalls === cap);
    for (let done = 0; done < many; done += 1) {
      const call = await service.model.next();
      await new Promise((resolve) => setImmediate(resolve));
      expect(service.model.waitingCalls).toBeLessThan(cap);
      call.say("ok").finish();
    }
    await until(async () => (await Promise.all(ids.map((id) => idle(id)()))).every(Boolean));
  });
});

describe("graceful stop", () => {
  it("costs interrupted turns no attempt", async () => {
    const id = newId();
    await service.say(id, "go");
    (await service.model.next()).callTool("calculator", { expression: "1+1" }, "c1").finish("tool-calls");
    for (let stop = 1; stop <= 4; stop += 1) {
      (await service.model.next()).say("half");
      await restart(undefined, "close");
    }
    (await service.model.next()).say("whole").finish();
    await until(idle(id));
    expect(lines((await service.snapshot(id)).messages)).toEqual([
      "user complete: go",
      "agent complete: whole",
    ]);
  });
});

describe("lease", () => {
  it("stops its turn before another owner can have it if it cannot be renewed, and the turn runs again", async () => {
    const id = newId();
    await service.say(id, "go");
    const call = await service.model.next();
    service.leases.stop();
    await clock.advance(7_999);
    service.leases.stopUnheld();
    expect(call.options.abortSignal?.aborted).toBe(false);
    await clock.advance(1);
    service.leases.stopUnheld();
    expect(call.options.abortSignal?.aborted).toBe(true);
    await clock.advance(2_001);
    await service.leases.sweep();
    (await service.model.next()).say("again").finish();
    await until(idle(id));
    expect(lines((await service.snapshot(id)).messages)).toEqual([
      "user complete: go",
      "agent complete: again",
    ]);
  });
});
