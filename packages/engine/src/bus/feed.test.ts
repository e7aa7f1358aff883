import { encodeFrame } from "../../../server/src/http/event-stream.ts";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { IncludeGroup, Message } from "@colloquy/protocol";
import { newId, RecordingSink, startService, until, type TestService } from "../../../server/test/service.ts";
import { FOR_ANYBODY } from "../../../server/test/stream-access.ts";

let service: TestService;
let id: string;
beforeEach(async () => {
  service = await startService();
  id = newId();
});
afterEach(() => service.close());

const EVERYTHING = new Set<IncludeGroup>(["tools", "messages", "state"]);
const NOTHING = new Set<IncludeGroup>();

async function open(lastEventId: string | null = null, include: ReadonlySet<IncludeGroup> = EVERYTHING) {
  const sink = new RecordingSink();
  const stream = await service.feed.open(
    { sessionId: id, access: FOR_ANYBODY, include, lastEventId },
    sink,
    null,
  );
  return { sink, stream };
}

interface Seen {
  readonly id: string | null;
  readonly data: { readonly type: string; readonly [key: string]: unknown };
}

function seen(sink: RecordingSink): Seen[] {
  return sink.text.split("\n\n").flatMap((block) => {
    const data = /^data: (.*)$/m.exec(block)?.[1];
    return data === undefined ? [] : [{ id: /^id: (.*)$/m.exec(block)?.[1] ?? null, data: JSON.parse(data) }];
  });
}

/**
 * Returns the offset and text of each delta, with a whole streaming message counting as a delta from offset
 * 0.
 */
const deltas = (sink: RecordingSink): unknown[] =>
  seen(sink).flatMap(({ id, data }) => {
    if (data.type === "message_updated" && id === null) return [[0, (data["message"] as Message).content]];
    return data.type === "message_delta" ? [[data["offset"], data["text"]]] : [];
  });
const types = (sink: RecordingSink): string[] => seen(sink).map(({ data }) => data.type);
const idle = async (): Promise<boolean> => !(await service.snapshot(id)).is_processing;

async function turn(text: string): Promise<void> {
  await service.say(id, text);
  (await service.model.next()).say("ok").finish();
  await until(idle);
}

