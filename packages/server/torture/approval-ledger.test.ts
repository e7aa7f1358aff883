import type { ApproverAction, Message, Snapshot, ToolCall, ToolResult } from "@colloquy/protocol";
import { describe, expect, it } from "vitest";
import { ApprovalLedger, type Decision } from "./approval-ledger.ts";
import { Violations } from "./violations.ts";

const SESSION = "6f1c3c1e-0000-4000-8000-000000000001";
const AT = "2026-11-20T00:00:00.000Z";
const LATER = "2126-11-20T00:00:00.000Z";
const MIA = { name: "Mia", roles: ["manager"] } as const;
const EVE = { name: "Eve", roles: ["manager"] } as const;
const YES: Decision = { decision: "approve", comment: "Fine.", name: "Mia" };
const NO: Decision = { decision: "deny", comment: "Too much.", name: "Max" };

const approved = { kind: "approval", status: "approved", at: AT, by: "approver" } as const;
const byMia = { ...approved, name: "Mia", comment: "Fine." };
const byMax = { ...approved, status: "denied", name: "Max", comment: "Too much." } as const;

/** Returns a ledger in which Eve has asked for the refund 7, which was shown as pending at moment 2. */
function asked(tool: "office_refund" | "office_loan" = "office_refund", expires = LATER) {
  const violations = new Violations();
  const ledger = new ApprovalLedger(violations);
  ledger.ask({ tool, request: 7 }, SESSION, "Eve");
  const action: ApproverAction = {
    id: "a7",
    app: "office",
    tool,
    title: null,
    input: { request: 7 },
    created_at: AT,
    expires_at: expires,
    status: "pending",
    resolved_at: null,
  };
  ledger.checkList(MIA, [{ asked: 1, actions: [action] }], 2);
  /** Sends a decision at one moment that is answered at another. */
  const decide = (
    decision: Decision,
    sent: number,
    since: number,
    code: string | null = null,
    status = 409,
  ) => {
    const body =
      code === null
        ? { id: "a7", status: decision.decision === "approve" ? "approved" : "denied" }
        : { code };
    const answer = { status: code === null ? 200 : status, headers: {}, body: JSON.stringify(body) };
    ledger.answer(7, ledger.send(7, decision, sent), answer, sent, since);
  };
  /** Checks a snapshot with the call, requested at a moment. */
  const show = (decision: ToolCall["decision"] | null, moment: number) =>
    ledger.checkSnapshot(snapshotOf(tool, decision), moment, moment + 1);
  const kinds = () => violations.all.map(({ kind }) => kind);
  return { ledger, action, decide, show, kinds };
}

function callOf(tool: string, decision: ToolCall["decision"] | null, more: Partial<Message> = {}): Message {
  const call = { id: "c", name: tool, arguments: { request: 7 }, status: "complete" } as const;
  return {
    sender: "agent",
    id: "m",
    content: "",
    created_at: AT,
    status: "streaming",
    tool_calls: [{ ...call, ...(decision !== null && { decision }) }],
    ...more,
  };
}

function snapshotOf(
  tool: string,
  decision: ToolCall["decision"] | null | "no call",
  more: Partial<Snapshot> = {},
  message: Partial<Message> = {},
): Snapshot {
  return {
    messages: decision === "no call" ? [] : [callOf(tool, decision, message)],
    system_events: [],
    pending_actions: [],
    title: "New Chat",
    is_processing: true,
    user_state: null,
    session_id: SESSION,
    app: "office",
    status: "processing",
    model: "demo/assistant",
    last_event_id: "life-1",
    ...more,
  };
}

