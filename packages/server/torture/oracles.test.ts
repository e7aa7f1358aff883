import type { Message, Snapshot } from "@colloquy/protocol";
import { describe, expect, it } from "vitest";
import { IncarnationLedger } from "./ledger.ts";
import { checkCopy, checkSettled, checkSnapshot } from "./oracles.ts";
import { Violations } from "./violations.ts";

let count = 0;

function user(content: string, status: Message["status"] = "complete"): Message {
  count += 1;
  return { sender: "user", content, id: `u${count}`, created_at: "2026-11-20T00:00:00.000Z", status };
}

function agent(content: string, status: Message["status"] = "complete"): Message {
  return { ...user(content, status), sender: "agent" };
}

/** Numbers turns: each answer belongs to the next complete message. */
function numbered(messages: readonly Message[]): Message[] {
  const users = messages.filter(({ sender }) => sender === "user");
  const asked = users.filter(({ status }) => status === "complete");
  const answers = messages.filter(({ sender }) => sender === "agent");
  return messages.map((message) => {
    const at = answers.indexOf(message);
    const question = at < 0 ? message : (asked[at] ?? asked.at(-1) ?? message);
    return { turn: users.indexOf(question) + 1, ...message };
  });
}

function snapshotOf(messages: readonly Message[], fields: Partial<Snapshot> = {}): Snapshot {
  return {
    messages: numbered(messages),
    system_events: [],
    pending_actions: [],
    title: "New Chat",
    is_processing: false,
    user_state: null,
    session_id: "6f1c3c1e-0000-4000-8000-000000000001",
    app: "default",
    status: "idle",
    model: "demo/assistant",
    last_event_id: "life1-9",
    ...fields,
  };
}

/** Creates a ledger of messages sent and acknowledged one by one. */
function ledgerOf(...texts: readonly string[]): IncarnationLedger {
  const ledger = new IncarnationLedger(new Set(["life0"]));
  for (const text of texts) ledger.send(text).acknowledged = ledger.now();
  return ledger;
}

function kindsOf(ledger: IncarnationLedger, snapshot: Snapshot, settled = false): string[] {
  const violations = new Violations();
  checkSnapshot(ledger, snapshot, ledger.now(), violations);
  if (settled) checkSettled(ledger, snapshot, violations);
  return violations.all.map(({ kind }) => kind);
}

const PROCESSING = { is_processing: true, status: "processing" } as const;

