import type { Message, ReasoningDelta } from "@colloquy/protocol";
import { describe, expect, it } from "vitest";
import { SessionUpdates } from "./session-updates.ts";

const AT = "2026-11-20T12:00:00.000Z";

const answer = (content: string, more: Partial<Message> = {}): Message => ({
  sender: "agent",
  content,
  id: "answer",
  created_at: AT,
  status: "streaming",
  turn: 1,
  ...more,
});
const question = (content: string, more: Partial<Message> = {}): Message =>
  answer(content, { sender: "user", id: "question", status: "complete", ...more });
const call = { id: "a", name: "add", arguments: {}, status: "running" as const, text_offset: 3 };
const result = { call_id: "a", name: "add", output: 3, is_error: false, duration_ms: 1 };
const reasoning = (offset: number, text: string, step = 1): ReasoningDelta => ({
  type: "reasoning_delta",
  message_id: "answer",
  step,
  offset,
  text,
});

/** Returns kind, message and text of each update. */
function shown(updates: Iterable<object>) {
  return [...updates].map((update) => {
    const { sessionUpdate, messageId, toolCallId, content, status } = update as Record<string, unknown>;
    const text = (content as { text?: string } | undefined)?.text;
    return [sessionUpdate, messageId ?? toolCallId, text ?? status];
  });
}

describe("SessionUpdates", () => {
  it("sends each message once, and then text that is appended to it", () => {
    const updates = new SessionUpdates();
    const before = [question("hi"), answer("One")];
    expect(shown(updates.ofMessages(before))).toEqual([
      ["user_message_chunk", "question", "hi"],
      ["agent_message_chunk", "answer", "One"],
    ]);
    const after = [question("hi"), answer("One two", { status: "complete" })];
    expect(shown(updates.ofMessages(after))).toEqual([["agent_message_chunk", "answer", " two"]]);
    expect(shown(updates.ofMessages(after))).toEqual([]);
  });

  it("omits what was marked as sent", () => {
    const updates = new SessionUpdates();
    const calls = { tool_calls: [call] };
    expect(updates.isEmpty).toBe(true);
    updates.markAllSent([question("hi"), answer("One", calls)]);
    expect(updates.isEmpty).toBe(false);
    const after = answer("One two", { ...calls, tool_results: [result], status: "complete" });
    expect(shown(updates.ofMessages([question("hi"), after]))).toEqual([
      ["tool_call_update", "a", "completed"],
      ["agent_message_chunk", "answer", " two"],
    ]);
  });

  it("omits messages that are older than its start", () => {
    const updates = new SessionUpdates();
    const of = (turn: number) => question(`Question ${turn}`, { id: `question ${turn}`, turn });
    updates.markAllSent([of(7), of(8)]);
    expect([of(6), of(7), of(9)].map((message) => updates.isUnsent(message))).toEqual([false, false, true]);
    expect(shown(updates.ofMessages([of(5), of(6), of(7), of(8), of(9)]))).toEqual([
      ["user_message_chunk", "question 9", "Question 9"],
    ]);
  });

  it("links to the files of a result", () => {
    const file = { id: "f", media_type: "image/png", bytes: 9, sha256: "", name: "chart.png" };
    const withFile = answer("", { tool_calls: [call], tool_results: [{ ...result, attachments: [file] }] });
    expect([...new SessionUpdates().ofMessages([withFile])].at(-1)).toMatchObject({
      sessionUpdate: "tool_call_update",
      content: [
        { content: { type: "text" } },
        {
          type: "content",
          content: {
            type: "resource_link",
            uri: "urn:uuid:f",
            name: "chart.png",
            mimeType: "image/png",
            size: 9,
          },
        },
      ],
    });
  });

  it("sends nothing if an interrupt stored less than was sent", () => {
    const updates = new SessionUpdates();
    updates.markSent([answer("One two")]);
    expect(shown(updates.ofMessages([answer("One", { status: "interrupted" })]))).toEqual([]);
  });

  it("announces that an answer was restarted", () => {
    const updates = new SessionUpdates();
    expect(shown(updates.ofMessages([answer("One")]))).toHaveLength(1);
    expect(shown(updates.ofMessages([answer("Two")])).map(([, , text]) => text)).toEqual([
      "\n\n(The assistant began this answer again.)\n\n",
      "Two",
    ]);
  });

  it("sends a call once, between the preceding and the following text", () => {
    const updates = new SessionUpdates();
    const state = [answer("One two", { tool_calls: [call] })];
    expect(shown(updates.ofMessages(state))).toEqual([
      ["agent_message_chunk", "answer", "One"],
      ["tool_call", "a", "in_progress"],
      ["agent_message_chunk", "answer", " two"],
    ]);
    expect(shown(updates.ofMessages(state))).toEqual([]);
  });

  it("sends replaced reasoning as a new thought", () => {
    const updates = new SessionUpdates();
    const deltas = [
      reasoning(0, "The user "),
      reasoning(9, "greets"),
      // A stream that resumes repeats the step, perhaps from a node that is behind.
      reasoning(0, "The user"),
      reasoning(0, "The user greets me"),
      reasoning(99, "gap"),
      reasoning(0, "Anew"),
      reasoning(4, "."),
      reasoning(0, "Second", 2),
    ];
    expect(deltas.flatMap((delta) => shown(updates.ofReasoning(delta)))).toEqual([
      ["agent_thought_chunk", "answer-reasoning-1", "The user "],
      ["agent_thought_chunk", "answer-reasoning-1", "greets"],
      ["agent_thought_chunk", "answer-reasoning-1", " me"],
      ["agent_thought_chunk", "answer-reasoning-1-1", "Anew"],
      ["agent_thought_chunk", "answer-reasoning-1-1", "."],
      ["agent_thought_chunk", "answer-reasoning-2", "Second"],
    ]);
  });
});
