import { describe, expect, it } from "vitest";
import type { ActionKind, ActionRequest, NewAction } from "../action.ts";
import type { JsonValue } from "../json.ts";
import { openCalls, toWireMessage } from "../message.ts";
import type { StartedTurn } from "../turn.ts";
import { DENIED, EXPIRED } from "./asking.ts";
import { call, DecidedSession } from "./testing/decided-session.ts";

const VALID_MS = 600_000;
const TO = "0x52908400098527886E0F7030069857D2E4169EE7";
const HASH = `0x${"aB".repeat(32)}`;

const REQUESTS: { readonly [Kind in ActionKind]: Extract<ActionRequest, { kind: Kind }> } = {
  approval: { kind: "approval", request: { tool: "tool_a", input: { x: 1 } } },
  wallet_transaction: {
    kind: "wallet_transaction",
    request: { to: TO, value: "10", data: "0x", chain_id: 1 },
  },
  wallet_signature: { kind: "wallet_signature", request: { typed_data: { domain: {} } } },
  question: { kind: "question", request: { question: "Which?", choices: ["this", "that"] } },
  client_tool: {
    kind: "client_tool",
    request: { tool: "tool_a", input: { x: 1 } },
    repeatable: false,
  },
};

function ask(callId: string, asked: ActionRequest = REQUESTS.approval): NewAction {
  return { id: `action-${callId}`, callId, asked, validMs: VALID_MS };
}

/** Returns a session whose turn waits for a decision about the call `a`. */
function waiting(asked: ActionRequest = REQUESTS.approval): {
  readonly one: DecidedSession;
  readonly turn: StartedTurn;
} {
  const one = new DecidedSession();
  const turn = one.start("one");
  one.callTools(turn, "Let me ask.", [call("a", "unsafe", { x: 1 })], [ask("a", asked)]);
  one.wait(turn);
  return { one, turn };
}

const resultsOf = (one: DecidedSession) =>
  one.messages[1]?.toolResults.map(({ call_id, output, is_error }) => [call_id, output, is_error]);

describe("requesting a person's decision", () => {
  it("stores the action with the step that makes the call, and does not start the call", () => {
    const one = new DecidedSession();
    const turn = one.start("one");
    one.callTools(turn, "Let me ask.", [call("a", "unsafe", { x: 1 }), call("b")], [ask("a")]);
    expect(one.messages[1]?.toolCalls.map(({ id, phase }) => [id, phase])).toEqual([
      ["a", "asked"],
      ["b", undefined],
    ]);
    const asked = one.last.events.flatMap(({ event }) => (event.type === "system_event" ? [event.item] : []));
    expect(asked).toEqual([
      {
        id: expect.stringContaining("abc-"),
        type: "action_requested",
        created_at: new Date(one.at).toISOString(),
        payload: {
          id: "action-a",
          kind: "approval",
          tool: "tool_a",
          call_id: "a",
          created_at: new Date(one.at).toISOString(),
          expires_at: new Date(one.at + VALID_MS).toISOString(),
          request: { tool: "tool_a", input: { x: 1 } },
        },
      },
    ]);
    expect(one.notices).toEqual(["action_requested"]);
    expect(one.session.status).toBe("processing");
  });

  it("throws if the step does not make the call", () => {
    const one = new DecidedSession();
    const turn = one.start("one");
    expect(() => one.callTools(turn, "", [call("a")], [ask("b")])).toThrow("does not make");
  });
});

