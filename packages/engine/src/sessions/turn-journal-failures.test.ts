import type { TurnTarget } from "../core/commands/command.ts";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { lines, newId } from "../../../server/test/service.ts";
import { call, step } from "../core/commands/testing/decided-session.ts";
import { failing, fullDisk, JournaledTurn } from "./testing/journaled-turn.ts";

let one: JournaledTurn;
beforeEach(async () => {
  one = await JournaledTurn.start();
});
afterEach(() => one.close());

describe("a temporary store failure", () => {
  it("delays the turn and does not end it", async () => {
    one.before = failing("complete", 3);
    const done = one.journal.complete(step(1, "done"));
    await one.service.clock.advance(199);
    expect(one.callsOf("complete")).toHaveLength(1);
    await one.service.clock.advance(1 + 400 + 800);
    expect(await done).toBe(true);
    expect(lines((await one.service.snapshot(one.id)).messages)[1]).toBe("agent complete: done");
    expect(one.warnings).toEqual(Array.from({ length: 3 }, () => "a turn waits for the store"));
  });

  it("delays its start too, until its session is in memory", async () => {
    const other = newId();
    await one.service.say(other, "hello");
    const started = (
      await one.service.store.executeEach({
        kind: "claimTurns",
        owner: "me",
        agentMessageIds: [newId()],
        fullProviders: [],
        models: {},
      })
    )[0]!.outcome!;
    one.service.registry.remove(other, started.incarnation);
    one.before = failing("open", 2);
    const opened = one.journalOf(started).open();
    await one.service.clock.advance(200);
    expect(one.service.registry.inMemory(other)).toBeNull();
    await one.service.clock.advance(400);
    await opened;
    expect(one.service.registry.inMemory(other)).not.toBeNull();
  });

  it("is retried at least every five seconds, and not after a stop", async () => {
    one.before = failing("toolResult", 1_000);
    const written = one.journal.toolResult({ callId: "a", output: 1, isError: false, durationMs: 1 });
    await one.service.clock.advance(60_000);
    const times = () => one.callsOf("toolResult").map(({ at }) => at);
    expect(times().slice(0, 7)).toEqual([0, 200, 600, 1_400, 3_000, 6_200, 11_200]);
    one.stop.abort();
    expect(await written).toBe(false);
    const tried = times();
    await one.service.clock.advance(10_000);
    expect(times()).toEqual(tried);
  });

  it("triggers a claim for a turn that may have been released before the failure", async () => {
    one.before = (method, parameters) => {
      if (method !== "wait") return undefined;
      one.before = () => undefined;
      const [{ target }] = parameters as [{ readonly target: TurnTarget }];
      return one.service.store.execute({ kind: "wait", target, input: null }).then(() => {
        throw fullDisk();
      });
    };
    const waits = one.journal.wait();
    await one.round();
    await one.service.clock.advance(200);
    expect(await waits).toBe(false);
    expect(one.more).toBe(1);
  });

  it("is not retried for a defect", async () => {
    one.before = failing("complete", 1, () => new Error("defect"));
    await expect(one.journal.complete(step(1, "x"))).rejects.toThrow("defect");
  });

  it("drops a tool's progress instead of failing the turn", async () => {
    await one.journal.stepWithCalls(step(1, ""), [call("a")], []);
    one.before = failing("toolProgress", 1);
    one.journal.toolProgress("a", 1);
    await one.round();
    expect(one.warnings).toEqual(["a tool's progress was not stored"]);
    expect(await one.journal.complete(step(2, "done"))).toBe(true);
  });
});
