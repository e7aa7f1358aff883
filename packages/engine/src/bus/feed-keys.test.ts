import { describe, expect, it } from "vitest";
import { RecordingSink, startService, newId, withApps, until } from "../../../server/test/service.ts";
import { ANONYMOUS } from "../core/session-access.ts";
import type { SessionOwnership, StreamAccess, StreamEnd } from "../core/ports/driving/services.ts";
import { FOR_ANYBODY } from "../../../server/test/stream-access.ts";
import { bareFeed } from "./testing/bare-feed.ts";

const ENDED = '"code":"app_key_invalid"';

/** A key whose Apps a test can revoke. */
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

  readonly session = ANONYMOUS;

  endFor({ app }: SessionOwnership): StreamEnd | null {
    return this.#known.includes(app) ? null : "app_key_invalid";
  }

  checkedAt(): number | null {
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

describe("key of an open stream", () => {
  it("is checked every two seconds, and ends the stream with a notice once it no longer opens the App", async () => {
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

  it("is checked again at the next interval after a failed check", async () => {
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

  it("ends the stream with a retry as soon as its data is five seconds old", async () => {
    const access = new GivenAccess("default");
    const { sink, feed, clock } = await open(access);
    access.lastAskedAt = clock.monotonic() + 1_500;
    await clock.advance(4_000);
    access.failure = new Error("the store is away");
    await clock.advance(2_499);
    expect(sink.ended).toBeNull();
    await clock.advance(1);
    expect(sink.ended).toBe("finish");
    // The `retry` field makes the client reconnect.
    expect(sink.text).not.toContain(ENDED);
    expect(sink.text.endsWith("retry: 2000\n\n")).toBe(true);
    expect(feed.openStreams).toBe(0);
    feed.stop();
    expect(clock.timers).toBe(0);
  });

  it("ends no stream while its checks succeed, and none without a key", async () => {
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

  it("is also checked when the stream starts, because it may have been revoked meanwhile", async () => {
    const { sink, feed } = await open(new GivenAccess("defi"));
    expect(sink.text).toContain(ENDED);
    expect(sink.ended).toBe("finish");
    feed.stop();
  });
});

describe("stream of a session without an App", () => {
  it("ends before showing anything when the session joins an App that its key does not open", async () => {
    const service = await startService({ adjust: withApps("defi") });
    const id = newId();
    const read = async (access: StreamAccess) => {
      const sink = new RecordingSink();
      const include = new Set(["messages", "state"] as const);
      await service.feed.open({ sessionId: id, access, include, lastEventId: null }, sink, null);
      return sink;
    };
    const outside = await read({
      ...FOR_ANYBODY,
      endFor: ({ app }) => (app === "defi" ? "app_key_invalid" : null),
    });
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
