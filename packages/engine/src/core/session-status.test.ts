import type { SessionStatus } from "@colloquy/protocol";
import { describe, expect, it } from "vitest";
import { nextStatus, type SessionTrigger } from "./session.ts";

type Row = readonly [SessionStatus, SessionTrigger, SessionStatus | "impossible"];

/** The table of contract section 3, cell by cell. */
const TABLE: readonly Row[] = [
  ["idle", "chat", "processing"],
  ["idle", "turn_ended_queue_empty", "impossible"],
  ["idle", "turn_ended_queue_not_empty", "impossible"],
  ["idle", "interrupt", "idle"],
  ["processing", "chat", "processing"],
  ["processing", "turn_ended_queue_empty", "idle"],
  ["processing", "turn_ended_queue_not_empty", "processing"],
  ["processing", "interrupt", "interrupted"],
  ["interrupted", "chat", "processing"],
  ["interrupted", "turn_ended_queue_empty", "impossible"],
  ["interrupted", "turn_ended_queue_not_empty", "impossible"],
  ["interrupted", "interrupt", "interrupted"],
];

describe("the status of a session", () => {
  it.each(TABLE)("is %s on %s: %s", (status, trigger, next) => {
    if (next === "impossible")
      expect(() => nextStatus(status, trigger)).toThrow(`A session that is ${status}`);
    else expect(nextStatus(status, trigger)).toBe(next);
  });
});
