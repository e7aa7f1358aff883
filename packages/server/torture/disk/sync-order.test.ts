import { describe, expect, it } from "vitest";
import { findUnsynced } from "./sync-order.ts";
import type { Happening } from "./system-calls.ts";

const WAL = "/data/a.db-wal";
const RECEIVED: Happening = { kind: "received", data: Buffer.from("POST /api/chat?message=m1 HTTP/1.1") };
const WRITTEN: Happening = { kind: "write", path: WAL, offset: 0, data: Buffer.from("...m1...") };
const BEGINS: Happening = { kind: "sync begins", path: WAL, thread: "1" };
const ENDS: Happening = { kind: "sync ends", path: WAL, thread: "1" };
const SENT: Happening = { kind: "sent", data: Buffer.from('HTTP/1.1 200 OK {"content":"m1"}') };

function check(...happenings: Happening[]): string[] {
  return findUnsynced({ happenings, messages: [{ sessionId: "s", text: "m1" }] });
}

describe("an acknowledged message", () => {
  it("is safe when the log was written, then synced, then the answer sent", () => {
    expect(check(RECEIVED, WRITTEN, BEGINS, ENDS, SENT)).toEqual([]);
  });

  it("is not when the answer came before the write", () => {
    expect(check(RECEIVED, SENT, WRITTEN, BEGINS, ENDS)).toEqual([
      expect.stringContaining("before it was written"),
    ]);
  });

  it.each([
    ["never came", [WRITTEN]],
    ["had begun before the write", [BEGINS, WRITTEN, ENDS]],
    ["had not ended", [WRITTEN, BEGINS]],
    ["was of another file", [WRITTEN, { ...BEGINS, path: "/data/a.db" }, { ...ENDS, path: "/data/a.db" }]],
  ])("is not when the sync %s", (_what, between) => {
    expect(check(RECEIVED, ...between, SENT)).toEqual([expect.stringContaining("before the log was synced")]);
  });

  it("must be found in the log of system calls at all", () => {
    expect(() => check(WRITTEN)).toThrow("does not show the answer");
  });
});
