import { describe, expect, it } from "vitest";
import { findUnsynced } from "./sync-order.ts";
import type { SystemCallEvent } from "./system-calls.ts";

const WAL = "/data/a.db-wal";
const RECEIVED: SystemCallEvent = {
  kind: "received",
  data: Buffer.from("POST /api/chat?message=m1 HTTP/1.1"),
};
const WRITTEN: SystemCallEvent = { kind: "write", path: WAL, offset: 0, data: Buffer.from("...m1...") };
const BEGINS: SystemCallEvent = { kind: "sync begins", path: WAL, thread: "1" };
const ENDS: SystemCallEvent = { kind: "sync ends", path: WAL, thread: "1" };
const SENT: SystemCallEvent = { kind: "sent", data: Buffer.from('HTTP/1.1 200 OK {"content":"m1"}') };

function check(...events: SystemCallEvent[]): string[] {
  return findUnsynced({ events, messages: [{ sessionId: "s", text: "m1" }] });
}

describe("findUnsynced", () => {
  it("accepts a log write, its sync, then the answer", () => {
    expect(check(RECEIVED, WRITTEN, BEGINS, ENDS, SENT)).toEqual([]);
  });

  it("reports an answer before the write", () => {
    expect(check(RECEIVED, SENT, WRITTEN, BEGINS, ENDS)).toEqual([
      expect.stringContaining("before it was written"),
    ]);
  });

  it.each([
    ["never came", [WRITTEN]],
    ["had begun before the write", [BEGINS, WRITTEN, ENDS]],
    ["had not ended", [WRITTEN, BEGINS]],
    ["was of another file", [WRITTEN, { ...BEGINS, path: "/data/a.db" }, { ...ENDS, path: "/data/a.db" }]],
  ])("reports an answer if the sync %s", (_what, between) => {
    expect(check(RECEIVED, ...between, SENT)).toEqual([expect.stringContaining("before the log was synced")]);
  });

  it("throws if the message is not in the trace", () => {
    expect(() => check(WRITTEN)).toThrow("does not contain the answer");
  });
});
