import type { IncludeGroup } from "@colloquy/protocol";
import { beforeEach, describe, expect, it } from "vitest";
import { RecordingSink } from "../../../server/test/service.ts";
import type { NumberedEvent } from "../core/session-event.ts";
import { deltaFrame, eventFrame } from "./event-frames.ts";
import { FakeEventLog, SlowSink, titled } from "./testing/fake-event-log.ts";
import { MAX_UNDRAINED_BYTES, Subscriber, type SubscriberChannel } from "./subscriber.ts";
import { FOR_ANYBODY } from "../../../server/test/stream-access.ts";
import type { StreamingText } from "../core/ports/driven/event-hub.ts";

function streamingText(messageId: string, text: string): StreamingText {
  const created_at = "2026-01-01T00:00:00.000Z";
  // The committed content is older than the streaming text.
  const message = { sender: "agent", content: "", id: messageId, created_at, status: "streaming" } as const;
  return { messageId, text, answer: { message, index: 1 } };
}

const ID = "8f14e45f-ceea-467f-a0e6-b6f3c6a7d111";
const SOURCE = { sessionId: ID, spelling: ID, incarnation: "abc" };
const PAGE = 200;
const textFrame = (text: string) => deltaFrame(SOURCE, { message_id: "m", offset: 0, text });

/** A key that opens only the default App. */
const FOR_DEFAULT: typeof FOR_ANYBODY = {
  ...FOR_ANYBODY,
  endFor: ({ app }) => (app === "default" ? null : "app_key_invalid"),
};

let log: FakeEventLog;
let channel: SubscriberChannel;
let ended: number;
beforeEach(() => {
  log = new FakeEventLog(SOURCE.incarnation);
  ended = 0;
  channel = { head: 0, app: "default", owner: null, streaming: () => null, reasoning: () => null };
});

