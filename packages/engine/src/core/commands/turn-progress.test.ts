import { describe, expect, it } from "vitest";
import { openCalls, type StepCall } from "../message.ts";
import { call, DecidedSession } from "./testing/decided-session.ts";
import { MAX_CALLS } from "../turn.ts";
import { mayWrite } from "./command.ts";
import { TOO_MANY_CALLS } from "./step-with-calls.ts";

const outcome = (callId: string, isError = false) => ({
  callId,
  output: { value: callId },
  isError,
  durationMs: 5,
});

describe("a running turn", () => {
  it("may write while its lease is valid and its epoch current, in its own incarnation only", () => {
    const one = new DecidedSession();
    const turn = one.start("one");
    const lease = { takenAt: 1_000, expiresAt: 11_000 };
    const writes = (identity: Partial<typeof turn>, held: typeof lease | null = lease, at = 10_999) =>
      mayWrite(one.last.session, { ...turn, ...identity }, held, at);
    expect(writes({})).toBe(true);
    expect(writes({ epoch: turn.epoch - 1 })).toBe(false);
    expect(writes({ epoch: turn.epoch + 1 })).toBe(false);
    expect(writes({ sessionKey: turn.sessionKey + 1 })).toBe(false);
    expect(writes({}, lease, 11_000)).toBe(false);
    expect(writes({}, null)).toBe(false);
  });

  it("stores a step with its calls before any of them runs", () => {
    const one = new DecidedSession();
    const turn = one.start("one");
    one.callTools(turn, "Let me see.", [call("a"), call("b")]);
    expect(one.types).toEqual(["message_updated", "tool_update", "tool_update"]);
    expect(one.messages[1]).toMatchObject({ content: "Let me see.", status: "streaming" });
    expect(one.messages[1]?.toolCalls.map(({ id, status }) => [id, status])).toEqual([
      ["a", "running"],
      ["b", "running"],
    ]);
    expect(one.turns[0]).toMatchObject({ steps: 1, usage: { totalTokens: 11 } });
    expect([...one.last.obsoleteCheckpoints]).toEqual([1]);
  });

  it("records for each call the text offset at which it was made", () => {
    const one = new DecidedSession();
    const turn = one.start("one");
    one.callTools(turn, "Let me see.", [call("a"), call("b")]);
    one.callTools(turn, "And 👍🏽.", [call("c")]);
    one.callTools(turn, "", [call("d")]);
    one.complete(turn, "Done.");
    const { content, toolCalls } = one.messages[1]!;
    expect(toolCalls.map(({ text_offset: offset }) => content.slice(0, offset))).toEqual([
      "Let me see.",
      "Let me see.",
      "Let me see.\n\nAnd 👍🏽.",
      "Let me see.\n\nAnd 👍🏽.",
    ]);
  });

  it("stores calls beyond the step's limit with a result that names the limit, and adds the message once", () => {
    const one = new DecidedSession();
    const turn = one.start("one");
    const calls = Array.from({ length: MAX_CALLS + 2 }, (_, n) => call(`c${n}`));
    one.callTools(turn, "", calls);
    expect(one.types).toEqual([
      "message_updated",
      ...Array<string>(MAX_CALLS).fill("tool_update"),
      "tool_complete",
      "tool_complete",
    ]);
    const message = one.messages[1]!;
    expect(openCalls(message).map(({ id }) => id)).toEqual(calls.slice(0, MAX_CALLS).map(({ id }) => id));
    expect(message.toolCalls.slice(MAX_CALLS).map(({ status }) => status)).toEqual(["failed", "failed"]);
    expect(message.toolResults).toMatchObject([
      { call_id: `c${MAX_CALLS}`, output: TOO_MANY_CALLS, is_error: true, duration_ms: 0 },
      { call_id: `c${MAX_CALLS + 1}`, output: TOO_MANY_CALLS, is_error: true, duration_ms: 0 },
    ]);
  });

  it("stores a refused call with its result in the step, and never runs it", () => {
    const one = new DecidedSession();
    const turn = one.start("one");
    const refusal = { output: "There is no such tool.", isError: true, missingSecret: "KEY" };
    const refused: StepCall = { ...call("b", "unsafe"), refusal };
    one.callTools(turn, "", [call("a"), refused, call("c")]);
    expect(one.types).toEqual([
      "message_updated",
      "tool_update",
      "tool_update",
      "tool_complete",
      "system_event",
      "system_notice",
    ]);
    const message = one.messages[1]!;
    const { refusal: _, ...kept } = refused;
    const made = [call("a"), { ...kept, status: "failed" }, call("c")];
    expect(message.toolCalls).toEqual(made.map((one) => ({ ...one, text_offset: 0 })));
    expect(message.toolResults).toMatchObject([
      { call_id: "b", output: "There is no such tool.", is_error: true, duration_ms: 0 },
    ]);
    expect(openCalls(message).map(({ id }) => id)).toEqual(["a", "c"]);
    expect(one.notices).toEqual(["secret_missing"]);
  });

  it("completes with its last step: the text and tokens of all steps, and an idle session", () => {
    const one = new DecidedSession();
    const turn = one.start("one");
    one.callTools(turn, "First.", []);
    one.complete(turn, "Second.");
    expect(one.lines[1]).toBe("assistant complete: First.\n\nSecond.");
    expect(one.types).toEqual(["message_completed", "state_changed"]);
    expect(one.turns[0]).toMatchObject({
      state: "complete",
      steps: 2,
      usage: { totalTokens: 22 },
      endedAt: one.at,
    });
    expect(one.session.status).toBe("idle");
    expect(one.owner).toBeNull();
    expect(one.complete(turn, "again")).toBe(false);
  });

  it("reports an answer cut by the token limit and an answer without text, and completes both", () => {
    const one = new DecidedSession();
    for (const [text, finishReason, notices] of [
      ["Up to h", "length", ["answer_cut"]],
      ["", "length", ["answer_cut"]],
      [" \n", "stop", ["answer_empty"]],
      ["All.", "stop", []],
    ] as const) {
      one.complete(one.start("one"), text, finishReason);
      expect(one.notices).toEqual(notices);
      expect(one.messages.at(-1)).toMatchObject({ content: text, status: "complete" });
      expect(one.session.status).toBe("idle");
    }
    const turn = one.start("two");
    one.callTools(turn, "Let me see.", [call("a")]);
    one.complete(turn, "");
    expect(one.notices).toEqual([]);
  });

  it("fails with its text so far and the reason, and leaves the session idle or to the next turn", () => {
    const one = new DecidedSession();
    const turn = one.start("one");
    one.callTools(turn, "", [call("a", "unsafe")]);
    one.chat("two");
    one.fail(turn, "half an ans");
    expect(one.messages[1]).toMatchObject({ content: "half an ans", status: "failed" });
    expect(one.messages[1]?.toolResults).toMatchObject([{ call_id: "a", output: "outcome unknown" }]);
    expect(one.notices).toEqual(["model_error"]);
    expect(one.last.systemEvents[0]?.item.type).toBe("error");
    expect(one.turns).toMatchObject([{ state: "failed", failure: "model_error" }, { runnable: true }]);
    expect(one.session.status).toBe("processing");
    one.fail(one.claim()!, "");
    expect(one.session.status).toBe("idle");
  });
});