describe("a turn waiting for a person", () => {
  it("has no lease or owner, resets its attempts, and cannot be written to or claimed", () => {
    const { one, turn } = waiting();
    expect(one.turns[0]).toMatchObject({ state: "waiting", runnable: false, attempts: 0 });
    expect(one.owner).toBeNull();
    expect(one.session).toMatchObject({ status: "processing" });
    expect(one.session.epoch).toBeGreaterThan(turn.epoch);
    expect(one.complete(turn, "late")).toBe(false);
    expect(() => one.claim()).toThrow("No turn is runnable");
  });

  it("adds its running time to that of earlier runs, without the time spent waiting", () => {
    const one = new DecidedSession();
    const turn = one.start("one");
    one.callTools(turn, "", [call("a")], [ask("a")]);
    one.at += 5_000;
    one.wait(turn);
    const ranMs = one.turns[0]!.ranMs;
    expect(ranMs).toBe(one.at - one.messages[1]!.createdAt);
    one.at += VALID_MS / 2;
    one.decide("action-a", "approve");
    one.at += 1_000;
    const again = one.claim()!;
    expect(again.ranMs).toBe(ranMs);
    one.at += 3_000;
    one.wait(again);
    expect(one.turns[0]?.ranMs).toBe(ranMs + 3_001);
  });

  it("resumes at once if its action was decided while other calls still ran", () => {
    const one = new DecidedSession();
    const turn = one.start("one");
    one.callTools(turn, "", [call("a"), call("b")], [ask("a")]);
    expect(one.decide("action-a", "deny")).toMatchObject({ kind: "decided", unblocked: 0 });
    one.result(turn, outcomeOf("b"));
    expect(one.wait(turn)).toBe("runnable");
    expect(one.claim()).toMatchObject({ attempt: 1, openCalls: [] });
  });

  it("queues chats behind it up to the usual limit", () => {
    const { one } = waiting();
    one.chat("two");
    expect(one.turns.map(({ state, runnable }) => [state, runnable])).toEqual([
      ["waiting", false],
      ["queued", false],
    ]);
    expect(one.chat("three", { maxQueued: 1 })).toEqual({ kind: "rejected", reason: "queue_full" });
  });

  it("marks all turns queued behind it until it resumes", () => {
    const one = new DecidedSession();
    const turn = one.start("one");
    one.callTools(turn, "", [call("a")], [ask("a")]);
    one.chat("before");
    const behind = () => one.turns.map(({ behindWaiting }) => behindWaiting);
    expect(behind()).toEqual([false, false]);
    one.wait(turn);
    one.chat("meanwhile");
    expect(behind()).toEqual([false, true, true]);
    expect(one.decide("action-a", "deny")).toMatchObject({ unblocked: 3 });
    expect(behind()).toEqual([false, false, false]);
    one.chat("after");
    expect(behind()).toEqual([false, false, false, false]);
  });

  it.each([
    ["ends by time", (one: DecidedSession) => expect(one.expire(VALID_MS)).toBe(2)],
    ["is interrupted", (one: DecidedSession) => one.interrupt()],
    ["is interrupted by a chat", (one: DecidedSession) => one.chat("stop", { onBusy: "interrupt" })],
  ])("unmarks the turns queued behind it when it %s", (_how, end) => {
    const { one } = waiting();
    one.chat("two");
    end(one);
    expect(one.turns.filter(({ behindWaiting }) => behindWaiting)).toEqual([]);
  });

  it("does not start an undecided call, not even after a crash during its other calls", () => {
    const one = new DecidedSession();
    one.callTools(one.start("one"), "", [call("a", "unsafe"), call("b")], [ask("a")]);
    one.loseOwner();
    expect(one.claim()?.openCalls.map(({ id }) => id)).toEqual(["b"]);
    expect(openCalls(one.messages[1]!).map(({ id }) => id)).toEqual(["a", "b"]);
  });
});

describe("the decision on a call", () => {
  const decisionOf = (one: DecidedSession) => one.messages[1]?.toolCalls[0]?.decision;
  const at = (one: DecidedSession): string => new Date(one.at).toISOString();

  it.each([
    ["approval", "approve", "approved", null],
    ["approval", "deny", "denied", null],
    ["question", "approve", "approved", { answer: "this" }],
    ["question", "deny", "denied", null],
  ] as const)("stays with the call: %s, %s", (kind, decision, status, result) => {
    const { one } = waiting(REQUESTS[kind]);
    expect(decisionOf(one)).toBeUndefined();
    one.decide("action-a", decision, result);
    expect(decisionOf(one)).toEqual({ kind, status, at: at(one), by: "user" });
    const call = toWireMessage(one.messages[1]!).tool_calls?.[0];
    expect(call?.decision).toEqual(decisionOf(one));
  });

  it("names nobody if nobody decided in time", () => {
    const { one } = waiting();
    one.expire(VALID_MS);
    expect(decisionOf(one)).toEqual({ kind: "approval", status: "expired", at: at(one), by: null });
  });
});