describe("a snapshot at any time", () => {
  it("is correct with everything acknowledged, once, in order", () => {
    const snapshot = snapshotOf([user("a"), agent('"a"'), user("b"), agent("", "streaming")], PROCESSING);
    expect(kindsOf(ledgerOf("a", "b"), snapshot)).toEqual([]);
  });

  it("may contain unacknowledged messages, and lack those acknowledged after its request", () => {
    const ledger = ledgerOf("a");
    ledger.send("b");
    expect(kindsOf(ledger, snapshotOf([user("a"), user("b", "queued")], PROCESSING))).toEqual([]);
    const asked = ledger.now();
    ledger.send("c").acknowledged = ledger.now();
    const violations = new Violations();
    checkSnapshot(ledger, snapshotOf([user("a")]), asked, violations);
    expect(violations.all).toEqual([]);
  });

  it("must not lose what was acknowledged before its request", () => {
    expect(kindsOf(ledgerOf("a", "b"), snapshotOf([user("a")]))).toEqual(["lost"]);
  });

  it("must not restart the session without a delete", () => {
    const ledger = ledgerOf();
    expect(kindsOf(ledger, snapshotOf([]))).toEqual([]);
    expect(kindsOf(ledger, snapshotOf([], { last_event_id: "life2-0" }))).toEqual(["lost"]);
  });

  it("must not duplicate a message", () => {
    expect(kindsOf(ledgerOf("a"), snapshotOf([user("a"), user("a")]))).toContain("doubled");
  });

  it("must not reorder consecutive messages, but may reorder concurrent ones", () => {
    expect(kindsOf(ledgerOf("a", "b"), snapshotOf([user("b"), user("a")]))).toEqual(["disordered"]);
    const ledger = ledgerOf();
    const [one, other] = [ledger.send("a"), ledger.send("b")];
    one.acknowledged = ledger.now();
    other.acknowledged = ledger.now();
    expect(kindsOf(ledger, snapshotOf([user("b"), user("a")]))).toEqual([]);
  });

  it("must not show a message that was never sent, was refused, or belongs to a deleted incarnation", () => {
    expect(kindsOf(ledgerOf(), snapshotOf([user("x")]))).toEqual(["foreign message"]);
    const ledger = ledgerOf();
    ledger.send("a").refused = true;
    expect(kindsOf(ledger, snapshotOf([user("a")]))).toEqual(["foreign message"]);
    expect(kindsOf(ledgerOf(), snapshotOf([], { last_event_id: "life0-3" }))).toEqual(["foreign message"]);
    expect(kindsOf(ledgerOf("a").next(), snapshotOf([user("a")]))).toEqual(["foreign message"]);
  });

  it("must not show what an edit has removed, nor lose what it has left", () => {
    const [left, gone, answer] = [user("a", "interrupted"), user("b"), agent('"b"')];
    const after = (...messages: readonly Message[]): string[] => {
      const ledger = ledgerOf("a", "b");
      expect(kindsOf(ledger, snapshotOf([left, gone, answer]))).toEqual([]);
      ledger.remove([left, gone, answer], gone.id);
      ledger.send("c").acknowledged = ledger.now();
      return kindsOf(ledger, snapshotOf(messages));
    };
    expect(after(left, user("c"))).toEqual([]);
    expect(after(left, user("c"), answer)).toEqual(["foreign message"]);
    expect(after(left, user("b"), user("c"))).toEqual(["foreign message"]);
    expect(after(user("c"))).toEqual(["lost", "changed after sealed"]);
  });

  it("may interrupt only the answer whose continuation an edit has removed", () => {
    const read = (content: string): Message => ({ ...user(content), turn: 1 });
    const part = (steps: Message["steps"]): Message => ({ ...agent("text"), turn: 1, steps });
    const interrupted = ({ steps: _, ...message }: Message): Message => ({
      ...message,
      status: "interrupted",
    });
    const [first, second] = [part({ from: 1, to: 1 }), part({ from: 2, to: 2 })];
    // No snapshot includes the agent message that answers "c", because it has no text yet.
    const [a, b, c, d] = [read("a"), read("b"), read("c"), user("d", "queued")];
    const shown = [a, first, b, second, c, d];
    const after = (...messages: readonly Message[]): string[] => {
      const ledger = ledgerOf("a", "b", "c", "d");
      expect(kindsOf(ledger, snapshotOf(shown, PROCESSING))).toEqual([]);
      ledger.remove(shown, d.id);
      ledger.send("e").acknowledged = ledger.now();
      return kindsOf(ledger, snapshotOf(messages, PROCESSING));
    };
    const left = [interrupted(second), { ...c, status: "interrupted" as const }, user("e")];
    expect(after(a, first, b, ...left)).toEqual([]);
    expect(after(a, interrupted(first), b, ...left)).toEqual(["changed after sealed"]);
  });

  it("must not have two running turns", () => {
    const messages = [user("a"), agent("", "streaming"), user("b"), agent("", "streaming")];
    expect(kindsOf(ledgerOf("a", "b"), snapshotOf(messages, PROCESSING))).toEqual(["two turns at once"]);
  });

  it("must have a status consistent with its flag and messages", () => {
    expect(kindsOf(ledgerOf(), snapshotOf([], { is_processing: true }))).toEqual(["wrong answer"]);
    expect(kindsOf(ledgerOf("a"), snapshotOf([user("a", "queued")]))).toEqual(["stuck"]);
  });

  it("must not change text that was final before", () => {
    const ledger = ledgerOf("a");
    const [question, answer] = [user("a"), agent("one", "interrupted")];
    expect(kindsOf(ledger, snapshotOf([question, answer]))).toEqual([]);
    expect(kindsOf(ledger, snapshotOf([question, { ...answer, content: "one two" }]))).toEqual([
      "changed after sealed",
    ]);
    expect(kindsOf(ledger, snapshotOf([question]))).toEqual(["changed after sealed"]);
  });

  it("must keep a title that was set, unless a change is pending", () => {
    const ledger = ledgerOf();
    ledger.settings.set("title", { value: "Mine", since: ledger.now() });
    expect(kindsOf(ledger, snapshotOf([], { title: "Mine" }))).toEqual([]);
    expect(kindsOf(ledger, snapshotOf([], { title: "Generated" }))).toEqual(["forgotten setting"]);
    ledger.settings.set("title", { value: undefined, since: 0 });
    expect(kindsOf(ledger, snapshotOf([], { title: "Generated" }))).toEqual([]);
  });
});

