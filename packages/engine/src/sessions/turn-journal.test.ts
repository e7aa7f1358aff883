import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { lines, newId, parse, until } from "../../../server/test/service.ts";
import { call, step } from "../core/commands/testing/decided-session.ts";
import type { SessionNotification } from "../core/ports/driven/bus.ts";
import { CHECKPOINT, failing, fullDisk, JournaledTurn } from "./testing/journaled-turn.ts";
import { ANONYMOUS } from "../core/session-access.ts";

let one: JournaledTurn;
beforeEach(async () => {
  one = await JournaledTurn.start();
});
afterEach(() => one.close());

/** Returns a gate for the first checkpoint. */
function slowFirstCheckpoint(): PromiseWithResolvers<void> {
  const slow = Promise.withResolvers<void>();
  one.before = (method) =>
    method === CHECKPOINT && one.callsOf(CHECKPOINT).length === 1 ? slow.promise : undefined;
  return slow;
}

describe("streaming text", () => {
  it("is published at once, and durable within 250 ms", async () => {
    one.journal.appendText("one ");
    expect(parse(one.service.registry.inMemory(one.id)!.view()).messages[1]?.content).toBe("one ");
    await one.service.clock.advance(100);
    one.journal.appendText("two");
    await one.service.clock.advance(100);
    expect(one.saved()).toEqual([[0, "one two"]]);
    expect(await one.stored()).toBe("one two");
    one.journal.appendText(" three");
    await one.service.clock.advance(200);
    expect(one.saved().at(-1)).toEqual([7, " three"]);
    expect(await one.stored()).toBe("one two three");
    await one.service.clock.advance(10_000);
    expect(one.saved()).toHaveLength(2);
  });

  it("is dropped after the turn is interrupted", async () => {
    one.journal.appendText("one");
    one.stop.abort();
    one.journal.appendText(" two");
    expect(parse(one.service.registry.inMemory(one.id)!.view()).messages[1]?.content).toBe("one");
    await one.service.clock.advance(1_000);
    expect(one.saved()).toEqual([[0, "one"]]);
  });

  it("is checkpointed right after a slow checkpoint if it became due in the meantime", async () => {
    const slow = slowFirstCheckpoint();
    one.journal.appendText("one");
    await one.service.clock.advance(210);
    one.journal.appendText("two");
    await one.service.clock.advance(290);
    expect(one.saved()).toHaveLength(1);
    slow.resolve();
    await until(() => one.callsOf(CHECKPOINT).length === 2);
    expect(one.callsOf(CHECKPOINT)[1]?.at).toBe(500);
    expect(await one.stored()).toBe("onetwo");
  });

  it.each([
    [30, 200],
    [90, 150],
    [400, 100],
  ])(
    "is checkpointed sooner after a slower checkpoint: after one of %d ms, the next one starts after %d ms",
    async (took, after) => {
      const slow = slowFirstCheckpoint();
      one.journal.appendText("one");
      await one.service.clock.advance(200 + took);
      slow.resolve();
      expect(await one.stored()).toBe("one");
      one.journal.appendText("two");
      await one.service.clock.advance(after - 1);
      expect(one.callsOf(CHECKPOINT)).toHaveLength(1);
      await one.service.clock.advance(1);
      expect(one.callsOf(CHECKPOINT)).toHaveLength(2);
    },
  );

  it("is checkpointed again after a failure, together with later text, at its offset", async () => {
    one.before = failing(CHECKPOINT, 2);
    one.journal.appendText("ab");
    await one.service.clock.advance(200);
    one.journal.appendText("cd");
    await one.service.clock.advance(200);
    one.journal.appendText("ef");
    await one.service.clock.advance(200);
    await one.round();
    one.journal.appendText("gh");
    await one.service.clock.advance(200);
    expect(one.saved()).toEqual([
      [0, "ab"],
      [0, "abcd"],
      [0, "abcdef"],
      [6, "gh"],
    ]);
    expect(await one.stored()).toBe("abcdefgh");
    expect(one.warnings).toHaveLength(1);
  });

  it("is not checkpointed again after its step ended", async () => {
    const gate = Promise.withResolvers<void>();
    one.before = (method) =>
      method === CHECKPOINT && one.callsOf(CHECKPOINT).length === 1 ? gate.promise : undefined;
    one.journal.appendText("one");
    await one.service.clock.advance(200);
    const stored = one.journal.stepWithCalls(step(1, "one"), [call("a")], []);
    gate.reject(fullDisk());
    expect(await stored).toBe(true);
    one.journal.appendText("two");
    await one.service.clock.advance(400);
    expect(one.saved()).toEqual([
      [0, "one"],
      [0, "two"],
    ]);
    expect((await one.service.snapshot(one.id)).messages[1]?.content).toBe("one\n\ntwo");
  });

  it("is published with its offset, and a blank line between steps", async () => {
    const deltas: unknown[] = [];
    one.service.hub.listen({
      onNotification: (_id, notification) =>
        notification.kind === "delta" && deltas.push([notification.offset, notification.text]),
    });
    one.journal.appendText("one");
    one.journal.appendText(" step");
    await one.journal.stepWithCalls(step(1, "one step"), [], []);
    one.journal.appendText("two");
    expect(deltas).toEqual([
      [0, "one"],
      [3, " step"],
      [8, "\n\ntwo"],
    ]);
  });

  it("is replaced by the text of the next step if its step is rejected", async () => {
    const published: unknown[] = [];
    one.service.hub.listen({
      onNotification: (_id, notification) => {
        if (notification.kind === "delta") published.push([notification.offset, notification.text]);
        if (notification.kind === "events")
          published.push(...notification.events.map(({ event }) => event.type));
      },
    });
    await one.journal.stepWithCalls(step(1, "one"), [], []);
    one.journal.appendText("wrong");
    await one.service.clock.advance(200);
    await one.journal.rejectStep({ ...step(2, "wrong"), text: "" });
    expect(await one.stored()).toBe("");
    expect((await one.service.snapshot(one.id)).messages[1]?.content).toBe("one");
    one.journal.appendText("right");
    expect(published).toEqual(["message_updated", [3, "\n\nwrong"], "message_updated", [3, "\n\nright"]]);
    await one.service.clock.advance(200);
    expect(one.saved().at(-1)).toEqual([0, "right"]);
    await one.journal.complete(step(3, "right"));
    expect((await one.service.snapshot(one.id)).messages[1]?.content).toBe("one\n\nright");
  });

  it("continues at its offset after its session was loaded again", async () => {
    const deltas: unknown[] = [];
    one.service.hub.listen({
      onNotification: (_id, notification) =>
        notification.kind === "delta" && deltas.push([notification.offset, notification.text]),
    });
    await one.journal.stepWithCalls(step(1, "one"), [], []);
    one.journal.appendText("on disk,");
    await one.service.clock.advance(200);
    one.journal.appendText(" not yet,");
    await one.fallBehind();
    one.journal.appendText(" unseen,");
    expect((await one.service.snapshot(one.id)).messages[1]?.content).toBe("one\n\non disk,");
    one.journal.appendText(" shown");
    one.journal.appendText(".");
    expect((await one.service.snapshot(one.id)).messages[1]?.content).toBe(
      "one\n\non disk, not yet, unseen, shown.",
    );
    expect(deltas).toEqual([
      [3, "\n\non disk,"],
      [13, " not yet,"],
      [3, "\n\non disk, not yet, unseen, shown"],
      [36, "."],
    ]);
  });

  it("is committed only after a checkpoint in progress, which would otherwise outlive the step", async () => {
    const slow = slowFirstCheckpoint();
    one.journal.appendText("one");
    await one.service.clock.advance(200);
    const stored = one.journal.stepWithCalls(step(1, "one"), [], []);
    await one.round();
    expect(one.callsOf("stepWithCalls")).toEqual([]);
    slow.resolve();
    expect(await stored).toBe(true);
    expect(await one.stored()).toBe("");
  });

  it("is not checkpointed after the turn has ended", async () => {
    one.journal.appendText("lost");
    one.journal.close();
    await one.service.clock.advance(1_000);
    expect(one.saved()).toEqual([]);
    expect(one.service.clock.timers).toBeGreaterThan(0);
  });
});

