// A fake event log and a slow client for tests of subscribers.

import { RecordingSink } from "../../../../server/test/service.ts";
import { encodeFrame } from "../../../../server/src/http/event-stream.ts";
import type { EventPage, EventStore } from "../../core/ports/driven/store.ts";
import type { StreamFrame } from "../../core/ports/driving/services.ts";
import type { NumberedEvent } from "../../core/session-event.ts";

/** A log of generated events whose reads a test can delay. */
export class FakeEventLog implements Pick<EventStore, "after"> {
  head = 0;
  floor = 0;
  /** Events up to this number, inclusive, are missing although the floor is lower. */
  missing = 0;
  incarnation: string;
  asked: number[] = [];
  gate: Promise<void> | null = null;

  constructor(incarnation: string) {
    this.incarnation = incarnation;
  }

  async after(_id: string, after: number, limit: number): Promise<EventPage | null> {
    this.asked.push(after);
    await this.gate;
    const { incarnation, head, floor } = this;
    const events = Array.from({ length: Math.min(limit, head - after) }, (_, index) =>
      titled(after + index + 1),
    );
    return { incarnation, head, floor, events: events.filter(({ number }) => number > this.missing) };
  }
}

/** A client that drains nothing until `drain` is called. */
export class SlowSink extends RecordingSink {
  undrained = 0;
  readonly #waiting: (() => void)[] = [];

  override write(frame: StreamFrame): number {
    super.write(frame);
    const earlier = this.undrained;
    this.undrained += encodeFrame(frame).length;
    return earlier;
  }

  override drained(): Promise<void> {
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  drain(): void {
    this.undrained = 0;
    for (const resolve of this.#waiting.splice(0)) resolve();
  }
}

export const titled = (number: number, size = 0): NumberedEvent => ({
  number,
  event: { type: "title_changed", new_title: "x".repeat(size) },
});
