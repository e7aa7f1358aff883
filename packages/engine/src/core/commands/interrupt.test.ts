import { describe, expect, it } from "vitest";
import { call, DecidedSession } from "./testing/decided-session.ts";

describe("an interrupt", () => {
  it("changes nothing in an idle session, however often it is repeated", () => {
    const one = new DecidedSession();
    const before = one.session;
    one.interrupt(null);
    expect(one.session).toBe(before);
    one.start("hello");
    one.interrupt(null);
    const sealed = one.session;
    expect(sealed.status).toBe("interrupted");
    one.interrupt(null);
    expect(one.session).toBe(sealed);
    expect(one.last.events).toEqual([]);
  });

  it("ends running and queued turns and raises the epoch, so that later writes fail", () => {
    const one = new DecidedSession();
    const turn = one.start("one");
    one.chat("two");
    one.interrupt({ messageId: turn.agentMessage.id, epoch: turn.epoch, text: "so far" });
    expect(one.lines).toEqual([
      "user complete: one",
      "assistant interrupted: so far",
      "user interrupted: two",
    ]);
    expect(one.session.epoch).toBeGreaterThan(turn.epoch);
    expect(one.owner).toBeNull();
    expect(one.turns.map(({ state, runnable, endedAt }) => [state, runnable, endedAt])).toEqual([
      ["interrupted", false, one.at],
      ["interrupted", false, one.at],
    ]);
    expect([...one.last.obsoleteCheckpoints]).toEqual([1, 2]);
    expect(one.types).toEqual(["message_completed", "message_completed", "system_event", "state_changed"]);
    expect(one.last.systemEvents[0]?.item).toMatchObject({ type: "interrupted", payload: { turns: 2 } });
    const before = one.session;
    expect(one.callTools(turn, "more", [])).toBe(false);
    expect(one.complete(turn, "more")).toBe(false);
    expect(one.fail(turn, "more")).toBe(false);
    expect(one.session).toBe(before);
  });

  it("of a turn changes nothing if the turn waits behind another one", () => {
    const one = new DecidedSession();
    one.start("one");
    one.chat("two");
    const before = one.session;
    one.run("interrupt", { streamed: null, turn: 2 });
    expect(one.session).toBe(before);
    one.run("interrupt", { streamed: null, turn: 1 });
    expect(one.turns.map(({ state }) => state)).toEqual(["interrupted", "interrupted"]);
  });

  it("keeps the longest of the text of the process that runs the turn, the checkpoint and the finished steps", () => {
    const texts = (own: string, checkpointed: string, { isOther = false, isOld = false } = {}) => {
      const one = new DecidedSession();
      const turn = one.start("one");
      one.callTools(turn, "step", []);
      one.interrupt(
        { messageId: turn.agentMessage.id, epoch: turn.epoch - Number(isOld), text: own },
        { messageId: isOther ? "other" : turn.agentMessage.id, epoch: turn.epoch, text: checkpointed },
      );
      return one.messages[1]?.content;
    };
    expect(texts("step, two", "step,")).toBe("step, two");
    expect(texts("step,", "step, two")).toBe("step, two");
    expect(texts("st", "")).toBe("step");
    expect(texts("step, old", "step,", { isOld: true })).toBe("step,");
    expect(texts("step, old", "step, other", { isOther: true, isOld: true })).toBe("step");
  });

  it("gives every open call a result: interrupted, or unknown if it may have had side effects", () => {
    const one = new DecidedSession();
    const turn = one.start("one");
    one.callTools(turn, "", [call("a"), call("b", "idempotent"), call("c", "unsafe")]);
    one.interrupt(null);
    expect(
      one.messages[1]?.toolResults.map(({ call_id, output, is_error }) => [call_id, output, is_error]),
    ).toEqual([
      ["a", "interrupted", true],
      ["b", "interrupted", true],
      ["c", "outcome unknown", true],
    ]);
    expect(one.messages[1]?.toolCalls.map(({ status }) => status)).toEqual([
      "interrupted",
      "interrupted",
      "interrupted",
    ]);
  });
});
