import type { IncludeGroup } from "@colloquy/protocol";
import { beforeEach, describe, expect, it } from "vitest";
import { RecordingSink } from "../../test/service.ts";
import type { NumberedEvent } from "../core/session-event.ts";
import { eventText } from "./event-text.ts";
import { GivenLog, SlowSink, titled } from "./given-log.suite.ts";
import { MAX_UNDRAINED_BYTES, Reader, type Channel } from "./reader.ts";
import { FOR_ANYBODY } from "../../test/stream-access.ts";

const SOURCE = { sessionId: "8f14e45f-ceea-467f-a0e6-b6f3c6a7d111", life: "abc" };
const PAGE = 200;

/** A key for the default App alone. */
const FOR_DEFAULT = { ...FOR_ANYBODY, opens: (app: string) => app === "default" };

let log: GivenLog;
let channel: Channel & { head: number };
let ended: number;
beforeEach(() => {
  log = new GivenLog(SOURCE.life);
  ended = 0;
  channel = { sessionId: SOURCE.sessionId, head: 0, streaming: () => null };
});

function reader(sink: RecordingSink, after: number, included: ReadonlySet<IncludeGroup> = new Set()): Reader {
  const onEnd = () => void (ended += 1);
  return new Reader({
    source: SOURCE,
    access: FOR_ANYBODY,
    included,
    channel,
    sink,
    events: log,
    after,
    onEnd,
  });
}

/** What the feed does with events that were committed. */
function announce(to: Reader, ...events: readonly NumberedEvent[]): void {
  channel.head = Math.max(channel.head, events.at(-1)!.number);
  log.head = Math.max(log.head, channel.head);
  to.announce(events, (event) => eventText(SOURCE, event, new Set()));
}

const numbers = (sink: RecordingSink) =>
  [...sink.text.matchAll(/^id: abc-(\d+)$/gm)].map(([, number]) => Number(number));
const upTo = (last: number, first = 1) =>
  Array.from({ length: last - first + 1 }, (_, index) => first + index);
const round = () => new Promise((resolve) => setImmediate(resolve));

describe("a reader that replays", () => {
  it("reads pages that wait for the client, and misses nothing that is announced meanwhile", async () => {
    log.head = channel.head = 450;
    const sink = new SlowSink();
    const one = reader(sink, 0);
    const replay = one.replay();
    await round();
    expect(numbers(sink)).toEqual(upTo(PAGE));
    announce(one, titled(451));
    await round();
    expect(log.asked).toEqual([0]);
    for (const expected of [2 * PAGE, 451]) {
      sink.drain();
      await round();
      expect(numbers(sink)).toEqual(upTo(expected));
    }
    sink.drain();
    await replay;
    announce(one, titled(452), titled(453));
    expect(numbers(sink)).toEqual(upTo(453));
  });

  it("gets every event once when more is announced while a page is on its way", async () => {
    log.head = channel.head = 3;
    const gate = Promise.withResolvers<void>();
    log.gate = gate.promise;
    const sink = new RecordingSink();
    const one = reader(sink, 0);
    const replay = one.replay();
    announce(one, titled(4), titled(5));
    gate.resolve();
    await replay;
    announce(one, titled(5), titled(6));
    expect(numbers(sink)).toEqual(upTo(6));
  });

  it("reads nothing when it is at the head already", async () => {
    log.head = channel.head = 5;
    const sink = new RecordingSink();
    await reader(sink, 5).replay();
    expect(log.asked).toEqual([]);
  });

  it.each<[string, () => void]>([
    ["the store fails", () => (log.gate = Promise.reject(new Error("broken")))],
    ["the log belongs to another life", () => (log.life = "new")],
    ["what it needs is no longer kept", () => (log.floor = 1)],
    ["there is less in the log than was announced", () => (log.head = 0)],
  ])("is cut off, so that its client resumes, when %s", async (_why, happen) => {
    log.head = channel.head = 3;
    happen();
    log.gate?.catch(() => undefined);
    const sink = new RecordingSink();
    await reader(sink, 0).replay();
    expect(sink.ended).toBe("abort");
    expect(numbers(sink)).toEqual([]);
    expect(ended).toBe(1);
  });

  it("stops reading when its client leaves", async () => {
    log.head = channel.head = 1000;
    const sink = new SlowSink();
    const one = reader(sink, 0);
    const replay = one.replay();
    await round();
    one.end("abort");
    sink.drain();
    await replay;
    expect(log.asked).toEqual([0]);
    expect(ended).toBe(1);
  });

  it("is not closed for what it has not drained: pages wait", async () => {
    log.head = channel.head = 1;
    const sink = new SlowSink();
    sink.undrained = 10 * MAX_UNDRAINED_BYTES;
    const one = reader(sink, 0);
    void one.replay();
    await round();
    one.beat();
    expect(sink.ended).toBeNull();
  });
});

