import { describe, expect, it } from "vitest";
import type { MessageRecord } from "../message.ts";
import type { StartedTurn } from "../turn.ts";
import type { ChatInput } from "./chat.ts";
import { call, DecidedSession } from "./testing/decided-session.ts";

const STEER = { onBusy: "steer" } as const;
const idOf = (one: DecidedSession, text: string): string =>
  one.messages.find(({ content }) => content === text)?.id ?? "none";
const shown = (one: DecidedSession): string[] =>
  one.messages.map(({ role, turn, status, content, extras }) => {
    const steering = extras?.steering;
    const state =
      steering === undefined ? "" : ` ${steering.status}${"step" in steering ? ` ${steering.step}` : ""}`;
    const steps = extras?.steps === undefined ? "" : ` ${extras.steps.from}-${extras.steps.to ?? ""}`;
    return `${turn} ${role} ${status}${state}${steps}: ${content}`;
  });

/** A session whose turn has finished a step with a call. */
function afterStep(input: Partial<ChatInput> = {}): { one: DecidedSession; turn: StartedTurn } {
  const one = new DecidedSession();
  const turn = one.start("one", input);
  one.callTools(turn, "step 1", [call("a")]);
  return { one, turn };
}

function endCall(one: DecidedSession, turn: StartedTurn, callId = "a"): unknown {
  return one.write(turn, "toolResult", {
    outcome: { callId, output: 1, isError: false, durationMs: 1 },
    starts: [],
  });
}

