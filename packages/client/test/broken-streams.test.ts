// Streams that break, fall silent or never open: the session stays in sync, and no event is lost or
// duplicated.

import { describe, expect, it, vi } from "vitest";
import { readText, messageEvents, useLiveSession } from "./use-live-session.ts";

const live = useLiveSession();
const { isIdle, lastContent, record, state, truth } = live;

describe("a broken stream", () => {
  it("resumes after a pause without losing or duplicating events", async () => {
    const { updates } = record();
    await live.served.until(() => state() === "live");
    await live.session.send("Hi");
    const call = await live.served.model.next();
    call.say("one ");
    await live.served.until(() => lastContent() === "one ");
    live.served.proxy.cut();
    await live.served.until(() => state() === "waiting");
    call.say("two ");
    await live.served.clock.advance(900);
    expect(state()).toBe("waiting");
    await live.served.until(() => state() === "live", 100);
    await live.served.until(() => lastContent() === "one two ");
    call.say("three").finish();
    await live.served.until(isIdle);
    expect(readText(updates)).toBe("one two three");
    expect(messageEvents(updates)).toEqual([
      "message_created user complete: Hi",
      "message_created agent streaming: ",
      "message_completed agent complete: one two three",
    ]);
    expect(live.served.proxy.heads.at(-1)?.["last-event-id"]).toMatch(/-\d+$/);
    expect(live.session.getSnapshot()).toEqual(await truth());
  });

  it("retries after growing pauses of at most 30 seconds, and at once when the network is back", async () => {
    live.session.subscribe(() => undefined);
    await live.served.until(() => state() === "live");
    live.served.proxy.plan = () => "refuse";
    live.served.proxy.cut();
    const pauses: number[] = [];
    for (let turn = 0; turn < 7; turn += 1) {
      await live.served.until(() => state() === "waiting");
      const seen = live.served.proxy.seen.length;
      const ms = live.served.clock.nextIn!;
      await live.served.clock.advance(ms - 1);
      expect(state()).toBe("waiting");
      await live.served.clock.advance(1);
      pauses.push(ms);
      await live.served.until(() => state() === "waiting" && live.served.proxy.seen.length >= seen + 2);
    }
    expect(pauses.map((ms) => Math.round(ms / 1000))).toEqual([1, 2, 4, 8, 15, 15, 15]);
    expect(live.session.getConnection().error).toMatchObject({ code: "network_failed", status: 0 });
    live.served.proxy.plan = () => null;
    live.served.wake();
    await live.served.until(() => state() === "live");
    // A stream that lasts resets the failure count.
    await live.served.clock.advance(5_000);
    live.served.proxy.cut();
    await live.served.until(() => state() === "waiting");
    await live.served.clock.advance(1_000);
    await live.served.until(() => state() === "live");
  });

  it("is closed after 40 seconds without data", async () => {
    live.session.subscribe(() => undefined);
    await live.served.until(() => state() === "live");
    await live.served.clock.advance(39_000);
    expect(state()).toBe("live");
    await live.served.until(() => state() !== "live", 500);
    await live.served.until(() => state() === "live", 100);
  });

  it("fetches a snapshot when events are missing, and reports the events in between", async () => {
    const { updates } = record();
    await live.served.until(() => state() === "live");
    live.served.proxy.plan = () => "refuse";
    live.served.proxy.cut();
    await live.served.until(() => state() === "waiting");
    // A new incarnation of the session: nothing can be replayed.
    await live.served.direct.deleteThread(live.session.id);
    const sending = live.served.direct.sendMessage(live.session.id, "Hi", { wait: true });
    (await live.served.model.next()).say("Hello").finish();
    await sending;
    live.served.proxy.plan = () => null;
    await live.served.until(() => state() === "live", 500);
    await live.served.until(() => lastContent() === "Hello");
    await live.served.until(() => live.session.getSnapshot()?.title === "Hi");
    expect(messageEvents(updates)).toEqual([
      "message_created user complete: Hi",
      "message_created agent complete: Hello",
      "message_completed agent complete: Hello",
    ]);
    expect(live.session.getSnapshot()).toEqual(await truth());
  });
});

