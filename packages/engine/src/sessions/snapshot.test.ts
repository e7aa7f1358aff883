import { createHash } from "node:crypto";
import type { Message, PendingAction, Snapshot as WireSnapshot, SystemEvent } from "@colloquy/protocol";
import fc from "fast-check";
import { describe, expect, it, vi } from "vitest";
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
        fc.array(
          fc.constantFrom(
            "add",
            "add",
            "finish",
            "finish",
            "finish all",
            "change",
            "reset",
            "view",
            "remove",
            "remove last",
          ),
          { maxLength: 300 },
        ),
        (steps) => {
          const grown = new Snapshot(FIELDS);
          const messages: Message[] = [];
          for (const step of steps) {
            if (step === "view") grown.view();
            else if (step === "change") {
              const at = messages.length >> 1;
              if (messages[at]?.status !== "complete") continue;
              messages[at] = { ...messages[at], content: `${messages[at].content}!` };
              expect(grown.replaceMessage(messages[at])).toBe(true);
            } else if (step === "remove" || step === "remove last") {
              // Often of one in a chunk.
              const at = Math.max(0, messages.length - (step === "remove" ? 40 : 1));
              const [first] = messages.splice(at);
              expect(grown.removeFrom(`id-${at}`)).toBe(first !== undefined);
            } else if (step === "add") {
              messages.push({ ...message(messages.length, "streaming"), sender: "agent" });
              grown.addMessage(messages.at(-1)!);
            } else if (step === "reset") {
              const open = messages.findLastIndex(({ status }) => status === "streaming");
              if (open < 0) continue;
              messages[open] = { ...messages[open]!, content: "" };
              grown.replaceMessage(messages[open]);
            } else if (step === "finish all") {
              for (const [at, { status }] of messages.entries()) {
                if (status !== "streaming") continue;
                messages[at] = message(at, "complete", `finished ${at}`);
                grown.replaceMessage(messages[at]);
              }
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
          const shown = messages.filter(({ sender, content }) => sender === "user" || content !== "");
          expect(JSON.parse(text(grown)).messages).toEqual(shown);
          expect(grown.view().length).toBe(Buffer.byteLength(text(grown)));
        },
      ),
      { numRuns: 60 },
    );
  });

  it("contain only the requested range of messages", () => {
    const step = fc.constantFrom("add", "add", "hide", "finish", "finish", "view", "change", "remove");
    fc.assert(
      fc.property(
        fc.array(step, { maxLength: 300 }),
        fc.nat(120),
        fc.nat(300),
        fc.boolean(),
        (steps, last, at, ofEnd) => {
          const snapshot = new Snapshot(FIELDS);
          const messages: Message[] = [];
          // A message id in a call or a text must not be mistaken for the message.
          const call = {
            id: `id-${at}`,
            name: "n",
            arguments: { id: `id-${at}` },
            status: "complete" as const,
          };
          for (const step of steps) {
            const n = messages.length;
            if (step === "view") snapshot.view();
            else if (step === "remove") {
              const from = Math.max(0, n - 40);
              messages.splice(from);
              snapshot.removeFrom(`id-${from}`);
            } else if (step === "finish") {
              const open = messages.findIndex(({ status }) => status === "streaming");
              if (open < 0) continue;
              messages[open] = { ...message(open, "complete", `"id":"id-${at}"`), tool_calls: [call] };
              snapshot.replaceMessage(messages[open]);
            } else {
              const hidden = { ...message(n, "streaming", ""), sender: "agent" as const };
              messages.push(step === "hide" ? hidden : message(n, "streaming"));
              snapshot.addMessage(messages.at(-1)!);
            }
          }
          const isShown = ({ content, sender }: Message): boolean => sender === "user" || content !== "";
          const before = ofEnd ? null : (messages[at]?.id ?? "unknown");
          if (before === "unknown") {
            expect(() => snapshot.view({ last, before })).toThrow("before");
            return;
          }
          const shown = messages.flatMap((one, index) => (isShown(one) ? [index] : []));
          const open = messages.findIndex(({ status }) => status === "streaming");
          const newest = last === 0 ? messages.length : (shown.at(-last) ?? 0);
          const end = before === null ? messages.length : at;
          const start =
            before !== null
              ? Math.max(0, at - last)
              : Math.min(newest, open < 0 ? messages.length : open, shown.length > last ? Infinity : 0);
          const view = snapshot.view({ last, before });
          const bytes = Buffer.concat(view.parts);
          const { messages: all, ...rest } = JSON.parse(text(snapshot)) as WireSnapshot;
          expect(all).toEqual(messages.filter(isShown));
          expect(JSON.parse(bytes.toString())).toEqual({
            messages: messages.slice(start, end).filter(isShown),
            ...rest,
            messages_before: start,
          });
          expect(view.length).toBe(bytes.length);
          expect(view.etag).toBe(`"${createHash("sha256").update(bytes).digest("base64url").slice(0, 27)}"`);
        },
      ),
      { numRuns: 300 },
    );
  });

  it("are cached for the latest messages until a change", () => {
    const snapshot = new Snapshot(FIELDS);
    for (let n = 0; n < 100; n += 1) snapshot.addMessage(message(n, "complete"));
    const before = snapshot.view({ last: 50, before: null });
    expect(snapshot.view({ last: 50, before: null })).toBe(before);
    expect(snapshot.view({ last: 40, before: null }).length).toBeLessThan(before.length);
    snapshot.set({ title: "Other" });
    expect(Buffer.concat(snapshot.view({ last: 50, before: null }).parts).toString()).toContain("Other");
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

  it("change with a message in a chunk, but not with an unknown message", () => {
    const snapshot = new Snapshot(FIELDS);
    for (let n = 0; n < 100; n += 1) snapshot.addMessage(message(n, "complete"));
    const before = JSON.parse(text(snapshot)) as WireSnapshot;
    expect(snapshot.replaceMessage(message(100, "complete"))).toBe(false);
    expect(JSON.parse(text(snapshot))).toEqual(before);
    expect(snapshot.replaceMessage(message(0, "complete", "other"))).toBe(true);
    const messages = before.messages.with(0, message(0, "complete", "other"));
    expect(JSON.parse(text(snapshot))).toEqual({ ...before, messages });
  });

  it.each(["reset", "remove"])("stay valid JSON without a message outside the chunks (%s)", (how) => {
    const snapshot = new Snapshot(FIELDS);
    const answer = { ...message(1, "streaming"), sender: "agent" as const };
    snapshot.addMessage(message(0, "complete"));
    snapshot.addMessage(answer);
    snapshot.view();
    if (how === "remove") snapshot.removeFrom(answer.id);
    else snapshot.replaceMessage({ ...answer, content: "" });
    const before = new Snapshot(FIELDS);
    before.addMessage(message(0, "complete"));
    expect(text(snapshot)).toBe(text(before));
    expect(snapshot.view().etag).toBe(before.view().etag);
    snapshot.replaceMessage({ ...answer, content: "Again" });
    expect(JSON.parse(text(snapshot)).messages).toHaveLength(how === "reset" ? 2 : 1);
  });

  it("find a message without parsing any other more than once", () => {
    const snapshot = new Snapshot(FIELDS);
    const wanted = message(1_000, "complete").id;
    const call = {
      id: "c",
      name: "n",
      arguments: { ids: Array.from({ length: 1_000 }, () => ({ id: wanted })) },
      status: "complete" as const,
    };
    for (let n = 0; n < 5; n += 1) snapshot.addMessage({ ...message(n, "complete"), tool_calls: [call] });
    snapshot.view();
    const parse = vi.spyOn(JSON, "parse");
    expect(() => snapshot.view({ last: 1, before: wanted })).toThrow("before");
    expect(parse).toHaveBeenCalledTimes(4);
    parse.mockRestore();
  });

  it("hold the only copy of final messages", () => {
    const snapshot = new Snapshot(FIELDS);
    const weight = () => snapshot.weight / snapshot.view().length;
    for (let n = 0; n < 20; n += 1) snapshot.addMessage(message(n, "complete", "x".repeat(300)));
    expect(weight()).toBeGreaterThan(2);
    expect(weight()).toBeLessThan(1.3);
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