describe("the start of calls", () => {
  const APPROVAL = { kind: "approval", request: { tool: "tool_c", input: {} } } as const;

  /**
   * Unsafe calls: `now` starts with the step, `later` and `last` wait for a slot, `asked` waits for a person.
   */
  function step() {
    const one = new DecidedSession();
    const turn = one.start("one");
    const later = (id: string) => ({ ...call(id, "unsafe"), phase: "allowed" as const });
    const calls = [call("now", "unsafe"), later("later"), later("last"), call("asked", "unsafe")];
    one.callTools(turn, "", calls, [{ id: "action", callId: "asked", asked: APPROVAL, validMs: 1_000 }]);
    const phases = () => one.messages[1]?.toolCalls.map(({ phase }) => phase);
    return { one, turn, phases };
  }

  it("is recorded for calls that waited for a slot, without an event", () => {
    const { one, turn, phases } = step();
    expect(phases()).toEqual([undefined, "allowed", "allowed", "asked"]);
    const { head, updatedAt } = one.session;
    one.startCalls(turn, ["later", "asked", "now", "unknown"]);
    expect(phases()).toEqual([undefined, "started", "allowed", "asked"]);
    expect(one.session).toMatchObject({ head, updatedAt });
    const shown = one.wireMessages();
    expect(one.foldedMessages()).toEqual(shown);
  });

  it("decides how an interrupt, or a claim after a crash, treats the calls", () => {
    const { one, turn } = step();
    one.startCalls(turn, ["later"]);
    one.loseOwner();
    const again = one.claim()!;
    expect(again.openCalls.map(({ id }) => id)).toEqual(["last"]);
    one.interrupt(null);
    expect(one.messages[1]?.toolResults.map(({ call_id, output }) => [call_id, output])).toEqual([
      ["now", "outcome unknown"],
      ["later", "outcome unknown"],
      ["last", "interrupted"],
      ["asked", "interrupted"],
    ]);
    expect(one.startCalls(again, ["last"])).toBe(false);
  });

  it("is stored together with the result of the call that freed the slot", () => {
    const { one, turn, phases } = step();
    one.result(turn, outcome("now"), ["later"]);
    expect(one.types).toEqual(["tool_complete", "message_updated"]);
    expect(phases()).toEqual([undefined, "started", "allowed", "asked"]);
    expect(one.messages[1]?.toolResults.map(({ call_id }) => call_id)).toEqual(["now"]);
    one.result(turn, outcome("later"), ["later"]);
    expect(phases()).toEqual([undefined, "started", "allowed", "asked"]);
  });
});