describe("a write", () => {
  it("is published in commit order among other writers", async () => {
    await one.journal.stepWithCalls(step(1, ""), [call("a"), call("b")], []);
    const numbers: number[] = [];
    const heads: number[] = [];
    one.service.hub.listen({
      onNotification: (_id, notification: SessionNotification) => {
        if (notification.kind !== "events") return;
        numbers.push(...notification.events.map(({ number }) => number));
        heads.push(one.service.registry.inMemory(one.id)!.head);
      },
    });
    const result = (callId: string) =>
      one.journal.toolResult({ callId, output: 1, isError: false, durationMs: 1 });
    const first = one.service.registry.inMemory(one.id)!.head + 1;
    await Promise.all([
      result("b"),
      one.service.threads.rename(one.id, "Mine", null),
      one.service.say(one.id, "two"),
      result("a"),
      one.journal.complete(step(2, "done")),
      one.service.threads.rename(one.id, "Yours", null),
    ]);
    expect(numbers).toEqual(numbers.map((_, index) => first + index));
    // Published events are already applied to the session.
    expect(heads.at(-1)).toBe(numbers.at(-1));
    expect(heads).toEqual(heads.toSorted((left, right) => left - right));
  });

  it("triggers the next turn only if a turn waits", async () => {
    await one.service.say(one.id, "two");
    await one.journal.complete(step(1, "done"));
    expect(one.more).toBe(1);
    await one.next();
    await one.journal.complete(step(1, "done"));
    expect(one.more).toBe(1);
  });

  it("releases the turn while an action is pending, and triggers a claim otherwise", async () => {
    const approval = { kind: "approval", request: { tool: "tool_a", input: {} } } as const;
    const asked = { id: newId(), callId: "a", asked: approval, validMs: 60_000 };
    await one.journal.stepWithCalls(step(1, "one"), [call("a")], [asked]);
    expect((await one.service.snapshot(one.id)).pending_actions).toMatchObject([{ id: asked.id }]);
    expect(await one.journal.wait()).toBe(true);
    expect(one.more).toBe(0);
    expect(await one.journal.wait()).toBe(false);
    expect(await one.journal.complete(step(2, "x"))).toBe(false);
    await one.service.actions.decide(one.id, asked.id, { decision: "approve", result: null }, null);
    await one.next();
    expect(one.turn.openCalls).toMatchObject([{ id: "a" }]);
    // The action was decided before the turn could be suspended.
    const early = { ...asked, id: newId(), callId: "b" };
    await one.journal.stepWithCalls(step(2, "two"), [call("b")], [early]);
    await one.service.actions.decide(one.id, early.id, { decision: "deny", result: null }, null);
    expect(await one.journal.wait()).toBe(true);
    expect(one.more).toBe(1);
  });

  it("is rejected after an interrupt, a deletion, or a takeover", async () => {
    await one.service.conversations.interrupt(one.id, ANONYMOUS, null);
    expect(await one.journal.stepWithCalls(step(1, "x"), [], [])).toBe(false);
    expect(await one.journal.complete(step(1, "x"))).toBe(false);
    expect(await one.journal.fail({ code: "model_error", message: "m" })).toBe(false);
    await one.service.threads.remove(one.id, null);
    expect(await one.journal.complete(step(1, "x"))).toBe(false);
    await one.journal.open();
    expect(await one.service.store.sessions.find(one.id)).toBeNull();
  });

  it("does not reach the next incarnation of its session", async () => {
    await one.service.threads.remove(one.id, null);
    await one.service.threads.create(one.id, null, ANONYMOUS, null);
    const fresh = await one.service.snapshot(one.id);
    one.journal.appendText("from the dead");
    await one.service.clock.advance(1_000);
    expect(await one.service.snapshot(one.id)).toEqual(fresh);
    expect(await one.stored()).toBe("");
  });

  it("keeps the text so far on a failure, checkpointed or not", async () => {
    await one.journal.stepWithCalls(step(1, "one"), [], []);
    one.journal.appendText("tw");
    expect(await one.journal.fail({ code: "model_error", message: "It failed." })).toBe(true);
    expect(lines((await one.service.snapshot(one.id)).messages)[1]).toBe("agent failed: one\n\ntw");
  });

  it("keeps the text so far on a failure, whether or not its session is in memory", async () => {
    await one.journal.stepWithCalls(step(1, "one"), [], []);
    one.journal.appendText("tw");
    await one.fallBehind();
    expect(await one.journal.fail({ code: "model_error", message: "It failed." })).toBe(true);
    expect(lines((await one.service.snapshot(one.id)).messages)[1]).toBe("agent failed: one\n\ntw");
  });

  it("keeps the finished steps of an earlier run on a failure", async () => {
    await one.journal.stepWithCalls(step(1, "one"), [], []);
    await one.service.store.turns.releaseDeadLeases("nobody");
    await one.next();
    one.journal.appendText("tw");
    expect(await one.journal.fail({ code: "model_error", message: "It failed." })).toBe(true);
    expect(lines((await one.service.snapshot(one.id)).messages)[1]).toBe("agent failed: one\n\ntw");
  });
});

describe("history", () => {
  it("is not read for a session's first turn before its first step ends", async () => {
    const past = await one.journal.history(1_000);
    expect(one.callsOf("turns.history")).toEqual([]);
    const stored = await one.service.store.turns.history(one.turn, 1_000);
    expect(stored).toMatchObject(past!);
    expect(past).toMatchObject([{ userMessage: { content: "hello" } }]);
  });

  it("is read after a finished step, and for every other turn", async () => {
    await one.journal.stepWithCalls(step(1, "one"), [call("a")], []);
    expect(await one.journalOf({ ...one.turn, stepsDone: 1 }).history(1_000)).toMatchObject([
      { steps: [{ number: 1 }] },
    ]);
    await one.service.conversations.interrupt(one.id, ANONYMOUS, null);
    await one.service.say(one.id, "again");
    await one.next();
    expect(await one.journal.history(1_000)).toMatchObject([
      { number: 1, state: "interrupted" },
      { number: 2, userMessage: { content: "again" } },
    ]);
    await one.service.conversations.interrupt(one.id, ANONYMOUS, null);
    expect(await one.journal.history(1_000)).toBeNull();
  });
});