describe("an approval", () => {
  it("resumes the turn, which starts the call exactly once, with the input that was shown", () => {
    const { one } = waiting();
    expect(one.decide("action-a", "approve")).toMatchObject({ kind: "decided", unblocked: 1 });
    expect(one.types).toEqual(["system_event", "message_updated"]);
    expect(one.turns[0]).toMatchObject({ state: "running", runnable: true });
    expect(one.messages[1]?.toolCalls[0]?.phase).toBe("approved");
    const again = one.claim()!;
    expect(again.openCalls).toMatchObject([{ id: "a", arguments: { x: 1 }, phase: "approved" }]);
    expect(again.attempt).toBe(1);
    one.startCalls(again, ["a"]);
    // The call had started before the crash, so its outcome is unknown.
    one.loseOwner();
    expect(one.claim()?.openCalls).toEqual([]);
    expect(resultsOf(one)).toEqual([["a", "outcome unknown", true]]);
  });

  it("survives a crash between the decision and the claim: the call has not started", () => {
    const { one } = waiting();
    one.decide("action-a", "approve");
    one.loseOwner();
    expect(one.claim()?.openCalls).toMatchObject([{ id: "a" }]);
  });

  it("survives a crash or a stop if its call never started; an interrupt then reports the call as not started", () => {
    const { one } = waiting();
    one.decide("action-a", "approve");
    for (let crash = 1; crash <= 2; crash += 1) {
      expect(one.claim()?.openCalls).toMatchObject([{ id: "a", phase: "approved" }]);
      one.loseOwner();
    }
    one.interrupt(null);
    expect(resultsOf(one)).toEqual([["a", "interrupted", true]]);
  });

  it("leaves the turn waiting if another call of the step is undecided", () => {
    const one = new DecidedSession();
    const turn = one.start("one");
    one.callTools(turn, "", [call("a"), call("b")], [ask("a"), ask("b")]);
    one.wait(turn);
    expect(one.decide("action-b", "approve")).toMatchObject({ unblocked: 0 });
    expect(one.turns[0]?.state).toBe("waiting");
    expect(one.decide("action-a", "deny")).toMatchObject({ unblocked: 1 });
    expect(one.claim()?.openCalls.map(({ id }) => id)).toEqual(["b"]);
  });
});

describe("a decision", () => {
  it("gives a denied call a result that says it was denied", () => {
    const { one } = waiting();
    one.decide("action-a", "deny");
    expect(resultsOf(one)).toEqual([["a", DENIED, true]]);
    expect(one.types).toEqual(["system_event", "tool_complete", "message_updated"]);
    expect(one.claim()?.openCalls).toEqual([]);
  });

  it.each([
    ["wallet_transaction", { transaction_hash: HASH }],
    ["wallet_signature", { signature: "0x0a" }],
    ["question", { answer: "that" }],
  ] as const)("passes the person's answer to a %s to the call", (kind, given) => {
    const { one } = waiting(REQUESTS[kind]);
    expect(one.decide("action-a", "approve", given)).toMatchObject({
      kind: "decided",
      action: { status: "approved", result: given, resolvedAt: one.at },
    });
    expect(resultsOf(one)).toEqual([["a", given, false]]);
    const [resolved] = one.last.systemEvents;
    expect(resolved?.item).toMatchObject({
      type: "action_resolved",
      payload: { id: "action-a", status: "approved", result: given },
    });
  });

  it.each<[ActionKind, "approve" | "deny", JsonValue]>([
    ["approval", "approve", {}],
    ["approval", "deny", { answer: "no" }],
    ["wallet_transaction", "approve", null],
    ["wallet_transaction", "approve", { transaction_hash: `${HASH}0` }],
    ["wallet_transaction", "approve", { transaction_hash: HASH.slice(2) }],
    ["wallet_transaction", "approve", { transaction_hash: HASH, more: 1 }],
    ["wallet_transaction", "approve", HASH],
    ["wallet_signature", "approve", { signature: "0x" }],
    ["wallet_signature", "approve", { signature: "0xabc" }],
    ["wallet_signature", "approve", { signature: `0x${"ab".repeat(8_193)}` }],
    ["question", "approve", { answer: "" }],
    ["question", "approve", { answer: "x".repeat(4_097) }],
    ["question", "approve", { answer: 1 }],
    ["question", "deny", { answer: "no" }],
  ])("is rejected and changes nothing: for a %s, %s with the result %j", (kind, decision, result) => {
    const { one } = waiting(REQUESTS[kind]);
    expect(one.decide("action-a", decision, result)).toMatchObject({ kind: "invalid" });
    expect(one.last.events).toEqual([]);
    expect(one.turns[0]?.state).toBe("waiting");
  });

  it("is idempotent, and rejects a different decision", () => {
    const { one } = waiting(REQUESTS.question);
    one.decide("action-a", "approve", { answer: "this" });
    const after = one.session;
    expect(one.decide("action-a", "approve", { answer: "this" })).toMatchObject({
      kind: "decided",
      unblocked: 0,
    });
    expect(one.decide("action-a", "approve", { answer: "that" })).toEqual({ kind: "decided_otherwise" });
    expect(one.decide("action-a", "deny")).toEqual({ kind: "decided_otherwise" });
    expect(one.session).toBe(after);
    expect(one.decide("nobody", "deny")).toEqual({ kind: "unknown" });
  });
});

