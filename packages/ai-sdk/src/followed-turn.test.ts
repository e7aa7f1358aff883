import type { Message, PendingAction, UpdateEvent } from "@colloquy/protocol";
import { readUIMessageStream, type UIMessage, type UIMessageChunk } from "ai";
import { describe, expect, it } from "vitest";
import { AnswerChunks, type KnownAnswer } from "./answer-chunks.ts";
import { FollowedTurn, type TurnState } from "@colloquy/server/protocol";

const SESSION = "7f8d1f0e-8a54-4c4e-9d27-0b5c3c0b8d11";
const ID = "019a9c1e-6b60-7c3e-9a55-2f1d3b7e4c01";
const AT = "2026-11-20T12:00:00.000Z";

const answer = (content: string, more: Partial<Message> = {}): Message => ({
  sender: "agent",
  content,
  id: ID,
  created_at: AT,
  status: "streaming",
  turn: 2,
  ...more,
});
const call = (id: string, offset: number, status: "running" | "complete" = "running") => ({
  id,
  name: "tool",
  arguments: { of: id },
  status,
  text_offset: offset,
});
const result = (id: string, output: string, is_error = false) => ({
  call_id: id,
  name: "tool",
  output,
  is_error,
  duration_ms: 1,
});
const action = (id: string, callId: string, kind: "approval" | "question" = "approval"): PendingAction => {
  const common = { id, tool: "tool", call_id: callId, created_at: AT, expires_at: AT };
  return kind === "approval"
    ? { ...common, kind, request: { tool: "tool", input: {} } }
    : { ...common, kind, request: { question: "Which?", choices: [] } };
};

type Sent = UpdateEvent extends infer Event ? Omit<Event & object, "session_id"> : never;
const updated = (message: Message, type = "message_updated"): Sent => ({ type, message }) as Sent;
const delta = (offset: number, text: string): Sent =>
  ({ type: "message_delta", message_id: ID, offset, text }) as Sent;
const systemEvent = (type: string, payload: object): Sent =>
  ({ type: "system_event", item: { id: "e", type, created_at: AT, payload } }) as Sent;

const START: TurnState = { turn: 2, answers: [], pendingActions: [], isOpen: true, failure: null };

/** Returns the chunks of a stream over these events. */
function follow(events: readonly Sent[], state: Partial<TurnState> = {}, known: KnownAnswer | null = null) {
  const begun = { ...START, ...state };
  const turn = new FollowedTurn(begun, new AnswerChunks(known));
  const chunks = [...turn.begin(begun)];
  for (const event of events) chunks.push(...turn.apply({ session_id: SESSION, ...event } as UpdateEvent));
  return { chunks, isOver: turn.isOver };
}

/** Folds the chunks as `useChat` does. */
async function shown(chunks: readonly UIMessageChunk[], before?: UIMessage): Promise<UIMessage | undefined> {
  let last: UIMessage | undefined;
  const options = before === undefined ? {} : { message: structuredClone(before) };
  for await (const state of readUIMessageStream({ stream: ReadableStream.from(chunks), ...options }))
    last = structuredClone(state);
  return last;
}
const texts = (message: UIMessage | undefined) =>
  message?.parts.flatMap((part) => (part.type === "text" ? [part.text] : []));

const reasoning = (step: number, offset: number, text: string): Sent =>
  ({ type: "reasoning_delta", message_id: ID, step, offset, text }) as Sent;

