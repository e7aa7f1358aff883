import type { Message, PendingAction, SystemEvent } from "@colloquy/client";
import { describe, expect, it } from "vitest";
import { displayMessages, type Shown, withPendingAnswer } from "./display-messages.ts";
import { threadMessage } from "./thread-message.ts";

const at = (second: number): string => `2026-01-01T00:00:0${second}.000Z`;
const message = (id: string, second: number, parts: Partial<Message> = {}): Message => ({
  id,
  sender: "agent",
  content: id,
  created_at: at(second),
  status: "complete",
  ...parts,
});
const event = (id: string, second: number, type: SystemEvent["type"] = "notice"): SystemEvent => ({
  id,
  type,
  created_at: at(second),
  payload: { level: type === "error" ? "error" : "warning", code: id, message: `About ${id}` },
});
const action = (call_id: string): PendingAction => ({
  id: `of ${call_id}`,
  call_id,
  tool: "walk",
  kind: "approval",
  request: { tool: "walk", input: {} },
  created_at: at(1),
  expires_at: at(9),
});
const shown = (parts: Partial<Shown>): Shown => ({
  messages: [],
  system_events: [],
  pending_actions: [],
  progress: new Map(),
  reasoning: null,
  ...parts,
});

it("keeps the object of an unchanged message", () => {
  const call = { id: "call", name: "walk", arguments: {}, status: "running" } as const;
  const messages = [message("a", 1), message("b", 2, { tool_calls: [call] })];
  const first = displayMessages([], shown({ messages }));
  expect(displayMessages(first, shown({ messages: [...messages] }))).toBe(first);
  const told = displayMessages(first, shown({ messages, progress: new Map([["call", 7]]) }));
  expect(told[0]).toBe(first[0]);
  expect(told[1]).not.toBe(first[1]);
  const noticed = displayMessages(told, shown({ messages, system_events: [event("n", 1)] }));
  expect(noticed[0]).not.toBe(told[0]);
  expect(displayMessages(noticed, shown({ messages, system_events: [event("n", 1)] }))).toBe(noticed);
});

it("creates a new object when an action or a failure reason is added to a message", () => {
  const call = { id: "call", name: "walk", arguments: {}, status: "running" } as const;
  const messages = [message("a", 1, { status: "failed" }), message("b", 2, { tool_calls: [call] })];
  const first = displayMessages([], shown({ messages }));
  const asked = displayMessages(first, shown({ messages, pending_actions: [action("call")] }));
  expect([asked[0] === first[0], asked[1] === first[1]]).toEqual([true, false]);
  const told = displayMessages(first, shown({ messages, system_events: [event("why", 2, "error")] }));
  expect([told[0] === first[0], told[1] === first[1]]).toEqual([false, true]);
});

it("attaches an action to the message with its call", () => {
  const [one, other] = ["one", "other"].map(
    (id) => ({ id, name: "walk", arguments: {}, status: "running" }) as const,
  );
  const messages = [message("a", 1, { tool_calls: [one!] }), message("b", 2, { tool_calls: [other!] })];
  const after = displayMessages([], shown({ messages, pending_actions: [action("other"), action("one")] }));
  expect(after.map(({ actions }) => actions.map(({ call_id }) => call_id))).toEqual([["one"], ["other"]]);
});

it("gives each failed answer its own reason, and attaches a notice to the message before it", () => {
  const messages = [
    message("a", 1, { status: "failed" }),
    message("b", 3, { status: "complete" }),
    message("c", 5, { status: "failed" }),
  ];
  const system_events = [
    event("early", 0),
    event("first", 2, "error"),
    event("note", 4),
    event("second", 6, "error"),
    event("later", 7, "error"),
  ];
  const after = displayMessages([], shown({ messages, system_events }));
  expect(after.map(({ failure }) => failure?.code)).toEqual(["first", undefined, "second"]);
  expect(after.map(({ notices }) => notices.map(({ code }) => code))).toEqual([[], ["note"], ["later"]]);
});

it("attaches the reason of a failed turn to the answer of that turn, whatever their times are", () => {
  const messages = [
    message("a", 1, { status: "failed", turn: 1 }),
    message("b", 1, { status: "failed", turn: 2 }),
  ];
  const ofTurn = (id: string, turn: number): SystemEvent => {
    const { payload, ...rest } = event(id, 1, "error");
    return { ...rest, payload: { ...payload, turn } };
  };
  const after = displayMessages([], shown({ messages, system_events: [ofTurn("x", 2), ofTurn("y", 1)] }));
  expect(after.map(({ failure }) => failure?.code)).toEqual(["y", "x"]);
});