describe("an idle session", () => {
  it("is correct if each message has its answer or was cancelled", () => {
    const messages = [
      user("a"),
      agent('I repeat: "a"'),
      user("b", "interrupted"),
      user("c"),
      agent("", "failed"),
    ];
    expect(kindsOf(ledgerOf("a", "b", "c"), snapshotOf(messages), true)).toEqual([]);
  });

  it("must not leave a message unanswered", () => {
    const messages = [user("a"), agent('"a"'), user("b")];
    expect(kindsOf(ledgerOf("a", "b"), snapshotOf(messages), true)).toEqual(["unanswered"]);
  });

  it("must not answer a message twice", () => {
    expect(kindsOf(ledgerOf("a"), snapshotOf([user("a"), agent('"a"'), agent('"a"')]), true)).toEqual([
      "answered twice",
    ]);
  });

  it("must not contain the answer to another message", () => {
    const messages = [user("a"), agent('"a"'), user("b"), agent('"a"')];
    expect(kindsOf(ledgerOf("a", "b"), snapshotOf(messages), true)).toEqual(["wrong answer"]);
  });

  it("must not have a call without a result", () => {
    const call = { id: "1", name: "calculator", arguments: {}, status: "complete" } as const;
    const messages = [user("a"), { ...agent('"a"'), tool_calls: [call] }];
    expect(kindsOf(ledgerOf("a"), snapshotOf(messages), true)).toEqual(["wrong answer"]);
  });
});

describe("a copy", () => {
  const inTurn = (turn: number, message: Message): Message => ({ ...message, turn });
  const question = inTurn(1, user("a"));
  const answer = inTurn(1, agent('"a"'));
  const open = [inTurn(2, user("b")), inTurn(2, agent("", "streaming"))];
  const before = snapshotOf([question, answer, ...open], PROCESSING);
  const kindsOfCopy = (messages: readonly Message[]): string[] => {
    const violations = new Violations();
    checkCopy(ledgerOf("a", "b"), before, snapshotOf(messages), violations);
    return violations.all.map(({ kind }) => kind);
  };
  const other = (message: Message): Message => ({ ...message, id: `copy of ${message.id}` });

  it("has the finished turns, and may have one that finished meanwhile", () => {
    expect(kindsOfCopy([other(question), other(answer)])).toEqual([]);
    expect(kindsOfCopy([question, answer, open[0]!, inTurn(2, agent('"b"'))].map(other))).toEqual([]);
  });

  it("must not lose or change a message, share an id, or have a message from elsewhere", () => {
    expect(kindsOfCopy([other(question)])).toEqual(["lost"]);
    expect(kindsOfCopy([other(question), other({ ...answer, content: "x" })])).toEqual(["lost"]);
    expect(kindsOfCopy([question, other(answer)])).toEqual(["foreign message"]);
    expect(kindsOfCopy([question, answer, inTurn(3, user("c"))].map(other))).toEqual(["foreign message"]);
  });

  it("is remembered as acknowledged and final", () => {
    const ledger = IncarnationLedger.ofCopy([question, answer], ledgerOf("a"));
    expect(kindsOf(ledger, snapshotOf([question, answer]))).toEqual([]);
    expect(kindsOf(ledger, snapshotOf([]))).toEqual(["lost", "changed after sealed"]);
  });
});
