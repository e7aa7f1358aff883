import { Message, PersistedMessage } from "@colloquy/protocol";
import { describe, expect, it } from "vitest";
import {
  ANSWER_FILE_BYTES,
  ANSWER_FILES,
  isUncertain,
  joinStepText,
  needsIntent,
  openCalls,
  OutputBudget,
  toPersistedMessage,
  toWireMessage,
  type MessageRecord,
  type ToolCallRecord,
} from "./message.ts";

const SESSION = "12345678-1234-1234-1234-123456789abc";
const CALL: ToolCallRecord = {
  id: "c1",
  name: "calculator",
  arguments: { expression: "1" },
  status: "complete",
  effect: "read",
  step: 1,
};
const RESULT = { call_id: "c1", name: "calculator", output: "1", is_error: false, duration_ms: 3 };
const MESSAGE: MessageRecord = {
  position: 2,
  id: "8f14e45f-ceea-467f-a0e6-b6f3c6a7d111",
  turn: 1,
  role: "assistant",
  content: "one",
  status: "complete",
  toolCalls: [CALL],
  toolResults: [RESULT],
  createdAt: Date.UTC(2026, 0, 1),
};

describe("a message in a snapshot", () => {
  it("omits the fields of calls that only recovery needs", () => {
    const wire = toWireMessage(MESSAGE);
    expect(wire).toEqual({
      sender: "agent",
      content: "one",
      id: MESSAGE.id,
      created_at: "2026-01-01T00:00:00.000Z",
      status: "complete",
      turn: MESSAGE.turn,
      tool_calls: [{ id: "c1", name: "calculator", arguments: { expression: "1" }, status: "complete" }],
      tool_results: [RESULT],
    });
    expect(Message.strict().parse(wire)).toEqual(wire);
  });

  it("contains the text offset of a call if it was recorded", () => {
    const wire = toWireMessage({ ...MESSAGE, toolCalls: [{ ...CALL, text_offset: 0 }, CALL] });
    expect(wire.tool_calls?.map(({ text_offset: offset }) => offset)).toEqual([0, undefined]);
    expect(Message.strict().parse(wire)).toEqual(wire);
  });

  it("omits empty calls and results", () => {
    const wire = toWireMessage({ ...MESSAGE, role: "user", toolCalls: [], toolResults: [] });
    expect(wire.sender).toBe("user");
    expect(Object.keys(wire)).toEqual(["sender", "content", "id", "created_at", "status", "turn"]);
  });
});

describe("a persisted message", () => {
  it("has exactly the eight specified fields, and its turn", () => {
    const record = toPersistedMessage(SESSION, MESSAGE);
    expect(Object.keys(record)).toEqual([
      "id",
      "session_id",
      "thread_id",
      "role",
      "content",
      "tool_calls",
      "tool_results",
      "created_at",
      "turn",
    ]);
    expect(record).toMatchObject({ session_id: SESSION, thread_id: SESSION, role: "assistant" });
    expect(PersistedMessage.strict().parse(record)).toEqual(record);
    const bare = toPersistedMessage(SESSION, { ...MESSAGE, toolCalls: [], toolResults: [] });
    expect(bare).toMatchObject({ tool_calls: null, tool_results: null });
  });
});

describe("calls without a result", () => {
  it("are open", () => {
    const open = { ...CALL, id: "c2" };
    expect(openCalls({ ...MESSAGE, toolCalls: [CALL, open] })).toEqual([open]);
  });
});

describe("an unsafe call without a result", () => {
  it.each([
    [undefined, true, false],
    ["asked", false, false],
    ["allowed", false, true],
    ["approved", false, true],
    ["started", true, false],
  ] as const)(
    "is classified by its phase %s: uncertain outcome %s, start must be recorded %s",
    (phase, uncertain, needs) => {
      const unsafe: ToolCallRecord = { ...CALL, effect: "unsafe", ...(phase !== undefined && { phase }) };
      expect([isUncertain(unsafe), needsIntent(unsafe)]).toEqual([uncertain, needs]);
      for (const effect of ["read", "idempotent"] as const) {
        expect([isUncertain({ ...unsafe, effect }), needsIntent({ ...unsafe, effect })]).toEqual([
          false,
          false,
        ]);
      }
    },
  );
});

describe("the text of steps", () => {
  it("is separated by a blank line, except around empty steps", () => {
    expect(joinStepText("one", "two")).toBe("one\n\ntwo");
    expect(joinStepText("", "two")).toBe("two");
    expect(joinStepText("one", "")).toBe("one");
  });
});

describe("the files of an answer", () => {
  const result = (bytes: number) => ({
    call_id: "a",
    name: "draw",
    output: null,
    is_error: false,
    duration_ms: 1,
    attachments: [{ id: "f", media_type: "image/png", bytes, sha256: "a", name: "a.png" }],
  });

  it("are limited in number and bytes, with those of results before a crash", () => {
    const many = new OutputBudget({ toolResults: Array.from({ length: ANSWER_FILES - 1 }, () => result(1)) });
    expect([many.takeFile(1), many.takeFile(1)]).toEqual([true, false]);
    many.giveBackFile(1);
    expect(many.takeFile(1)).toBe(true);
    const large = new OutputBudget({ toolResults: [result(ANSWER_FILE_BYTES - 5)] });
    expect([large.takeFile(6), large.takeFile(5), large.takeFile(1)]).toEqual([false, true, false]);
  });
});