it("puts a call where it was made, and ends with a text part that can grow", () => {
  const call = (id: string, offset?: number) =>
    ({
      id,
      name: "walk",
      arguments: {},
      status: "running",
      ...(offset !== undefined && { text_offset: offset }),
    }) as const;
  const parts = (content: string, ...tool_calls: ReturnType<typeof call>[]) => {
    const progress = new Map(tool_calls.map(({ id }) => [id, `progress of ${id}`]));
    const messages = [message("a", 1, { content, tool_calls })];
    const [one] = displayMessages([], shown({ messages, progress }));
    return (threadMessage(one!).content as readonly Record<string, unknown>[]).map((part) =>
      part["type"] === "text" ? part["text"] : [part["toolCallId"], part["artifact"]],
    );
  };
  const made = (id: string) => [id, expect.objectContaining({ progress: `progress of ${id}` })];
  expect(parts("Let me see.\n\nDone.", call("b", 11), call("c", 11))).toEqual([
    "Let me see.",
    made("b"),
    made("c"),
    "Done.",
  ]);
  expect(parts("I go.", call("b", 5))).toEqual(["I go.", made("b"), ""]);
  expect(parts("I went.", call("b"))).toEqual([made("b"), "I went."]);
});

it("drops the progress of a finished call even if it is still recorded", () => {
  const call = { id: "call", name: "walk", arguments: {}, status: "complete" as const };
  const messages = [message("a", 1, { tool_calls: [call] })];
  const [one] = displayMessages([], shown({ messages, progress: new Map([["call", 7]]) }));
  expect(one!.progress).toEqual([undefined]);
});

it("shows arguments that are not an object as text", () => {
  const call = { id: "call", name: "walk", arguments: [1, 2], status: "complete" as const };
  const [one] = displayMessages([], shown({ messages: [message("a", 1, { tool_calls: [call] })] }));
  expect(threadMessage(one!).content[0]).toMatchObject({ args: {}, argsText: "[1,2]" });
});

it("passes on data, sources, and whether there is reasoning", () => {
  const extras = {
    data: { a: 1 },
    sources: [{ id: "1", url: "https://example.com/" }],
    has_reasoning: true as const,
  };
  const [one] = displayMessages([], shown({ messages: [message("a", 1, extras)] }));
  const { data, sources, has_reasoning: hasReasoning } = extras;
  expect(threadMessage(one!).metadata?.custom).toMatchObject({ data, sources, hasReasoning });
});

describe("reasoning", () => {
  const steps = [{ step: 1, text: "A greeting." }];
  const answer = message("a", 2, { status: "streaming" });
  const question = message("q", 1, { sender: "user" });

  it("precedes the text of its answer, and stays when the answer is complete", () => {
    const before = displayMessages([], shown({ messages: [question, answer] }));
    const after = displayMessages(
      before,
      shown({ messages: [question, answer], reasoning: { messageId: "a", steps } }),
    );
    expect([after[0] === before[0], after[1] === before[1]]).toEqual([true, false]);
    const content = [
      { type: "reasoning", text: "A greeting." },
      { type: "text", text: "a" },
    ];
    expect(threadMessage(after[1]!).content).toEqual(content);
    const complete = displayMessages(
      after,
      shown({ messages: [question, { ...answer, status: "complete" }] }),
    );
    expect(threadMessage(complete[1]!).content).toEqual(content);
  });

  it("is an answer of its own until the snapshot has that, before queued messages", () => {
    const queued = message("later", 3, { sender: "user", status: "queued" });
    const all = displayMessages([], shown({ messages: [question, queued] }));
    const live = { messageId: "a", steps };
    const pending = withPendingAnswer(all, all, live);
    expect(pending.map(({ message: { id } }) => id)).toEqual(["q", "a", "later"]);
    expect(threadMessage(pending[1]!)).toMatchObject({
      role: "assistant",
      status: { type: "running" },
      content: [{ type: "reasoning" }, { type: "text", text: "" }],
    });
    const known = displayMessages([], shown({ messages: [question, answer, queued] }));
    expect(withPendingAnswer(known, known, live)).toBe(known);
    expect(withPendingAnswer(all, all, null)).toBe(all);
    expect(withPendingAnswer([], [], live)).toEqual([]);
  });
});

it("quotes the question only on an answer that is separated from it", () => {
  const messages = [
    message("q1", 1, { sender: "user", turn: 1 }),
    message("q2", 2, { sender: "user", turn: 2 }),
    message("a1", 3, { turn: 1 }),
    message("a2", 4, { turn: 2 }),
  ];
  const quotes = (all: readonly Message[]) =>
    displayMessages([], shown({ messages: all })).map(
      (one) => threadMessage(one).metadata?.custom?.["inReplyTo"],
    );
  expect(quotes(messages)).toEqual([null, null, "q1", "q2"]);
  expect(quotes(messages.toSpliced(1, 1))).toEqual([null, null, null]);
  const first = displayMessages([], shown({ messages: messages.toSpliced(1, 1) }));
  expect(displayMessages(first, shown({ messages }))[2]).not.toBe(first[1]);
});
