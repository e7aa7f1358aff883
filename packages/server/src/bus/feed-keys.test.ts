import { describe, expect, it } from "vitest";
import { RecordingSink, startService, newId, withApps, until } from "../../test/service.ts";
import type { StreamAccess } from "../core/ports/services.ts";
import { bareFeed } from "./bare-feed.suite.ts";

const ENDED = '"code":"app_key_invalid"';

/** A key whose Apps a test takes away. */
class GivenAccess implements StreamAccess {
  apps: readonly string[];
  failure: Error | null = null;
  refreshed = 0;
  lastAskedAt: number | null = null;
  #known: readonly string[];

  constructor(...apps: readonly string[]) {
    this.apps = apps;
    this.#known = apps;
  }

  opens(app: string): boolean {
    return this.#known.includes(app);
  }

  askedAt(): number | null {
    return this.lastAskedAt;
  }

  readonly refresh = async (): Promise<void> => {
    this.refreshed += 1;
    if (this.failure !== null) throw this.failure;
    this.#known = this.apps;
  };
}

async function open(access: StreamAccess) {
  const { feed, clock } = bareFeed();
  const sink = new RecordingSink();
  const wanted = { sessionId: "s", access, include: new Set<never>(), lastEventId: null };
  await feed.open(wanted, sink, null);
  return { sink, feed, clock };
}

describe("the key of an open stream", () => {
  it("is looked at every two seconds; when it opens the App no more, the stream says so and ends", async () => {
    const access = new GivenAccess("default");
    const { sink, feed, clock } = await open(access);
    await clock.advance(2_000);
    expect({ ended: sink.ended, refreshed: access.refreshed }).toEqual({ ended: null, refreshed: 1 });
    access.apps = [];
    await clock.advance(1_999);
    expect(sink.ended).toBeNull();
    await clock.advance(1);
    expect(sink.ended).toBe("finish");
    expect(sink.text.split(ENDED)).toHaveLength(2);
    await clock.advance(10_000);
    expect(access.refreshed).toBe(2);
    expect(feed.openStreams).toBe(0);
    feed.stop();
  });

  it("that cannot be looked at now is looked at the next time", async () => {
    const access = new GivenAccess("default");
    access.failure = new Error("the store is away");
    const { sink, feed, clock } = await open(access);
    access.apps = [];
    await clock.advance(4_000);
    expect(sink.ended).toBeNull();
    access.failure = null;
    await clock.advance(2_000);
    expect(sink.ended).toBe("finish");
    feed.stop();
  });

  it("that could not be looked at for five seconds ends the stream for now, at the moment when it is too old", async () => {
    const access = new GivenAccess("default");
    const { sink, feed, clock } = await open(access);
    access.lastAskedAt = clock.monotonic() + 1_500;
    await clock.advance(4_000);
    access.failure = new Error("the store is away");
    await clock.advance(2_499);
    expect(sink.ended).toBeNull();
    await clock.advance(1);
    expect(sink.ended).toBe("finish");
    // Not for good: its client comes back.
    expect(sink.text).not.toContain(ENDED);
    expect(sink.text.endsWith("retry: 2000\n\n")).toBe(true);
    expect(feed.openStreams).toBe(0);
    feed.stop();
    expect(clock.timers).toBe(0);
  });

  it("ends no stream as long as it is looked at in time, and none that needs no key", async () => {
    const [access, without] = [new GivenAccess("default"), new GivenAccess("default")];
    const { sink, feed, clock } = await open(access);
    const other = new RecordingSink();
    const wanted = { sessionId: "s", access: without, include: new Set<never>(), lastEventId: null };
    await feed.open(wanted, other, null);
    without.failure = new Error("the store is away");
    for (let round = 0; round < 10; round += 1) {
      access.lastAskedAt = clock.monotonic() - 2_900;
      await clock.advance(2_000);
    }
    expect([sink.ended, other.ended]).toEqual([null, null]);
    feed.stop();
    expect(clock.timers).toBe(0);
  });

  it("is asked about when the stream begins, too: it may have ended while that was opened", async () => {
    const { sink, feed } = await open(new GivenAccess("defi"));
    expect(sink.text).toContain(ENDED);
    expect(sink.ended).toBe("finish");
    feed.stop();
  });
});

describe("a stream of a session that belongs to no App yet", () => {
  it("ends, having shown nothing, when the session comes to an App that it may not show", async () => {
    const service = await startService({ adjust: withApps("defi") });
    const id = newId();
    const read = async (access: StreamAccess) => {
      const sink = new RecordingSink();
      const include = new Set(["messages", "state"] as const);
      await service.feed.open({ sessionId: id, access, include, lastEventId: null }, sink, null);
      return sink;
    };
    const outside = await read({ opens: (app) => app !== "defi", refresh: null, askedAt: () => null });
    const inside = await read(new GivenAccess("default", "defi"));
    await service.say(id, "canary", { app: "defi" });
    expect(outside.ended).toBe("finish");
    expect(outside.text).toContain(ENDED);
    expect(outside.text).not.toContain("canary");
    expect(inside.ended).toBeNull();
    expect(inside.text).toContain("canary");
    (await service.model.next()).say("hi").finish();
    await until(() => inside.text.includes("message_completed"));
    await service.close();
  });
});
