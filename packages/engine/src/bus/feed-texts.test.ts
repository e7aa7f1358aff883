import type { Message } from "@colloquy/protocol";
import { beforeEach, describe, expect, it } from "vitest";
import { RecordingSink, until } from "../../../server/test/service.ts";
import { FOR_ANYBODY } from "../../../server/test/stream-access.ts";
import type { LoadedSession, StreamPosition } from "../core/ports/driven/event-hub.ts";
import { bareFeed } from "./testing/bare-feed.ts";

/** An answer that streams on another node, before and after its tool call ended. */
const BEFORE = answer("call running");
const AFTER = answer("call complete");

let bare: ReturnType<typeof bareFeed>;

beforeEach(() => {
  bare = bareFeed();
  Object.assign(bare.log, { incarnation: "a", head: 2 });
});

function answer(content: string): Message {
  return { id: "m", sender: "agent", content, status: "streaming", created_at: "2026-01-01T00:00:00.000Z" };
}

async function positionAt(head: number, message: Message): Promise<StreamPosition> {
  const streaming = { messageId: message.id, text: message.content, answer: { message, index: 1 } };
  return { ...(await bare.where()), head, epoch: 1, streaming };
}

async function open(lastEventId: string | null = null): Promise<RecordingSink> {
  const sink = new RecordingSink();
  const include = new Set(["messages"] as const);
  await bare.feed.open({ sessionId: "s", access: FOR_ANYBODY, include, lastEventId }, sink, null);
  await new Promise((resolve) => setImmediate(resolve));
  return sink;
}

function announce(number: number, message: Message): void {
  bare.log.head = Math.max(bare.log.head, number);
  const events = [{ number, event: { type: "message_updated", message, index: 1 } as const }];
  bare.hub.publish("s", { kind: "events", incarnation: "a", epoch: 1, events });
}

describe("text that streams on another node", () => {
  it("is read again before it is sent if an event was missed", async () => {
    // The log is one event ahead, so the stream waits with the text until an event is announced.
    bare.position.answer = () => positionAt(2, BEFORE);
    bare.log.head = 3;
    const sink = await open("a-1");
    bare.position.answer = () => positionAt(4, AFTER);
    bare.commit("s", "a", 4, 4);
    await until(() => sink.text.includes(AFTER.content));
    expect(sink.text).not.toContain(BEFORE.content);
    bare.feed.stop();
  });

  it("waits for missed text before it, also if this process published both", async () => {
    bare.position.answer = () => positionAt(2, BEFORE);
    const sink = await open();
    const { promise, resolve } = Promise.withResolvers<StreamPosition>();
    bare.position.answer = () => promise;
    bare.commit("s", "a", 4, 4);
    await new Promise((done) => setImmediate(done));
    const delta = { kind: "delta", incarnation: "a", epoch: 1, messageId: "m", text: ", and more" } as const;
    bare.hub.publish("s", { ...delta, offset: AFTER.content.length });
    expect(sink.text).not.toContain(delta.text);
    resolve(await positionAt(4, AFTER));
    await until(() => sink.text.includes(AFTER.content + delta.text));
    bare.feed.stop();
  });

  it("is not followed by text of an earlier epoch, also if this process published it", async () => {
    bare.position.answer = async () => ({ ...(await positionAt(2, AFTER)), epoch: 2 });
    const sink = await open();
    const delta = { kind: "delta", incarnation: "a", epoch: 1, messageId: "m" } as const;
    bare.hub.publish("s", { ...delta, offset: BEFORE.content.length, text: "superseded" });
    expect(sink.text).not.toContain("superseded");
    bare.feed.stop();
  });

  it("stays when a node that was paused announces an event that was read before", async () => {
    bare.position.answer = () => positionAt(2, AFTER);
    await open();
    announce(2, BEFORE);
    // The position of the next stream is read before event 3.
    bare.commit("s", "a", 3, 3);
    const sink = await open();
    expect(sink.text).toContain(AFTER.content);
    expect(sink.text).not.toContain(BEFORE.content);
    bare.feed.stop();
  });

  it("stays when a session is loaded that lacks announced events", async () => {
    bare.position.answer = () => positionAt(2, BEFORE);
    await open();
    announce(3, AFTER);
    const { streaming } = await positionAt(2, BEFORE);
    const loaded = { id: "s", incarnation: "a", app: "default", head: 2, epoch: 1 } as LoadedSession;
    bare.hub.answerLoaded(loaded, streaming!);
    const sink = await open();
    expect(sink.text).toContain(AFTER.content);
    expect(sink.text).not.toContain(BEFORE.content);
    bare.feed.stop();
  });
});

describe("reasoning that streamed on another node", () => {
  const include = new Set(["messages", "reasoning"] as const);

  async function openAll(): Promise<RecordingSink> {
    const sink = new RecordingSink();
    await bare.feed.open({ sessionId: "s", access: FOR_ANYBODY, include, lastEventId: null }, sink, null);
    await new Promise((resolve) => setImmediate(resolve));
    return sink;
  }

  it("is forgotten with its answer, also if this node missed the events at its end", async () => {
    bare.position.answer = () => positionAt(2, BEFORE);
    const sink = await openAll();
    const piece = { messageId: "m", step: 1, offset: 0, text: "Let me see." };
    bare.hub.publish("s", { kind: "reasoning", incarnation: "a", epoch: 1, ...piece });
    expect(sink.text.match(/"reasoning_delta"/g)).toHaveLength(1);
    const ended = { ...(await bare.where()), head: 3, epoch: 1, streaming: null };
    bare.position.answer = async () => ended;
    bare.log.head = 3;
    bare.hub.publish("s", { kind: "moved", incarnation: "a", epoch: 1, head: 3 });
    await until(() => sink.text.includes("id: a-3"));
    await new Promise((resolve) => setImmediate(resolve));
    expect(sink.text.match(/"reasoning_delta"/g)).toHaveLength(1);
    const late = await openAll();
    expect(late.text).not.toContain("reasoning_delta");
    bare.feed.stop();
  });

  it("is asked for by a stream that opens only while the session is processing", async () => {
    let asked = 0;
    bare.hub.listen({
      onNotification: (_id, { kind }) => void (asked += Number(kind === "reasoning_requested")),
    });
    await openAll();
    expect(asked).toBe(0);
    bare.position.answer = async () => ({ ...(await positionAt(2, BEFORE)), isProcessing: true });
    await openAll();
    expect(asked).toBe(1);
    bare.feed.stop();
  });
});
