import { createHash } from "node:crypto";
import type { Message, PendingAction, Snapshot as WireSnapshot, SystemEvent } from "@colloquy/protocol";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Snapshot, type SnapshotFields } from "./snapshot.ts";

const FIELDS: SnapshotFields = {
  sessionId: "8f14e45f-ceea-467f-a0e6-b6f3c6a7d111",
  incarnation: "abc",
  title: "New Chat",
  status: "idle",
  model: "demo/assistant",
  app: "default",
  userState: null,
  head: 0,
};
const text = (snapshot: Snapshot): string => Buffer.concat(snapshot.view().parts).toString();

function message(n: number, status: Message["status"], content = `message ${n} – ü 👍`): Message {
  return { sender: "user", content, id: `id-${n}`, created_at: "2026-01-01T00:00:00.000Z", status };
}

describe("snapshot bytes", () => {
  it("are the same whether messages were added one by one or loaded at once", () => {
    fc.assert(
      fc.property(
        fc.array(fc.constantFrom("add", "add", "finish", "finish", "view", "remove"), { maxLength: 300 }),
        (steps) => {
          const grown = new Snapshot(FIELDS);
          const messages: Message[] = [];
          for (const step of steps) {
            if (step === "view") grown.view();
            else if (step === "remove") {
              // Often of one in a chunk.
              const at = Math.max(0, messages.length - 40);
              const [first] = messages.splice(at);
              expect(grown.removeFrom(`id-${at}`)).toBe(first !== undefined);
            } else if (step === "add") {
              messages.push(message(messages.length, "streaming"));
              grown.addMessage(messages.at(-1)!);
            } else {
              const open = messages.findIndex(({ status }) => status === "streaming");
              if (open < 0) continue;
              messages[open] = message(open, "complete", `finished ${open}`);
              expect(grown.replaceMessage(messages[open])).toBe(true);
            }
          }
          const atOnce = new Snapshot(FIELDS);
          for (const one of messages) atOnce.addMessage(one);
          expect(text(grown)).toBe(text(atOnce));
          expect(grown.view().etag).toBe(atOnce.view().etag);
          expect(JSON.parse(text(grown)).messages).toEqual(messages);
          expect(grown.view().length).toBe(Buffer.byteLength(text(grown)));
        },
      ),
      { numRuns: 60 },
    );
  });

  it.each([1, 100])("share no memory with other objects (%i messages)", (count) => {
    const snapshot = new Snapshot(FIELDS);
    for (let n = 0; n < count; n += 1) snapshot.addMessage(message(n, "complete", "x".repeat(200)));
    const { parts } = snapshot.view();
    // The first of several parts is the opening, which all snapshots share.
    for (const part of count === 1 ? parts : parts.slice(1)) {
      expect(part.buffer.byteLength).toBe(part.byteLength);
    }
  });

  it("omit an empty streaming answer after any number of messages", () => {
    for (const count of [1, 31, 32, 33, 64, 65]) {
      const snapshot = new Snapshot(FIELDS);
      const before = Array.from({ length: count }, (_, n) => message(n, "complete"));
      for (const one of before) snapshot.addMessage(one);
      const answer = { ...message(count, "streaming", ""), sender: "agent" } as const;
      snapshot.addMessage(answer);
      expect(JSON.parse(text(snapshot)).messages).toEqual(before);
      expect(snapshot.streaming()).toEqual({ message: answer, index: count });
      const call = { id: "c", name: "n", arguments: {}, status: "running" } as const;
      for (const shown of [
        { ...answer, content: "W" },
        { ...answer, tool_calls: [call] },
        { ...answer, status: "complete" } as const,
      ]) {
        snapshot.replaceMessage(shown);
        expect(JSON.parse(text(snapshot)).messages).toEqual([...before, shown]);
      }
    }
  });

  it("have their digest as entity tag", () => {
    const snapshot = new Snapshot(FIELDS);
    for (let n = 0; n < 100; n += 1) snapshot.addMessage(message(n, "complete"));
    const digest = createHash("sha256").update(text(snapshot)).digest("base64url").slice(0, 27);
    expect(snapshot.view().etag).toBe(`"${digest}"`);
  });

  it("are reused until a change, and share the chunks after it", () => {
    const snapshot = new Snapshot(FIELDS);
    for (let n = 0; n < 200; n += 1) snapshot.addMessage(message(n, "complete", "x".repeat(500)));
    const before = snapshot.view();
    expect(snapshot.view()).toBe(before);
    snapshot.set({ title: "Other", head: 1 });
    const after = snapshot.view();
    expect(after.etag).not.toBe(before.etag);
    expect(after.parts[1]).toBe(before.parts[1]);
  });

  it("show the last hundred system events, oldest first", () => {
    const snapshot = new Snapshot(FIELDS);
    const item = (n: number): SystemEvent => ({
      id: `abc-${n}`,
      type: "notice",
      created_at: "2026-01-01T00:00:00.000Z",
      payload: {},
    });
    for (let n = 1; n <= 130; n += 1) snapshot.addSystemEvent(item(n));
    const shown = JSON.parse(text(snapshot)).system_events as SystemEvent[];
    expect(shown.map(({ id }) => id)).toEqual(Array.from({ length: 100 }, (_, index) => `abc-${index + 31}`));
  });

  it("reject a change of a message in a chunk", () => {
    const snapshot = new Snapshot(FIELDS);
    for (let n = 0; n < 100; n += 1) snapshot.addMessage(message(n, "complete"));
    snapshot.view();
    expect(snapshot.replaceMessage(message(0, "complete", "other"))).toBe(false);
  });

  it("have a weight close to their real size, with tools, in chunks or not", () => {
    const output = "x".repeat(50_000);
    const calls = [{ id: "c", name: "n", arguments: { input: output }, status: "complete" as const }];
    const results = [{ call_id: "c", name: "n", output, is_error: false, duration_ms: 1 }];
    const snapshot = new Snapshot(FIELDS);
    for (let n = 0; n < 40; n += 1) {
      snapshot.addMessage({ ...message(n, "complete"), tool_calls: calls, tool_results: results });
    }
    const loose = snapshot.weight;
    const bytes = snapshot.view().length;
    expect(loose).toBeGreaterThan(bytes);
    expect(loose).toBeLessThan(2.5 * bytes);
    expect(snapshot.weight).toBeGreaterThan(bytes);
    snapshot.addMessage(message(40, "streaming"));
    const before = snapshot.weight;
    snapshot.replaceMessage({ ...message(40, "complete"), tool_calls: calls, tool_results: results });
    expect(snapshot.weight - before).toBeGreaterThan(150_000);
  });

  it("shows pending actions, oldest first, and counts their weight", () => {
    const snapshot = new Snapshot(FIELDS);
    const before = snapshot.weight;
    const ask = (id: string): PendingAction => ({
      id,
      kind: "approval",
      tool: "t",
      call_id: "c",
      created_at: "2026-01-01T00:00:00.000Z",
      expires_at: "2026-01-01T00:10:00.000Z",
      request: { tool: "t", input: "x".repeat(10_000) },
    });
    const pending = () => (JSON.parse(text(snapshot)) as WireSnapshot).pending_actions;
    expect(pending()).toEqual([]);
    for (const id of ["b", "a"]) snapshot.addPendingAction(ask(id));
    expect(pending()).toEqual([ask("b"), ask("a")]);
    expect(snapshot.weight - before).toBeGreaterThan(20_000);
    snapshot.removePendingAction("b");
    expect(pending()).toEqual([ask("a")]);
  });
});