describe("a steering message", () => {
  it("is read at the beginning of the next step, where another agent message continues the turn", () => {
    const { one, turn } = afterStep();
    one.chat("faster", STEER);
    expect(shown(one)).toEqual([
      "1 user complete: one",
      "1 assistant streaming: step 1",
      "2 user queued pending: faster",
    ]);
    expect(endCall(one, turn)).toBe("steered");
    expect(one.beginStep(turn)?.content).toBe("");
    expect(one.types).toEqual(["message_updated", "message_completed", "message_created"]);
    one.complete(turn, "step 2");
    expect(shown(one)).toEqual([
      "1 user complete: one",
      "1 assistant complete 1-1: step 1",
      "1 user complete read 2: faster",
      "1 assistant complete 2-: step 2",
    ]);
    expect(one.turns).toMatchObject([{ number: 1, state: "complete", steps: 2, agentPosition: 4 }]);
    expect(one.session.status).toBe("idle");
    // Turn numbers are never reused.
    expect(one.start("next").number).toBe(3);
  });

  it("is an ordinary message if the session is idle", () => {
    const one = new DecidedSession();
    one.start("one", STEER);
    expect(shown(one)).toEqual(["1 user complete: one", "1 assistant streaming: "]);
  });

  it("waits for its own turn, in its place in the queue, if the turn ends first", () => {
    const one = new DecidedSession();
    const turn = one.start("one");
    one.chat("two");
    one.chat("three", STEER);
    one.complete(turn, "answer");
    expect(shown(one).slice(2)).toEqual(["2 user queued: two", "3 user queued own_turn: three"]);
    const second = one.claim()!;
    expect(second).toMatchObject({ number: 2, isSteered: false });
    one.complete(second, "answer to two");
    expect(one.claim()).toMatchObject({ number: 3 });
  });

  it.each(["fail", "crash"])("waits for its own turn if the turn ends by a %s", (end) => {
    const one = new DecidedSession();
    let turn = one.start("one");
    one.chat("two", STEER);
    if (end === "fail") one.fail(turn, "");
    for (let attempt = 0; end === "crash" && attempt < 3; attempt += 1) {
      one.loseOwner();
      turn = one.claim() ?? turn;
    }
    expect(shown(one).at(2)).toBe("2 user queued own_turn: two");
    expect(one.openTurns).toMatchObject([{ turn: { number: 2, runnable: true } }]);
  });

  it("overtakes older queued messages", () => {
    const { one, turn } = afterStep();
    one.chat("two");
    one.chat("three", STEER);
    endCall(one, turn);
    one.beginStep(turn);
    expect(shown(one)).toEqual([
      "1 user complete: one",
      "1 assistant complete 1-1: step 1",
      "2 user queued: two",
      "1 user complete read 2: three",
      "1 assistant streaming 2-: ",
    ]);
  });

  it("is read with other steering messages in order, and counts towards the queue limit", () => {
    const { one, turn } = afterStep();
    for (const text of ["two", "three"]) one.chat(text, { ...STEER, maxQueued: 2 });
    const refused = { kind: "rejected", reason: "queue_full" };
    expect(one.chat("four", { ...STEER, maxQueued: 1 })).toEqual(refused);
    endCall(one, turn);
    one.beginStep(turn);
    expect(shown(one).slice(1)).toEqual([
      "1 assistant complete 1-1: step 1",
      "1 user complete read 2: two",
      "1 user complete read 2: three",
      "1 assistant streaming 2-: ",
    ]);
  });

  it("is read in the first step of a turn that waited for a slot", () => {
    const one = new DecidedSession();
    one.chat("one", { claim: null });
    one.chat("two", STEER);
    const turn = one.claim()!;
    expect(shown(one)).toEqual([
      "1 user complete: one",
      "1 user complete read 1: two",
      "1 assistant streaming: ",
    ]);
    one.complete(turn, "answer");
    expect(one.session.status).toBe("idle");
  });

  it("waits while a person decides, and is read once the call has its result", () => {
    const one = new DecidedSession();
    const turn = one.start("one");
    const asked = { kind: "approval", request: { tool: "t", input: {} } } as const;
    one.callTools(turn, "", [call("a", "unsafe")], [{ id: "x", callId: "a", asked, validMs: 1_000 }]);
    one.wait(turn);
    one.chat("two", STEER);
    expect(one.turns[1]).toMatchObject({ behindWaiting: true });
    one.decide("x", "approve");
    const again = one.claim()!;
    expect(again).toMatchObject({ isSteered: true, openCalls: [{ id: "a" }] });
    // Not while the call runs.
    expect(one.beginStep(again)?.id).toBe(again.agentMessage.id);
    endCall(one, again);
    one.beginStep(again);
    expect(shown(one).at(2)).toBe("1 user complete read 2: two");
  });

  it("is interrupted with the turn, like a queued message", () => {
    const one = new DecidedSession();
    one.start("one");
    one.chat("two", STEER);
    one.interrupt();
    expect(shown(one)).toEqual([
      "1 user complete: one",
      "1 assistant interrupted: ",
      "2 user interrupted: two",
    ]);
  });

  it("stays in the turn if the turn is interrupted after reading it", () => {
    const { one, turn } = afterStep();
    one.chat("two", STEER);
    endCall(one, turn);
    const before = turn.agentMessage.id;
    const { id } = one.beginStep(turn)!;
    // The text of the message before was read before the step began.
    one.interrupt({ messageId: before, epoch: turn.epoch, text: "step 1" });
    expect(shown(one).slice(2)).toEqual(["1 user complete read 2: two", "1 assistant interrupted 2-: "]);
    expect(one.messages.at(-1)?.id).toBe(id);
  });

  it("is read again by a step repeated after a crash, without messages that arrived later", () => {
    const { one, turn } = afterStep();
    one.chat("two", STEER);
    endCall(one, turn);
    const { id } = one.beginStep(turn)!;
    one.chat("three", STEER);
    one.loseOwner();
    const again = one.claim()!;
    expect(again).toMatchObject({ number: 1, stepsDone: 1, isSteered: true, agentMessage: { id } });
    expect(one.beginStep(again)?.id).toBe(id);
    one.callTools(again, "step 2", [call("b")]);
    endCall(one, again, "b");
    one.beginStep(again);
    expect(shown(one).slice(2)).toEqual([
      "1 user complete read 2: two",
      "1 assistant complete 2-2: step 2",
      "1 user complete read 3: three",
      "1 assistant streaming 3-: ",
    ]);
  });

  it("is found by a repeated chat in the turn that has read it", () => {
    const { one, turn } = afterStep();
    const chat = { ...STEER, messageId: "8f14e45f-ceea-467f-a0e6-b6f3c6a7d222", isClientsId: true };
    one.chat("two", chat);
    endCall(one, turn);
    one.beginStep(turn);
    expect(one.chat("two", chat)).toEqual({ kind: "replayed", turn: 1 });
  });
});

