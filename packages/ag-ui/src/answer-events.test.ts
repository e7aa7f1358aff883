import { type Event, EventType } from "@ag-ui/core";
import type { Message } from "@colloquy/protocol";
import { describe, expect, it } from "vitest";
import { AnswerEvents } from "./answer-events.ts";
import { storedMessageId } from "./ids.ts";
import { toAgUiMessages } from "./messages.ts";

const ID = "019a9c1e-6b60-7c3e-9a55-2f1d3b7e4c01";
const answer = (
  content: string,
  calls: readonly (readonly [id: string, offset: number])[] = [],
): Message => ({
  sender: "agent",
  content,
  id: ID,
  created_at: "2026-11-20T12:00:00.000Z",
  status: "streaming",
  turn: 1,
  tool_calls: calls.map(([id, text_offset]) => ({
    id,
    name: "tool",
    arguments: {},
    status: "running",
    text_offset,
  })),
});
const typesOf = (events: Iterable<Event>) => [...events].map(({ type }) => type);

describe("AnswerEvents", () => {
  it("starts another message for text after calls, and strips a separator that arrives in pieces", () => {
    const events = new AnswerEvents(null);
    const after = answer("One.\n\nTwo", [["a", 4]]);
    const sent = [
      ...events.next(answer("One.")),
      ...events.next(answer("One.", [["a", 4]])),
      ...events.grow("\n"),
      ...events.grow("\nTwo"),
      ...events.next(after),
      ...events.end("complete", []),
    ];
    expect(sent).toMatchObject([
      { type: EventType.TEXT_MESSAGE_START, messageId: ID },
      { type: EventType.TEXT_MESSAGE_CONTENT, delta: "One." },
      { type: EventType.TEXT_MESSAGE_END, messageId: ID },
      { type: EventType.TOOL_CALL_START, parentMessageId: ID, toolCallId: `${ID}-call-0` },
      { type: EventType.TOOL_CALL_ARGS },
      { type: EventType.TOOL_CALL_END },
      { type: EventType.TEXT_MESSAGE_START, messageId: `${ID}-1` },
      { type: EventType.TEXT_MESSAGE_CONTENT, delta: "Two" },
      { type: EventType.TEXT_MESSAGE_END, messageId: `${ID}-1` },
    ]);
    expect(toAgUiMessages([after])).toMatchObject([
      { id: ID, content: "One.", toolCalls: [{ id: `${ID}-call-0` }] },
      { id: `${ID}-1`, content: "Two" },
    ]);
  });

  it("continues a message of which the client has the start", () => {
    const events = new AnswerEvents(answer("One.\n\nTw", [["a", 4]]));
    expect([...events.next(answer("One.\n\nTwo", [["a", 4]]))]).toMatchObject([
      { type: EventType.TEXT_MESSAGE_START, messageId: `${ID}-1` },
      { type: EventType.TEXT_MESSAGE_CONTENT, delta: "o" },
    ]);
  });

  it("does not send the text of a repeated step twice", () => {
    const events = new AnswerEvents(null);
    void [...events.next(answer("One. Two"))];
    expect([...events.next(answer(""))]).toEqual([]);
    expect([...events.next(answer("One. "))]).toEqual([]);
    expect([...events.next(answer("One. Two three"))]).toMatchObject([
      { type: EventType.TEXT_MESSAGE_CONTENT, delta: " three" },
    ]);
    expect(typesOf(events.next({ ...answer("One."), status: "complete" }))).toContain(EventType.RUN_ERROR);
  });

  it("derives the id of reasoning from its step, and a new id when the reasoning starts again", () => {
    const ids = (...texts: readonly (readonly [step: number, offset: number, text: string])[]) => {
      const events = new AnswerEvents(answer(""));
      void [...events.next(answer(""))];
      return texts.flatMap(([step, offset, text]) =>
        [...events.reason({ step, offset, text })].flatMap((event) =>
          event.type === EventType.REASONING_START ? [event.messageId] : [],
        ),
      );
    };
    expect(ids([1, 0, "Let"], [1, 3, " me"], [2, 0, "Now"])).toEqual([
      `${ID}-reasoning-1-0`,
      `${ID}-reasoning-2-0`,
    ]);
    expect(ids([2, 0, "Now"], [2, 0, "Or"])).toEqual([`${ID}-reasoning-2-0`, `${ID}-reasoning-2-1`]);
  });

  it.each([
    ["its text", answer("Six")],
    ["its number of calls", answer("One.")],
    [
      "its calls before the sent text",
      answer("One", [
        ["a", 3],
        ["b", 3],
      ]),
    ],
  ])("ends with an error if a repeated step differs in %s", (_difference, again) => {
    const events = new AnswerEvents(null);
    void [...events.next(answer("One.", [["a", 4]]))];
    expect(typesOf(events.next(again))).toEqual([EventType.RUN_ERROR]);
    expect(events.isRerun).toBe(true);
    expect([...events.grow("more"), ...events.next(again), ...events.end("complete", [])]).toEqual([]);
  });
});

describe("storedMessageId", () => {
  it("returns a UUID unchanged unless it is the thread's, and derives a UUID from any other id", () => {
    expect(storedMessageId(ID, ID.replace("1", "2").toUpperCase())).toBe(ID.replace("1", "2"));
    for (const sent of [ID, "ck-1", "x".repeat(1000)]) {
      const stored = storedMessageId(ID, sent);
      expect(stored).toMatch(/^[\da-f]{8}-[\da-f]{4}-8[\da-f]{3}-a[\da-f]{3}-[\da-f]{12}$/);
      expect(stored).not.toBe(ID);
      expect(storedMessageId(ID, sent)).toBe(stored);
    }
    expect(storedMessageId(ID, "a")).not.toBe(storedMessageId(ID, "b"));
  });
});