describe("the decision of a request to approvers", () => {
  it("is one that was sent, and stays", () => {
    const { decide, show, kinds } = asked();
    decide(YES, 3, 4);
    decide(NO, 5, 6, "action_decided");
    decide({ ...YES, name: "Ada" }, 7, 8);
    show(byMia, 9);
    show(byMia, 11);
    expect(kinds()).toEqual([]);
  });

  it("may be any that was sent if none was acknowledged", () => {
    const { ledger, show, kinds } = asked();
    ledger.send(7, YES, 3);
    ledger.send(7, NO, 4);
    show(byMax, 5);
    expect(kinds()).toEqual([]);
  });

  it.each([
    ["is another than the acknowledged one", byMax, "lost"],
    ["is missing", null, "lost"],
    ["has another comment than was sent", { ...byMia, comment: "Hm." }, "forbidden decision"],
    ["has another name than was sent", { ...byMia, name: "Max" }, "forbidden decision"],
    ["is said to be the user's", { ...byMia, by: "user" as const }, "forbidden decision"],
  ])("is reported if it %s", (_name, decision, kind) => {
    const { ledger, decide, show, kinds } = asked();
    ledger.send(7, NO, 3);
    decide(YES, 3, 4);
    show(decision, 5);
    expect(kinds()).toContain(kind);
  });

  it("is reported if it expired too early", () => {
    const { show, kinds } = asked();
    show({ ...approved, status: "expired" as const, by: null }, 5);
    expect(kinds()).toEqual(["wrong answer"]);
  });

  it("is reported if it changes", () => {
    const { ledger, show, kinds } = asked();
    ledger.send(7, YES, 3);
    ledger.send(7, NO, 3);
    show(byMia, 4);
    show(byMax, 6);
    show(null, 8);
    expect(kinds()).toEqual(["changed after sealed"]);
  });

  it("is reported if two different ones are acknowledged, or an equal one is refused", () => {
    const two = asked();
    two.decide(YES, 3, 4);
    two.decide(NO, 3, 5);
    expect(two.kinds()).toEqual(["decided twice"]);
    const refused = asked();
    refused.decide(YES, 3, 4);
    refused.decide(YES, 3, 5, "action_decided");
    expect(refused.kinds()).toEqual(["decided twice"]);
    const alone = asked();
    alone.decide(YES, 3, 4, "action_decided");
    expect(alone.kinds()).toEqual(["decided twice"]);
  });

  it("is reported if it was sent after another one was acknowledged", () => {
    const { ledger, decide, show, kinds } = asked();
    decide(YES, 3, 4);
    ledger.send(7, { ...YES, name: "Ada" }, 5);
    show({ ...byMia, name: "Ada" }, 6);
    expect(kinds()).toEqual(["decided twice"]);
  });

  it("is lost if the call is gone, unless messages were removed", () => {
    const { ledger, decide, kinds } = asked();
    decide(YES, 3, 4);
    ledger.checkSnapshot(snapshotOf("office_refund", "no call"), 4, 5);
    expect(kinds()).toEqual([]);
    ledger.checkSnapshot(snapshotOf("office_refund", "no call"), 5, 6);
    expect(kinds()).toEqual(["lost"]);
    const edited = asked();
    edited.decide(YES, 3, 4);
    edited.ledger.mayRemove(SESSION);
    edited.ledger.checkSnapshot(snapshotOf("office_refund", "no call"), 5, 6);
    edited.decide(NO, 7, 8, "action_not_found", 404);
    expect(edited.kinds()).toEqual([]);
  });

  it("may be refused as cancelled or expired only if it was", () => {
    const { decide, kinds } = asked();
    decide(YES, 3, 4, "action_expired", 410);
    expect(kinds()).toEqual(["wrong answer"]);
    const late = asked("office_loan", AT);
    late.decide(YES, 3, 4, "action_expired", 410);
    late.show({ ...approved, status: "expired", by: null }, 5);
    expect(late.kinds()).toEqual([]);
    late.decide(NO, 7, 8);
    expect(late.kinds()).toContain("wrong answer");
    const running = asked();
    running.decide(YES, 3, 4, "action_cancelled");
    running.ledger.checkSettled(snapshotOf("office_refund", null, {}, { status: "interrupted" }), new Map());
    expect(running.kinds()).toEqual(["wrong answer"]);
    const stopped = asked();
    stopped.ledger.mayStop(SESSION);
    stopped.decide(YES, 3, 4, "action_cancelled");
    stopped.ledger.checkSettled(snapshotOf("office_refund", null, {}, { status: "interrupted" }), new Map());
    expect(stopped.kinds()).toEqual([]);
  });
});