describe("an undecided action", () => {
  it("expires as denied exactly at its time, and the turn resumes", () => {
    const { one } = waiting();
    const { createdAt } = one.actions[0]!;
    one.at = createdAt;
    expect(one.expire(VALID_MS - 2)).toBe(0);
    expect(one.actions[0]?.status).toBe("pending");
    expect(one.expire(0)).toBe(1);
    expect(one.at).toBe(createdAt + VALID_MS);
    expect(resultsOf(one)).toEqual([["a", EXPIRED, true]]);
    expect(one.claim()).toMatchObject({ openCalls: [] });
    expect(one.decide("action-a", "approve")).toEqual({ kind: "expired", unblocked: 0 });
  });

  it("expires together with the other due actions of its turn, in one change of the message with a result per call", () => {
    const one = new DecidedSession();
    const turn = one.start("one");
    one.callTools(turn, "", [call("a"), call("b"), call("c")], [ask("a"), ask("b"), ask("c")]);
    one.wait(turn);
    one.decide("action-b", "deny");
    expect(one.expire(VALID_MS)).toBe(1);
    expect(one.types.toSorted()).toEqual([
      "message_updated",
      "system_event",
      "system_event",
      "tool_complete",
      "tool_complete",
    ]);
    expect(one.types.at(-1)).toBe("message_updated");
    expect(resultsOf(one)).toEqual([
      ["b", DENIED, true],
      ["a", EXPIRED, true],
      ["c", EXPIRED, true],
    ]);
    expect(one.turns[0]).toMatchObject({ state: "running", runnable: true });
  });

  it("cannot be decided from its expiry on, even if the expiry was not processed yet", () => {
    const { one } = waiting();
    one.at = one.actions[0]!.expiresAt - 1;
    expect(one.decide("action-a", "approve")).toEqual({ kind: "expired", unblocked: 1 });
    expect(one.actions[0]?.status).toBe("expired");
    expect(one.turns[0]).toMatchObject({ state: "running", runnable: true });
  });

  it("can be decided until just before its expiry", () => {
    const { one } = waiting();
    one.at = one.actions[0]!.expiresAt - 2;
    expect(one.decide("action-a", "approve")).toMatchObject({ kind: "decided" });
  });

  it("is cancelled when the turn ends, and its call is never made", () => {
    const interrupted = waiting().one;
    interrupted.interrupt(null);
    const failed = new DecidedSession();
    const turn = failed.start("one");
    failed.callTools(turn, "", [call("a", "unsafe")], [ask("a")]);
    failed.fail(turn, "");
    for (const one of [interrupted, failed]) {
      expect(one.actions[0]?.status).toBe("cancelled");
      expect(one.last.systemEvents[0]?.item).toMatchObject({
        type: "action_resolved",
        payload: { id: "action-a", status: "cancelled", result: null },
      });
      expect(resultsOf(one)).toEqual([["a", "interrupted", true]]);
      expect(one.decide("action-a", "approve")).toEqual({ kind: "cancelled" });
    }
  });
});

function outcomeOf(callId: string) {
  return { callId, output: 1, isError: false, durationMs: 1 };
}