describe("a steering message whose options differ from the turn's", () => {
  const schema = { type: "object", properties: { a: { type: "string" } } } as const;
  const tool = { description: "d", inputSchema: { type: "object" } };
  it.each<[string, Partial<ChatInput>, Partial<ChatInput>, string]>([
    ["another schema", { options: {} }, { options: { responseSchema: schema } }, "own_turn"],
    [
      "the same schema",
      { options: { responseSchema: schema } },
      { options: { responseSchema: schema } },
      "pending",
    ],
    ["no schema", { options: { responseSchema: schema } }, { options: {} }, "pending"],
    ["other tools", { options: {} }, { options: { clientTools: { tool } } }, "own_turn"],
    [
      "the same tools",
      { options: { clientTools: { tool } } },
      { options: { clientTools: { tool } } },
      "pending",
    ],
    ["another note", { options: { note: { a: 1 } } }, { options: { note: { a: 2 } } }, "pending"],
    ["another model", {}, { rig: "other/model" }, "own_turn"],
    ["the same model", {}, { rig: "demo/assistant" }, "pending"],
    ["secrets of another client", { clientId: "a" }, { clientId: "b" }, "own_turn"],
    ["secrets of the same client", { clientId: "a" }, { clientId: "a" }, "pending"],
    ["no secrets", { clientId: "a" }, { clientId: null }, "pending"],
    ["another user state", { userState: { a: 1 } }, { userState: { a: 2 } }, "own_turn"],
    ["the same user state", { userState: { a: 1 } }, { userState: { a: 1 } }, "pending"],
    ["the first wallet", {}, { publicKey: "0xa" }, "own_turn"],
    ["the same wallet", { publicKey: "0xa" }, { publicKey: "0xa" }, "pending"],
  ])("%s: is %4$s", (_name, first, second, state) => {
    const { one, turn } = afterStep(first);
    one.chat("two", { ...STEER, ...second });
    expect(one.messages[2]?.extras?.steering).toEqual({ status: state });
    expect(endCall(one, turn)).toBe(state === "pending" ? "steered" : "ok");
  });
});

describe("replacing a message", () => {
  /** A turn with three agent messages. */
  function steered(): DecidedSession {
    const { one, turn } = afterStep();
    for (const [text, id] of [
      ["two", "b"],
      ["three", "c"],
    ] as const) {
      one.chat(text, STEER);
      endCall(one, turn, id === "b" ? "a" : "b");
      one.beginStep(turn);
      if (id === "b") one.callTools(turn, "step 2", [call("b")]);
    }
    one.complete(turn, "step 3");
    return one;
  }
  const stepsOf = (message: MessageRecord | undefined): unknown => message?.extras?.steps;

  it("keeps the steps before a steering message", () => {
    const one = steered();
    one.start("zwei", { replaces: idOf(one, "two") });
    expect(shown(one)).toEqual([
      "1 user complete: one",
      "1 assistant interrupted: step 1",
      "4 user complete: zwei",
      "4 assistant streaming: ",
    ]);
    expect(stepsOf(one.messages[1])).toBeUndefined();
    expect(one.turns[0]).toMatchObject({ state: "interrupted", steps: 1, agentPosition: 2 });
  });

  it("keeps the agent messages before the last steering message", () => {
    const one = steered();
    one.start("drei", { replaces: idOf(one, "three") });
    expect(shown(one).slice(0, 4)).toEqual([
      "1 user complete: one",
      "1 assistant complete 1-1: step 1",
      "1 user complete read 2: two",
      "1 assistant interrupted 2-: step 2",
    ]);
    expect(one.turns[0]).toMatchObject({ state: "interrupted", steps: 2, agentPosition: 4 });
  });

  it("removes the turn of a question", () => {
    const one = steered();
    one.start("eins", { replaces: idOf(one, "one") });
    expect(shown(one)).toEqual(["4 user complete: eins", "4 assistant streaming: "]);
  });

  it("truncates the answer to a steering message that precedes the replaced queued message", () => {
    const { one, turn } = afterStep();
    one.chat("steer", STEER);
    one.chat("queued");
    endCall(one, turn);
    one.beginStep(turn);
    one.start("other", { replaces: idOf(one, "queued") });
    expect(shown(one)).toEqual([
      "1 user complete: one",
      "1 assistant interrupted: step 1",
      "1 user interrupted read 2: steer",
      "4 user complete: other",
      "4 assistant streaming: ",
    ]);
  });

  it("interrupts the turn for a pending message, as for a queued one", () => {
    const { one } = afterStep();
    one.chat("two", STEER);
    one.start("zwei", { replaces: idOf(one, "two"), ...STEER });
    expect(shown(one)).toEqual([
      "1 user complete: one",
      "1 assistant interrupted: step 1",
      "3 user complete: zwei",
      "3 assistant streaming: ",
    ]);
  });
});
