import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { IncludeGroup } from "@colloquy/protocol";
import { newId, RecordingSink, startService, until, type TestService } from "../../test/service.ts";
import { FOR_ANYBODY } from "../../test/stream-access.ts";

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

/** Offset and text of each delta. */
const deltas = (sink: RecordingSink): unknown[] =>
  seen(sink)
    .filter(({ data }) => data.type === "message_delta")
    .map(({ data }) => [data["offset"], data["text"]]);
const types = (sink: RecordingSink): string[] => seen(sink).map(({ data }) => data.type);
const idle = async (): Promise<boolean> => !(await service.snapshot(id)).is_processing;

async function turn(text: string): Promise<void> {
  await service.say(id, text);
  (await service.model.next()).say("ok").finish();
  await until(idle);
}

describe("a stream", () => {
  it("begins with the retry time and shows by default the four specified types with exactly their fields", async () => {
    const { sink } = await open(null, NOTHING);
    expect(sink.text).toBe("retry: 2000\n\n");
    await service.say(id, "hello");
    await until(() => types(sink).length === 1);
    (await service.model.next()).callTool("calculator", { expression: "1" }).finish("tool-calls");
    (await service.model.next()).say("1").finish();
    await until(async () => (await idle()) && types(sink).length === 3);
    expect(seen(sink).map(({ data }) => data)).toEqual([
      { type: "title_changed", session_id: id, new_title: "hello" },
      { type: "tool_update", session_id: id },
      { type: "tool_complete", session_id: id },
    ]);
  });

  it("replays what came after its id, once and in order, and goes on live", async () => {
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

  it("from 0 has everything, and from an id that is not of this life is told to fetch again", async () => {
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

  it("that opens in the middle of an answer is sent its text first, and then what follows", async () => {
    await service.say(id, "hello");
    const call = (await service.model.next()).say("one ");
    await until(async () => (await service.snapshot(id)).messages[1]?.content === "one ");
    const { sink } = await open();
    call.say("two");
    // The title may come before, between or behind them.
    await until(() => deltas(sink).length === 2);
    expect(deltas(sink)).toEqual([
      [0, "one "],
      [4, "two"],
    ]);
    call.finish();
  });

  it("is sent a text that was loaded in place of the one it has, once", async () => {
    const { sink } = await open();
    await service.say(id, "hello");
    const call = await service.model.next();
    call.say("so far, and more");
    await until(() => deltas(sink).length === 1);
    const { messages } = await service.snapshot(id);
    const loaded = { messageId: messages[1]!.id, text: "so far" };
    const session = service.registry.inMemory(id)!;
    for (let n = 0; n < 2; n += 1) service.feed.recover(session, loaded);
    expect(deltas(sink)).toEqual([
      [0, "so far, and more"],
      [0, "so far"],
    ]);
    // Who comes later is sent what the session shows.
    expect(deltas((await open()).sink)).toEqual([[0, "so far, and more"]]);
    call.finish();
  });

  it("of a session that is deleted ends with a last notice", async () => {
    const { sink } = await open();
    await service.conversations.remove(id);
    expect(seen(sink).at(-1)?.data).toMatchObject({ type: "system_notice", code: "session_deleted" });
    expect(sink.ended).toBe("finish");
  });

  it("is closed when its client leaves more than 256 KiB of live events, and nobody else is", async () => {
    const slow = new RecordingSink();
    let undrained = 0;
    slow.write = (bytes) => (undrained += bytes.length);
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

  it("gets a heartbeat every 15 seconds, with the head's id when the log moved on out of sight", async () => {
    const { sink } = await open(null, NOTHING);
    await service.clock.advance(15_000);
    expect(sink.text).toBe("retry: 2000\n\n: heartbeat\n\n");
    await service.conversations.rename(id, "seen");
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