describe("event stream", () => {
  it("starts with the retry time and by default sends exactly the four specified event types and fields", async () => {
    const { sink } = await open(null, NOTHING);
    expect(sink.text).toBe("retry: 2000\n\n");
    await service.say(id, "hello");
    await until(() => types(sink).length === 1);
    (await service.model.next()).callTool("calculator", { expression: "1" }).finish("tool-calls");
    (await service.model.next()).say("1").finish();
    await until(async () => (await idle()) && types(sink).length === 2);
    expect(seen(sink).map(({ data }) => data)).toEqual([
      { type: "title_changed", session_id: id, new_title: "hello" },
      { type: "tool_complete", session_id: id },
    ]);
  });

  it("repeats pending actions on new streams, without an id, until they expire", async () => {
    const notices = (sink: RecordingSink) =>
      seen(sink).filter(({ data }) => (data as { code?: string }).code === "action_requested");
    await service.close();
    service = await startService({
      adjust: (config) => {
        const app = config.apps["default"]!;
        const tools = { ...app.tools, approvals: { calculator: "always" as const } };
        return { ...config, apps: { default: { ...app, tools } } };
      },
    });
    await service.say(id, "hello");
    (await service.model.next()).callTool("calculator", { expression: "1" }).finish("tool-calls");
    await until(async () => (await service.snapshot(id)).pending_actions.length === 1);
    const { last_event_id: head, pending_actions: pending } = await service.snapshot(id);
    const late = await open(null, NOTHING);
    expect(notices(late.sink)).toMatchObject([{ id: null, data: { level: "info" } }]);
    expect(late.sink.text).toContain(`approval of the tool \\"calculator\\"`);
    expect(late.sink.text).toContain(pending[0]!.expires_at);
    expect(notices((await open(head, NOTHING)).sink)).toEqual([]);
    // Streams that start with `resync` replay nothing.
    expect(notices((await open("zz-3", NOTHING)).sink)).toMatchObject([{ id: null }]);
    await service.pass(service.config.limits.actionMs + 5_000);
    (await service.model.next()).say("Then not.").finish();
    await until(idle);
    expect(notices((await open(null, NOTHING)).sink)).toEqual([]);
  });

  it("starts with the answer that has no text yet, which the snapshot omits", async () => {
    await service.say(id, "hello");
    await service.model.next();
    await service.say(id, "and another one");
    const { messages, last_event_id: head } = await service.snapshot(id);
    expect(messages.map(({ sender, turn: number }) => [sender, number])).toEqual([
      ["user", 1],
      ["user", 2],
    ]);
    for (const after of [null, head]) {
      const { sink } = await open(after);
      expect(seen(sink)).toMatchObject([
        {
          id: null,
          data: {
            type: "message_updated",
            index: 1,
            message: { sender: "agent", status: "streaming", content: "", turn: 1 },
          },
        },
      ]);
    }
    expect(types((await open(null, NOTHING)).sink)).toEqual([]);
  });

  it("replays the events after its id once and in order, then goes live", async () => {
    await turn("one");
    const middle = (await service.snapshot(id)).last_event_id;
    await turn("two");
    const { sink } = await open(middle);
    await until(() => types(sink).at(-1) === "state_changed");
    await turn("three");
    const numbers = seen(sink).flatMap((event) =>
      event.id === null ? [] : [Number(event.id.split("-")[1])],
    );
    const first = Number(middle.split("-")[1]) + 1;
    expect(numbers).toEqual(numbers.map((_, index) => first + index));
    expect(numbers.at(-1)).toBe(Number((await service.snapshot(id)).last_event_id.split("-")[1]));
  });

  it("replays everything from id 0, and sends resync for an id of another incarnation", async () => {
    await turn("one");
    const head = (await service.snapshot(id)).last_event_id;
    const all = await open("0");
    await until(() => seen(all.sink).at(-1)?.id === head);
    expect(types(all.sink)[0]).toBe("message_created");
    for (const wrong of ["zz-3", "nonsense", `${head}9`, "-1"]) {
      const { sink } = await open(wrong);
      expect(seen(sink)[0]).toMatchObject({ id: head, data: { type: "system_notice", code: "resync" } });
    }
  });

  it("sends the text so far first when it opens in the middle of an answer", async () => {
    await service.say(id, "hello");
    const call = (await service.model.next()).say("one ");
    await until(async () => (await service.snapshot(id)).messages[1]?.content === "one ");
    const { sink } = await open();
    call.say("two");
    // The title event may arrive at any point.
    await until(() => deltas(sink).length === 2);
    expect(deltas(sink)).toEqual([
      [0, "one "],
      [4, "two"],
    ]);
    call.finish();
  });

  it("sends a recovered text once, in place of the previous one", async () => {
    const { sink } = await open();
    await service.say(id, "hello");
    const call = await service.model.next();
    call.say("so far, and more");
    await until(() => deltas(sink).length === 1);
    const { messages } = await service.snapshot(id);
    const message = messages[1]!;
    const loaded = { messageId: message.id, text: "so far", answer: { message, index: 1 } };
    const session = service.registry.inMemory(id)!;
    for (let n = 0; n < 2; n += 1) service.hub.answerLoaded(session, loaded);
    expect(deltas(sink)).toEqual([
      [0, "so far, and more"],
      [0, "so far"],
    ]);
    // A later stream receives the text of the snapshot.
    expect(deltas((await open()).sink)).toEqual([[0, "so far, and more"]]);
    call.finish();
  });

  it("ends with a notice when its session is deleted", async () => {
    const { sink } = await open();
    await service.threads.remove(id, null);
    expect(seen(sink).at(-1)?.data).toMatchObject({ type: "system_notice", code: "session_deleted" });
    expect(sink.ended).toBe("finish");
  });

  it("is closed alone when its client leaves more than 256 KiB of live events undrained", async () => {
    const slow = new RecordingSink();
    let undrained = 0;
    slow.write = (frame) => {
      const earlier = undrained;
      undrained += encodeFrame(frame).length;
      return earlier;
    };
    await service.feed.open(
      { sessionId: id, access: FOR_ANYBODY, include: EVERYTHING, lastEventId: null },
      slow,
      null,
    );
    const quick = await open();
    await service.say(id, "hello");
    const call = await service.model.next();
    for (let n = 0; n < 40 && slow.ended === null; n += 1) {
      call.say("x".repeat(10_000));
      await until(async () => (await service.snapshot(id)).messages[1]?.content.length === (n + 1) * 10_000);
    }
    expect(slow.ended).toBe("abort");
    expect(undrained).toBeGreaterThan(256 * 1024);
    expect(undrained).toBeLessThan(300 * 1024);
    expect(quick.sink.ended).toBeNull();
    call.finish();
  });

  it("sends a heartbeat every 15 seconds, with the head's id after filtered events", async () => {
    const { sink } = await open(null, NOTHING);
    await service.clock.advance(15_000);
    expect(sink.text).toBe("retry: 2000\n\n: heartbeat\n\n");
    await service.threads.rename(id, "seen", null);
    await turn("unseen");
    const head = (await service.snapshot(id)).last_event_id;
    await service.clock.advance(15_000);
    expect(sink.text.endsWith(`: heartbeat\nid: ${head}\n\n`)).toBe(true);
  });

  it("ends with a retry when the service stops", async () => {
    const { sink } = await open();
    service.feed.stop();
    expect(sink.text.endsWith("retry: 2000\n\n")).toBe(true);
    expect(sink.ended).toBe("finish");
    const late = await open();
    expect([late.sink.text, late.sink.ended]).toEqual(["retry: 2000\n\n", "finish"]);
    expect(service.feed.openStreams).toBe(0);
  });
});