describe("a list of pending actions", () => {
  it("must not have a decided action", () => {
    const { ledger, action, decide, kinds } = asked();
    decide(YES, 3, 5);
    ledger.checkList(MIA, [{ asked: 4, actions: [action] }], 6);
    expect(kinds()).toEqual([]);
    ledger.checkList(MIA, [{ asked: 6, actions: [action] }], 7);
    expect(kinds()).toEqual(["still pending"]);
  });

  it("must not have an action that its reader must not decide, that nobody asked for, or that is there twice", () => {
    const own = asked();
    own.ledger.checkList(EVE, [{ asked: 3, actions: [own.action] }], 4);
    own.ledger.checkList({ ...MIA, roles: ["director"] }, [{ asked: 3, actions: [own.action] }], 4);
    expect(own.kinds()).toEqual(["forbidden decision"]);
    const twice = asked();
    const pages = [3, 4].map((moment) => ({ asked: moment, actions: [twice.action] }));
    twice.ledger.checkList(MIA, pages, 5);
    twice.ledger.checkList(MIA, [{ asked: 5, actions: [{ ...twice.action, input: { request: 8 } }] }], 6);
    expect(twice.kinds()).toEqual(["doubled", "foreign message"]);
  });

  it("must not lack an action that is pending before and after it", () => {
    const { ledger, action, kinds } = asked();
    ledger.checkList(EVE, [{ asked: 3, actions: [] }], 4);
    ledger.checkList(MIA, [{ asked: 1, actions: [] }], 4);
    ledger.checkList(MIA, [{ asked: 5, actions: [action] }], 6);
    expect(kinds()).toEqual([]);
    ledger.checkList(MIA, [{ asked: 7, actions: [] }], 8);
    expect(kinds()).toEqual([]);
    ledger.checkList(MIA, [{ asked: 9, actions: [action] }], 10);
    expect(kinds()).toEqual(["lost"]);
  });
});

describe("the call of a request", () => {
  const GRANTED = { output: "granted 7", is_error: false };
  const settled = (decision: ToolCall["decision"] | null, times: number, outcome: Partial<ToolResult>) => {
    const { ledger, kinds } = asked();
    ledger.send(7, YES, 3);
    const output = "An approver denied this call. Comment: Too much.";
    const result = {
      call_id: "c",
      name: "office_refund",
      output,
      is_error: true,
      duration_ms: 1,
      ...outcome,
    };
    const content = `It said: ${output}, granted 7.`;
    const message = { status: "complete" as const, content, tool_results: [result] };
    const effects = new Map(times > 0 ? [[7, times]] : []);
    ledger.checkSettled(snapshotOf("office_refund", decision, {}, message), effects);
    ledger.checkEffects(effects);
    return kinds();
  };

  it("has the outcome of its decision", () => {
    expect(settled(byMia, 1, GRANTED)).toEqual([]);
    expect(settled(byMax, 0, {})).toEqual([]);
    expect(settled(byMia, 0, GRANTED)).toEqual(["forbidden effect"]);
    expect(settled(byMia, 1, { output: "granted 8", is_error: false })).toContain("forbidden effect");
    expect(settled(byMax, 0, { output: "An approver denied this call." })).toEqual(["forbidden effect"]);
  });

  it("runs at most once, and only after an approval", () => {
    expect(settled(byMia, 2, GRANTED)).toEqual(["forbidden effect"]);
    expect(settled(byMax, 1, {})).toEqual(["forbidden effect"]);
    expect(settled(null, 1, {})).toEqual(["forbidden effect"]);
    const { ledger, kinds } = asked();
    ledger.send(7, NO, 3);
    ledger.checkEffects(new Map([[7, 1]]));
    expect(kinds()).toEqual(["forbidden effect"]);
  });
});