describe("a reader that is live", () => {
  it("fetches from the log what was not announced to it", async () => {
    const sink = new RecordingSink();
    const one = reader(sink, 0);
    await one.replay();
    announce(one, titled(1));
    announce(one, titled(4), titled(5));
    announce(one, titled(6));
    await round();
    announce(one, titled(7));
    expect(numbers(sink)).toEqual(upTo(7));
    expect(log.asked).toEqual([1]);
  });

  it("takes what was announced twice or late once", async () => {
    const sink = new RecordingSink();
    const one = reader(sink, 0);
    await one.replay();
    announce(one, titled(1), titled(2));
    announce(one, titled(2));
    announce(one, titled(1), titled(2), titled(3));
    expect(numbers(sink)).toEqual([1, 2, 3]);
  });

  it("first gets the text that streams, again after a gap, and only when it asked for messages", async () => {
    channel.streaming = () => ({ messageId: "m1", text: "so far" });
    const sink = new RecordingSink();
    const one = reader(sink, 0, new Set(["messages"]));
    await one.replay();
    expect(sink.text).toContain('"message_id":"m1","offset":0,"text":"so far"');
    one.grow(Buffer.from("data: more\n\n"));
    expect(sink.text.endsWith("data: more\n\n")).toBe(true);
    announce(one, titled(3));
    one.grow(Buffer.from("data: lost in the gap\n\n"));
    await round();
    expect(sink.text).not.toContain("lost in the gap");
    expect(sink.text.match(/"offset":0/g)).toHaveLength(2);
    const other = new RecordingSink();
    const without = reader(other, 3);
    await without.replay();
    without.grow(Buffer.from("data: more\n\n"));
    expect(other.text).toBe("");
  });

  it("is cut off when its client leaves more than 256 KiB, and hears nothing more", async () => {
    const sink = new SlowSink();
    const one = reader(sink, 0);
    await one.replay();
    const written = () => numbers(sink).length;
    announce(one, titled(1, MAX_UNDRAINED_BYTES - 200), titled(2, 300));
    expect(sink.ended).toBeNull();
    announce(one, titled(3), titled(4));
    expect(sink.ended).toBe("abort");
    expect(written()).toBe(3);
    announce(one, titled(5));
    one.beat();
    one.finishDeleted();
    one.finishForNow();
    expect(written()).toBe(3);
    expect(ended).toBe(1);
  });

  it("that drains in time is never cut off, however much comes", async () => {
    const sink = new SlowSink();
    const one = reader(sink, 0);
    await one.replay();
    for (let number = 1; number <= 20; number += 1) {
      announce(one, titled(number, 100_000));
      sink.drain();
    }
    expect(sink.ended).toBeNull();
    expect(numbers(sink)).toEqual(upTo(20));
  });

  it("moves its client's place on past what it is not shown, once", async () => {
    const sink = new RecordingSink();
    const one = reader(sink, 0);
    await one.replay();
    const event = {
      type: "system_event",
      item: { id: "abc-1", type: "notice", created_at: "", payload: {} },
    } as const;
    announce(one, { number: 1, event }, { number: 2, event });
    expect(sink.text).toBe("");
    one.beat();
    one.beat();
    expect(sink.text).toBe(": heartbeat\nid: abc-2\n\n: heartbeat\n\n");
  });
});

describe("a reader whose log is ahead of what is announced", () => {
  const MESSAGES = new Set<IncludeGroup>(["messages"]);
  const GROWN = Buffer.from("data: grown\n\n");
  const shown = (sink: RecordingSink) =>
    [...sink.text.matchAll(/"text":"(\w+)"|^data: (grown)$/gm)].map(([, text, grown]) => text ?? grown);
  let streaming: { readonly messageId: string; readonly text: string } | null;
  beforeEach(() => {
    streaming = { messageId: "m1", text: "old" };
    channel.streaming = () => streaming;
  });

  it("is not sent text of an answer that may be over there", async () => {
    channel.head = 1;
    log.head = 3;
    const sink = new RecordingSink();
    const one = reader(sink, 0, MESSAGES);
    await one.replay();
    expect(numbers(sink)).toEqual([1, 2, 3]);
    one.grow(GROWN);
    announce(one, titled(2));
    expect(shown(sink)).toEqual([]);
    // What streams when the announcements have come so far is sent whole, because some of it was held back.
    streaming = { messageId: "m2", text: "new" };
    announce(one, titled(3));
    expect(shown(sink)).toEqual(["new"]);
    one.grow(GROWN);
    announce(one, titled(4));
    expect(shown(sink)).toEqual(["new", "grown"]);
  });

  it("is sent it when it hears in another way how far the session is", async () => {
    channel.head = 1;
    log.head = 2;
    const sink = new RecordingSink();
    const one = reader(sink, 0, MESSAGES);
    await one.replay();
    channel.head = 2;
    one.catchUp();
    expect(shown(sink)).toEqual(["old"]);
  });

  it("ends where the session came to an App that its key does not open, before anything of that is shown", async () => {
    channel.head = 2;
    log.head = 2;
    log.after = () =>
      Promise.resolve({ life: SOURCE.life, head: 2, floor: 0, events: [titled(1), cameToApp("shop", 2)] });
    const sink = new RecordingSink();
    const onEnd = () => void (ended += 1);
    const shared = { source: SOURCE, included: MESSAGES, channel, events: log, after: 0, onEnd };
    await new Reader({ ...shared, sink, access: FOR_DEFAULT }).replay();
    expect(numbers(sink)).toEqual([]);
    expect(sink.text).toContain("app_key_invalid");
    expect([sink.ended, ended]).toEqual(["finish", 1]);
  });
});

const cameToApp = (app: string, number: number): NumberedEvent => ({
  number,
  event: { type: "state_changed", status: "idle", model: "m/m", app, user_state: null },
});