describe("a followed turn", () => {
  it("streams the messages of a steered turn as one, with a blank line between their texts", () => {
    const { chunks, isOver } = follow([
      updated(answer("One")),
      updated(answer("One", { status: "complete", steps: { from: 1, to: 1 } }), "message_completed"),
      updated(answer("", { id: SESSION, steps: { from: 2 } }), "message_created"),
      { ...delta(0, "Two"), message_id: SESSION } as Sent,
      { ...delta(3, " three"), message_id: SESSION } as Sent,
      updated(
        answer("Two three", { id: SESSION, steps: { from: 2 }, status: "complete" }),
        "message_completed",
      ),
    ]);
    const deltas = chunks.flatMap((chunk) => (chunk.type === "text-delta" ? [chunk.delta] : []));
    expect(deltas).toEqual(["One", "\n\nTwo", " three"]);
    expect(isOver).toBe(true);
  });

  it("streams reasoning as parts before the text, and that of a repeated call as another part", async () => {
    const { chunks } = follow([
      updated(answer(""), "message_created"),
      reasoning(1, 0, "The user "),
      reasoning(1, 9, "greets"),
      reasoning(1, 0, "The user greets me."),
      reasoning(1, 20, "gap"),
      reasoning(1, 0, "Anew."),
      delta(0, "Hello"),
      // Some models think again while they answer.
      reasoning(1, 5, " More."),
      reasoning(2, 0, "Second."),
      updated(answer("Hello", { status: "complete" }), "message_completed"),
    ]);
    const { parts = [] } = (await shown(chunks)) ?? {};
    expect(parts.map((part) => ("text" in part ? `${part.type}: ${part.text}` : part.type))).toEqual([
      "step-start",
      "reasoning: The user greets me.",
      "reasoning: Anew.",
      "text: Hello",
      "reasoning:  More.",
      "reasoning: Second.",
    ]);
    expect(chunks.filter(({ type }) => type === "reasoning-end")).toHaveLength(4);
  });

  it("omits reasoning only of the step in whose text the stream begins", async () => {
    const running = {
      answers: [answer("Two", { tool_calls: [call("a", 0)], tool_results: [result("a", "x")] })],
    };
    const { chunks } = follow(
      [
        reasoning(2, 0, "Thinking of two."),
        delta(3, " three"),
        reasoning(2, 16, " More."),
        updated(answer("Two three", { tool_calls: [call("a", 0), call("b", 9)] })),
        updated(
          answer("Two three", { tool_calls: [call("a", 0), call("b", 9)], tool_results: [result("b", "x")] }),
        ),
        reasoning(3, 0, "Thinking of four."),
        delta(9, "\n\nFour"),
      ],
      running,
    );
    const { parts = [] } = (await shown(chunks)) ?? {};
    expect(parts.map((part) => ("text" in part ? `${part.type}: ${part.text}` : part.type))).toEqual([
      "step-start",
      "dynamic-tool",
      "text: Two three",
      "dynamic-tool",
      "reasoning: Thinking of four.",
      "text: \n\nFour",
    ]);
  });

  it("streams the text of its answer, whether it comes as deltas or whole", () => {
    const { chunks, isOver } = follow([
      updated(answer(""), "message_created"),
      delta(0, "He"),
      delta(2, "llo"),
      updated(answer("Hello, you")),
      updated(answer("Hello, you", { status: "complete" }), "message_completed"),
    ]);
    expect(chunks).toEqual([
      { type: "start", messageId: ID },
      { type: "start-step" },
      { type: "text-start", id: "text-0" },
      { type: "text-delta", id: "text-0", delta: "He" },
      { type: "text-delta", id: "text-0", delta: "llo" },
      { type: "text-delta", id: "text-0", delta: ", you" },
      { type: "text-end", id: "text-0" },
      { type: "finish-step" },
      { type: "finish", finishReason: "stop" },
    ]);
    expect(isOver).toBe(true);
  });

  it("ignores the answers of other turns, deltas after a gap, and everything after its end", () => {
    const { chunks } = follow([
      updated(answer("other", { turn: 1, id: SESSION })),
      updated(answer("Hello")),
      delta(9, "gap"),
      updated(answer("Hello", { status: "complete" })),
      updated(answer("more")),
      systemEvent("error", { message: "late" }),
    ]);
    expect(chunks.filter(({ type }) => type === "text-delta")).toEqual([
      { type: "text-delta", id: "text-0", delta: "Hello" },
    ]);
    expect(chunks.at(-1)).toEqual({ type: "finish", finishReason: "stop" });
  });

  it("drops rejected text, and keeps the calls before it", async () => {
    const done = { tool_calls: [call("a", 5, "complete")], tool_results: [result("a", "A")] };
    const { chunks } = follow([
      updated(answer("First")),
      updated(answer("First", done)),
      delta(5, "\n\nsecond try"),
      updated(answer("First", done)),
      delta(5, "\n\nother"),
      updated(answer("First\n\nother", { ...done, status: "complete" })),
    ]);
    expect(chunks.filter(({ type }) => type === "reset-step")).toHaveLength(1);
    const message = await shown(chunks);
    expect(texts(message)).toEqual(["First", "\n\nother"]);
    expect(message?.parts.filter(({ type }) => type === "dynamic-tool")).toMatchObject([
      { toolCallId: "a", state: "output-available", output: "A" },
    ]);
  });

  it("waits for the other calls of a step before it ends for a person", () => {
    const calls = { tool_calls: [call("a", 0), call("b", 0)] };
    const open = follow([updated(answer("", calls)), systemEvent("action_requested", action("x", "b"))]);
    expect(open.isOver).toBe(false);
    const over = follow([
      updated(answer("", calls)),
      systemEvent("action_requested", action("x", "b")),
      updated(answer("", { ...calls, tool_results: [result("a", "broken", true)] })),
    ]);
    expect(over.chunks.slice(-4)).toEqual([
      { type: "tool-approval-request", approvalId: "x", toolCallId: "b" },
      expect.objectContaining({ type: "tool-output-error", toolCallId: "a", errorText: "broken" }),
      { type: "finish-step" },
      { type: "finish", finishReason: "tool-calls" },
    ]);
  });

  it("leaves a question to the client, and continues with its answer", async () => {
    const asked = follow([
      updated(answer("", { tool_calls: [call("a", 0)] })),
      systemEvent("action_requested", action("x", "a", "question")),
    ]);
    const before = await shown(asked.chunks);
    expect(before?.parts).toMatchObject([
      { type: "step-start" },
      { type: "dynamic-tool", state: "input-available", providerExecuted: false },
      { type: "data-action", id: "x", data: { kind: "question" } },
    ]);
    const known = {
      text: "",
      calls: ["a"],
      outcomes: [],
      approvals: [],
      questions: ["x"],
      ownCalls: ["a"],
      sources: [],
    };
    const state = { answers: [answer("", { tool_calls: [call("a", 0)] })], pendingActions: [] };
    const done = answer("Tea it is", {
      status: "complete",
      tool_calls: [call("a", 0, "complete")],
      tool_results: [result("a", "Tea")],
    });
    const { chunks } = follow([updated(done)], state, known);
    const after = await shown(chunks, before);
    expect(after?.parts).toMatchObject([
      { type: "step-start" },
      { type: "dynamic-tool", state: "output-available", output: "Tea", providerExecuted: true },
      { type: "data-action", id: "x", data: null },
      { type: "text", text: "Tea it is" },
    ]);
  });

  it("ends with the reason of a failure, which follows the answer or is known", () => {
    const failed = answer("Hel", { status: "failed" });
    const open = follow([updated(failed)]);
    expect(open.isOver).toBe(false);
    const { chunks } = follow([updated(failed), systemEvent("error", { message: "Out of luck." })]);
    expect(chunks.at(-1)).toEqual({ type: "error", errorText: "Out of luck." });
    const late = follow([], { answers: [failed], isOpen: false, failure: "Known." });
    expect(late.chunks.at(-1)).toEqual({ type: "error", errorText: "Known." });
    const without = follow([], { answers: [failed], isOpen: false });
    expect(without.chunks.at(-1)).toEqual({
      type: "error",
      errorText: "The assistant could not finish this answer.",
    });
  });

  it("ends as interrupted with its answer, with its question, or with the session", () => {
    const question = { ...answer("hello"), sender: "user", id: SESSION } as const;
    for (const events of [
      [updated(answer("Hel")), updated(answer("Hel", { status: "interrupted" }))],
      [updated({ ...question, status: "interrupted" })],
      [{ type: "state_changed", status: "idle", model: "m", app: "a", user_state: null } as Sent],
    ]) {
      expect(follow(events).chunks.slice(-2)).toEqual([
        { type: "abort" },
        { type: "finish", finishReason: "interrupted" },
      ]);
    }
    const other = follow([updated({ ...question, turn: 1, status: "interrupted" })]);
    expect(other.isOver).toBe(false);
  });

  it("ends with the service's last notice of a stream", () => {
    const notice = (code: string): Sent =>
      ({ type: "system_notice", level: "error", message: "Gone.", code }) as Sent;
    expect(follow([notice("answer_cut")]).isOver).toBe(false);
    for (const code of ["session_deleted", "session_not_found", "app_key_invalid", "user_token_expired"])
      expect(follow([notice(code)]).chunks).toEqual([{ type: "error", errorText: "Gone." }]);
  });

  it("sends each source of the answer once, and again after a reset", async () => {
    const sources = [{ id: "1", url: "https://example.com/", title: "One" }];
    const more = [...sources, { id: "2", url: "https://example.com/2" }];
    const { chunks } = follow([
      updated(answer("Hel", { sources })),
      updated(answer("Hello", { sources: more })),
      updated(answer("Other", { sources: more, status: "complete" })),
    ]);
    const ids = chunks.flatMap((chunk) => (chunk.type === "source-url" ? [chunk.sourceId] : []));
    expect(ids).toEqual(["1", "2", "1", "2"]);
    const message = await shown(chunks);
    expect(message?.parts.filter(({ type }) => type === "source-url")).toMatchObject([
      { sourceId: "1", url: "https://example.com/", title: "One" },
      { sourceId: "2", url: "https://example.com/2" },
    ]);
  });

  it("follows the next answer if it does not know its turn", () => {
    const question = { ...answer("hello"), sender: "user", id: SESSION, status: "interrupted" } as const;
    const { chunks } = follow([updated(question), updated(answer("Hi", { status: "complete" }))], {
      turn: null,
    });
    expect(chunks.at(-1)).toEqual({ type: "finish", finishReason: "stop" });
  });
});
