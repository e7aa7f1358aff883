import type { PersistedMessage } from "@colloquy/protocol";
import { describe, expect, it } from "vitest";
import { readAnswer, toUIMessage } from "./ui-message.ts";

const RECORD: PersistedMessage = {
  id: "019a9c1e-6b60-7c3e-9a55-2f1d3b7e4c01",
  session_id: "7f8d1f0e-8a54-4c4e-9d27-0b5c3c0b8d11",
  thread_id: "7f8d1f0e-8a54-4c4e-9d27-0b5c3c0b8d11",
  role: "assistant",
  content: "Before after",
  tool_calls: [
    { id: "a", name: "one", arguments: { x: 1 }, status: "complete", text_offset: 6 },
    { id: "b", name: "two", arguments: {}, status: "failed", text_offset: 6 },
    { id: "c", name: "three", arguments: {}, status: "interrupted", text_offset: 6 },
  ],
  tool_results: [
    { call_id: "a", name: "one", output: { y: 2 }, is_error: false, duration_ms: 1 },
    { call_id: "b", name: "two", output: { code: 7 }, is_error: true, duration_ms: 1 },
  ],
  created_at: "2026-11-20T12:00:00.000Z",
  turn: 1,
};

describe("a stored message", () => {
  it("becomes parts in their order, with the outcome of each call", () => {
    const sources = [{ id: "1", url: "https://example.com/" }];
    expect(toUIMessage({ ...RECORD, sources }).parts).toMatchObject([
      { type: "step-start" },
      { type: "text", text: "Before" },
      { toolName: "one", state: "output-available", input: { x: 1 }, output: { y: 2 } },
      { toolName: "two", state: "output-error", errorText: '{"code":7}' },
      { toolName: "three", state: "output-error", errorText: "The call was interrupted." },
      { type: "text", text: " after" },
      { type: "source-url", sourceId: "1" },
    ]);
  });

  it("has the files of a result after its call", () => {
    const id = "019a9c1e-6b60-7c3e-9a55-2f1d3b7e4c02";
    const attachments = [{ id, media_type: "image/png", bytes: 1, sha256: "", name: "chart.png" }];
    const [one, ...others] = RECORD.tool_results ?? [];
    const record = { ...RECORD, tool_results: [{ ...one!, attachments }, ...others] };
    expect(toUIMessage(record).parts.slice(2, 5)).toMatchObject([
      { toolName: "one" },
      { type: "file", mediaType: "image/png", filename: "chart.png", url: `/api/files/${id}` },
      { toolName: "two" },
    ]);
    expect(readAnswer(toUIMessage(record).parts)).toEqual(readAnswer(toUIMessage(RECORD).parts));
  });

  it("has only its text if it is the user's", () => {
    const record = { ...RECORD, role: "user", tool_calls: null, tool_results: null } as const;
    expect(toUIMessage(record)).toEqual({
      id: RECORD.id,
      role: "user",
      parts: [{ type: "text", text: "Before after", state: "done" }],
    });
  });

  it("is read as the client's state, without answers", () => {
    expect(readAnswer(toUIMessage(RECORD).parts)).toEqual({
      known: {
        text: "Before after",
        calls: ["a", "b", "c"],
        outcomes: ["a", "b", "c"],
        approvals: [],
        questions: [],
        ownCalls: [],
        sources: [],
      },
      answers: [],
    });
  });
});

describe("an approval of the page", () => {
  const answersOf = (approval: unknown) =>
    readAnswer([{ type: "tool-pay", toolCallId: "a", state: "approval-responded", approval }]).answers;

  it("decides the action that it names", () => {
    expect(answersOf({ id: "x", approved: true })).toEqual([{ approvalId: "x", approved: true }]);
    expect(answersOf({ id: "x", approved: false })).toEqual([{ approvalId: "x", approved: false }]);
  });

  it.each([
    { id: "x" },
    { id: "x", approved: "true" },
    { id: "x", approved: null },
    { approved: true },
    null,
  ])("decides nothing if it is %j", (approval) => {
    expect(answersOf(approval)).toEqual([]);
  });
});