describe("a tool's result", () => {
  it("ends its call, and emits tool_complete and the updated message", () => {
    const one = new DecidedSession();
    const turn = one.start("one");
    one.callTools(turn, "", [call("a", "read", { x: 1 }), call("b")]);
    one.result(turn, outcome("a"));
    expect(one.last.events.map(({ event }) => event)).toMatchObject([
      {
        type: "tool_complete",
        call_id: "a",
        name: "tool_a",
        status: "complete",
        arguments: { x: 1 },
        result: { output: { value: "a" }, is_error: false, duration_ms: 5 },
      },
      { type: "message_updated" },
    ]);
    one.result(turn, outcome("b", true));
    expect(one.messages[1]?.toolCalls.map(({ status }) => status)).toEqual(["complete", "failed"]);
    expect(one.messages[1]?.toolResults.map(({ call_id }) => call_id)).toEqual(["a", "b"]);
  });

  it("names a missing secret to the person once", () => {
    const one = new DecidedSession();
    const turn = one.start("one");
    one.callTools(turn, "", [call("a")]);
    const lacking = { ...outcome("a", true), missingSecret: "API_KEY" };
    one.result(turn, lacking);
    const notice = expect.objectContaining({
      type: "system_notice",
      code: "secret_missing",
      level: "warning",
      message: expect.stringContaining('"API_KEY"'),
    });
    expect(one.last.events.map(({ event }) => event)).toContainEqual(notice);
    one.result(turn, lacking);
    expect(one.last.events).toEqual([]);
  });

  it("counts once, and not at all for a call that was never made", () => {
    const one = new DecidedSession();
    const turn = one.start("one");
    one.callTools(turn, "", [call("a")]);
    one.result(turn, outcome("a"));
    for (const id of ["a", "unknown"]) {
      one.result(turn, outcome(id, true));
      expect(one.last.events).toEqual([]);
    }
    expect(one.messages[1]?.toolResults).toHaveLength(1);
  });
});

describe("a tool's progress", () => {
  it("is reported while the call runs, and not after its end", () => {
    const one = new DecidedSession();
    const turn = one.start("one");
    one.callTools(turn, "", [call("a")]);
    one.write(turn, "toolProgress", { callId: "a", progress: { percent: 50 } });
    expect(one.last.events[0]?.event).toMatchObject({
      type: "tool_update",
      call_id: "a",
      progress: { percent: 50 },
    });
    one.result(turn, outcome("a"));
    one.write(turn, "toolProgress", { callId: "a", progress: 1 });
    expect(one.last.events).toEqual([]);
  });
});