function subscriber(
  sink: RecordingSink,
  after: number,
  included: ReadonlySet<IncludeGroup> = new Set(),
): Subscriber {
  const onEnd = () => void (ended += 1);
  return new Subscriber({
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

/** Announces committed events as the feed does. */
function announce(to: Subscriber, ...events: readonly NumberedEvent[]): void {
  channel.head = Math.max(channel.head, events.at(-1)!.number);
  log.head = Math.max(log.head, channel.head);
  to.announce(events, (event) => eventFrame(SOURCE, event, new Set()));
}

const numbers = (sink: RecordingSink) =>
  [...sink.text.matchAll(/^id: abc-(\d+)$/gm)].map(([, number]) => Number(number));
const upTo = (last: number, first = 1) =>
  Array.from({ length: last - first + 1 }, (_, index) => first + index);
const eventLoopTurn = () => new Promise((resolve) => setImmediate(resolve));

describe("replaying subscriber", () => {
  it("waits for the client between pages, and misses no event announced during the wait", async () => {
    log.head = channel.head = 450;
    const sink = new SlowSink();
    const one = subscriber(sink, 0);
    const replay = one.replay();
    await eventLoopTurn();
    expect(numbers(sink)).toEqual(upTo(PAGE));
    announce(one, titled(451));
    await eventLoopTurn();
    expect(log.asked).toEqual([0]);
    for (const expected of [2 * PAGE, 451]) {
      sink.drain();
      await eventLoopTurn();
      expect(numbers(sink)).toEqual(upTo(expected));
    }
    sink.drain();
    await replay;
    announce(one, titled(452), titled(453));
    expect(numbers(sink)).toEqual(upTo(453));
  });

  it("writes every event once when more are announced during a page read", async () => {
    log.head = channel.head = 3;
    const gate = Promise.withResolvers<void>();
    log.gate = gate.promise;
    const sink = new RecordingSink();
    const one = subscriber(sink, 0);
    const replay = one.replay();
    announce(one, titled(4), titled(5));
    gate.resolve();
    await replay;
    announce(one, titled(5), titled(6));
    expect(numbers(sink)).toEqual(upTo(6));
  });

  it("reads nothing when it starts at the head", async () => {
    log.head = channel.head = 5;
    const sink = new RecordingSink();
    await subscriber(sink, 5).replay();
    expect(log.asked).toEqual([]);
  });

  it.each<[string, () => void]>([
    ["the store fails", () => (log.gate = Promise.reject(new Error("broken")))],
    ["the log belongs to another incarnation", () => (log.incarnation = "new")],
    ["the log ends before the announced head", () => (log.head = 0)],
  ])("aborts the stream, so that the client resumes, when %s", async (_why, happen) => {
    log.head = channel.head = 3;
    happen();
    log.gate?.catch(() => undefined);
    const sink = new RecordingSink();
    await subscriber(sink, 0).replay();
    expect(sink.ended).toBe("abort");
    expect(numbers(sink)).toEqual([]);
    expect(ended).toBe(1);
  });

  it.each([
    ["starts after a gap", 3],
    ["is empty", 5],
    ["begins after a floor beyond its position", 0, 3],
  ])(
    "sends resync and continues after the head when a page of the log %s",
    async (_what, missing, floor = 0) => {
      log.head = channel.head = 5;
      log.floor = floor;
      log.missing = missing;
      const sink = new RecordingSink();
      const one = subscriber(sink, 1);
      await one.replay();
      expect(sink.text).toContain('"code":"resync"');
      announce(one, titled(6));
      expect(numbers(sink)).toEqual([5, 6]);
      expect(sink.ended).toBeNull();
    },
  );

  it("stops reading the log when its client disconnects", async () => {
    log.head = channel.head = 1000;
    const sink = new SlowSink();
    const one = subscriber(sink, 0);
    const replay = one.replay();
    await eventLoopTurn();
    one.end("abort");
    sink.drain();
    await replay;
    expect(log.asked).toEqual([0]);
    expect(ended).toBe(1);
  });

  it("keeps the connection however much of the replay is undrained", async () => {
    log.head = channel.head = 1;
    const sink = new SlowSink();
    sink.undrained = 10 * MAX_UNDRAINED_BYTES;
    const one = subscriber(sink, 0);
    void one.replay();
    await eventLoopTurn();
    one.beat();
    expect(sink.ended).toBeNull();
  });
});

describe("live subscriber", () => {
  it("replays events that were not announced", async () => {
    const sink = new RecordingSink();
    const one = subscriber(sink, 0);
    await one.replay();
    announce(one, titled(1));
    announce(one, titled(4), titled(5));
    announce(one, titled(6));
    await eventLoopTurn();
    announce(one, titled(7));
    expect(numbers(sink)).toEqual(upTo(7));
    expect(log.asked).toEqual([1]);
  });

  it("writes an event once when it is announced again", async () => {
    const sink = new RecordingSink();
    const one = subscriber(sink, 0);
    await one.replay();
    announce(one, titled(1), titled(2));
    announce(one, titled(2));
    announce(one, titled(1), titled(2), titled(3));
    expect(numbers(sink)).toEqual([1, 2, 3]);
  });

  it("sends the whole streaming text when it goes live and after a gap, only if messages are included", async () => {
    channel.streaming = () => streamingText("m1", "so far");
    const sink = new RecordingSink();
    const one = subscriber(sink, 0, new Set(["messages"]));
    await one.replay();
    expect(sink.text).toMatch(/^data: \{"type":"message_updated".*"content":"so far".*"index":1\}$/m);
    one.writeDelta("messages", textFrame("more"));
    expect(sink.text).toContain('"text":"more"');
    announce(one, titled(3));
    one.writeDelta("messages", textFrame("lost in the gap"));
    await eventLoopTurn();
    expect(sink.text).not.toContain("lost in the gap");
    expect(sink.text.match(/"message_updated"/g)).toHaveLength(2);
    const other = new RecordingSink();
    const without = subscriber(other, 3);
    await without.replay();
    without.writeDelta("messages", textFrame("more"));
    expect(other.text).toBe("");
  });

  it("aborts the stream when its client leaves more than 256 KiB undrained", async () => {
    const sink = new SlowSink();
    const one = subscriber(sink, 0);
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
    one.finishWithRetry();
    expect(written()).toBe(3);
    expect(ended).toBe(1);
  });

  it("keeps the connection while its client drains in time", async () => {
    const sink = new SlowSink();
    const one = subscriber(sink, 0);
    await one.replay();
    for (let number = 1; number <= 20; number += 1) {
      announce(one, titled(number, 100_000));
      sink.drain();
    }
    expect(sink.ended).toBeNull();
    expect(numbers(sink)).toEqual(upTo(20));
  });

  it("advances Last-Event-ID past filtered events with one heartbeat", async () => {
    const sink = new RecordingSink();
    const one = subscriber(sink, 0);
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

describe("subscriber with a log ahead of the announced head", () => {
  const MESSAGES = new Set<IncludeGroup>(["messages"]);
  const GROWN = textFrame("grown");
  const shown = (sink: RecordingSink) =>
    [...sink.text.matchAll(/"content":"(\w+)"|"text":"(grown)"/gm)].map(([, text, grown]) => text ?? grown);
  let streaming: StreamingText | null;
  beforeEach(() => {
    streaming = streamingText("m1", "old");
    channel.streaming = () => streaming;
  });

  it("withholds text of an answer that may already be complete", async () => {
    channel.head = 1;
    log.head = 3;
    const sink = new RecordingSink();
    const one = subscriber(sink, 0, MESSAGES);
    await one.replay();
    expect(numbers(sink)).toEqual([1, 2, 3]);
    one.writeDelta("messages", GROWN);
    announce(one, titled(2));
    expect(shown(sink)).toEqual([]);
    // Some text was withheld, so the whole text is sent when the announced head catches up.
    streaming = streamingText("m2", "new");
    announce(one, titled(3));
    expect(shown(sink)).toEqual(["new"]);
    one.writeDelta("messages", GROWN);
    announce(one, titled(4));
    expect(shown(sink)).toEqual(["new", "grown"]);
  });

  it("sends the withheld text when the announced head catches up", async () => {
    channel.head = 1;
    log.head = 2;
    const sink = new RecordingSink();
    const one = subscriber(sink, 0, MESSAGES);
    await one.replay();
    channel.head = 2;
    one.catchUp();
    expect(shown(sink)).toEqual(["old"]);
  });

  it("ends the stream before the events of an App that its key does not open", async () => {
    channel.head = 2;
    log.head = 2;
    log.after = () =>
      Promise.resolve({
        incarnation: SOURCE.incarnation,
        head: 2,
        floor: 0,
        events: [titled(1), joinedApp("shop", 2)],
      });
    const sink = new RecordingSink();
    const onEnd = () => void (ended += 1);
    const shared = { source: SOURCE, included: MESSAGES, channel, events: log, after: 0, onEnd };
    await new Subscriber({ ...shared, sink, access: FOR_DEFAULT }).replay();
    expect(numbers(sink)).toEqual([]);
    expect(sink.text).toContain("app_key_invalid");
    expect([sink.ended, ended]).toEqual(["finish", 1]);
  });
});

const joinedApp = (app: string, number: number): NumberedEvent => ({
  number,
  event: { type: "state_changed", status: "idle", model: "m/m", app, user_state: null },
});