describe("where streams are blocked", () => {
  const blocked = (
    fault: "swallow" | "refuse" | 0 | { status: number; headers?: Record<string, string>; body?: string },
  ) => {
    live.served.proxy.plan = ({ path }) => (path === "/api/updates" ? fault : null);
  };

  it.each([
    ["nothing gets through", "swallow"],
    ["the connection breaks before the first byte", 0],
    [
      "something else answers",
      { status: 200, headers: { "content-type": "text/html" }, body: "<p>Portal</p>" },
    ],
    [
      "there are too many",
      { status: 429, headers: { "content-type": "application/problem+json" }, body: "{}" },
    ],
  ] as const)("polls and later follows again if %s", async (_name, fault) => {
    blocked(fault);
    const { updates } = record();
    await live.served.until(() => state() === "polling", 100);
    await live.session.send("Hi");
    const call = await live.served.model.next();
    call.say("one ");
    await live.served.until(() => lastContent() === "one ", 100);
    call.say("two ");
    await live.served.until(() => lastContent() === "one two ", 100);
    live.served.proxy.plan = () => null;
    await live.served.until(() => state() === "live", 100);
    call.say("three").finish();
    await live.served.until(isIdle);
    expect(readText(updates)).toBe("one two three");
    expect(messageEvents(updates)).toEqual([
      "message_created user complete: Hi",
      expect.stringMatching(/^message_created agent streaming: /),
      "message_completed agent complete: one two three",
    ]);
    expect(live.session.getSnapshot()).toEqual(await truth());
  });

  it("reports a hidden answer that started before the break exactly once", async () => {
    const { updates } = record();
    await live.served.until(() => state() === "live");
    await live.session.send("Hi");
    const call = await live.served.model.next();
    await live.served.until(() => messageEvents(updates).length === 2);
    blocked("refuse");
    live.served.proxy.cut();
    await live.served.until(() => state() === "polling", 100);
    expect(live.session.getSnapshot()).toEqual(await truth());
    call.say("one");
    await live.served.until(() => lastContent() === "one", 100);
    call.finish();
    await live.served.until(isIdle, 100);
    expect(messageEvents(updates)).toEqual([
      "message_created user complete: Hi",
      "message_created agent streaming: ",
      "message_completed agent complete: one",
    ]);
    expect(live.session.getSnapshot()).toEqual(await truth());
  });

  it("gets 304 for a poll when nothing has changed", async () => {
    blocked(0);
    const listener = vi.fn<() => void>();
    await live.session.refresh();
    live.session.subscribe(listener);
    await live.served.until(() => state() === "polling");
    const before = live.session.getSnapshot();
    const asked = live.served.proxy.seen.length;
    await live.served.until(() => live.served.proxy.seen.length >= asked + 3, 100);
    expect(live.session.getSnapshot()).toBe(before);
    expect(live.served.proxy.heads.at(-1)?.["if-none-match"]).toMatch(/^"/);
  });

  it("polls unconditionally first, because the stream has moved past the last snapshot read", async () => {
    live.session.subscribe(() => undefined);
    await live.served.until(() => state() === "live");
    await live.session.send("Hi");
    (await live.served.model.next()).say("one ");
    await live.served.until(() => lastContent() === "one ");
    blocked(0);
    const asked = live.served.proxy.seen.length;
    live.served.proxy.cut();
    await live.served.until(() => state() === "polling", 100);
    const first = live.served.proxy.seen.indexOf("GET /api/state", asked);
    expect(live.served.proxy.heads[first]).not.toHaveProperty("if-none-match");
  });

  it("polls again at once if a message was sent during a poll", async () => {
    blocked(0);
    const gate = Promise.withResolvers<void>();
    let isHeld = false;
    const holding: typeof fetch = async (input, init) => {
      const response = await fetch(input, init);
      if (isHeld && response.url.endsWith("/api/state")) await gate.promise;
      return response;
    };
    live.begin({ fetch: holding });
    live.session.subscribe(() => undefined);
    await live.served.until(() => state() === "polling");
    isHeld = true;
    const asked = live.served.proxy.seen.length;
    await live.served.until(() => live.served.proxy.seen.length > asked, 100);
    await live.session.send("Hi");
    gate.resolve();
    await live.served.until(() => (live.session.getSnapshot()?.messages.length ?? 0) > 0);
    expect(live.session.getSnapshot()?.messages[0]?.content).toBe("Hi");
  });

  it("stops on request and leaves no timer", async () => {
    blocked("swallow");
    live.session.subscribe(() => undefined);
    await live.served.until(() => state() === "polling", 100);
    live.session.stop();
    expect(state()).toBe("idle");
    await live.served.until(() => live.served.clock.timers === 0);
    const seen = live.served.proxy.seen.length;
    await live.served.clock.advance(600_000);
    expect(live.served.proxy.seen.length).toBe(seen);
  });
});
