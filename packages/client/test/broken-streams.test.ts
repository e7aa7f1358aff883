// A session stays in sync, without lost or duplicate events, when its stream breaks, stalls or never opens.

import { describe, expect, it, vi } from "vitest";
import { ColloquyError } from "../src/index.ts";
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
    await live.served.clock.advance(400);
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

  it("retries with exponential backoff, and immediately when the network is back", async () => {
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
    expect(pauses.map((ms) => Math.round(ms / 500))).toEqual([1, 2, 4, 8, 16, 30, 30]);
    expect(live.session.getConnection().error).toMatchObject({ code: "network_failed", status: 0 });
    live.served.proxy.plan = () => null;
    live.served.wake();
    await live.served.until(() => state() === "live");
    // A stream that stays open resets the failure count.
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

  it("fetches a snapshot when events are missing, and reports the missed changes", async () => {
    const { updates } = record();
    await live.served.until(() => state() === "live");
    live.served.proxy.plan = () => "refuse";
    live.served.proxy.cut();
    await live.served.until(() => state() === "waiting");
    // A new incarnation of the session makes replay impossible.
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

describe("a proxy that responds instead of the service", () => {
  /** Responses of proxies and captive portals. */
  const FOREIGN = [
    { status: 404, body: "default backend - 404" },
    { status: 403, headers: { "content-type": "text/html" }, body: "<html>Forbidden</html>" },
    { status: 401, headers: { "content-type": "application/json" }, body: '{"message":"Unauthorized"}' },
    { status: 502, headers: { "content-type": "text/html" }, body: "<html>Bad Gateway</html>" },
    { status: 204 },
    { status: 200, headers: { "content-type": "text/html" }, body: "<html>Log in</html>" },
  ];

  it.each(FOREIGN)("does not stop the session with temporary responses: %j", async (foreign) => {
    const { updates } = record();
    await live.served.until(() => state() === "live");
    await live.session.send("Hi");
    const call = await live.served.model.next();
    call.say("one ");
    await live.served.until(() => lastContent() === "one ");
    live.served.proxy.plan = () => foreign;
    live.served.proxy.cut();
    const seen = live.served.proxy.seen.length;
    await live.served.until(() => live.served.proxy.seen.length > seen + 4, 1_000);
    expect(["waiting", "connecting", "polling"]).toContain(state());
    call.say("two").finish();
    live.served.proxy.plan = () => null;
    live.served.wake();
    await live.served.until(isIdle, 1_000);
    expect(messageEvents(updates).at(-1)).toBe("message_completed agent complete: one two");
    expect(live.session.getSnapshot()).toEqual(await truth());
  });

  it.each(FOREIGN)("makes the session poll if it blocks only streams: %j", async (foreign) => {
    live.served.proxy.plan = ({ path }) => (path === "/api/updates" ? foreign : null);
    live.session.subscribe(() => undefined);
    await live.served.until(() => state() === "polling", 100);
    await live.session.send("Hi");
    (await live.served.model.next()).say("one").finish();
    await live.served.until(() => lastContent() === "one" && isIdle(), 100);
    expect(state()).toBe("polling");
  });
});

describe("an error in the client", () => {
  it("stops the session with `client_failed` and the cause, not with a network failure", async () => {
    const defect = new RangeError("not the network");
    const broken: typeof fetch = async (input, init) => {
      const response = await fetch(input, init);
      // Reading `headers` throws while the client handles the response.
      return new Proxy(response, {
        get: (of, name) => {
          if (name === "headers") throw defect;
          const value: unknown = Reflect.get(of, name, of);
          return typeof value === "function" ? value.bind(of) : value;
        },
      });
    };
    live.begin({ fetch: broken });
    live.session.subscribe(() => undefined);
    await live.served.until(() => state() === "failed", 100);
    const { error } = live.session.getConnection();
    expect(error).toBeInstanceOf(ColloquyError);
    expect(error).toMatchObject({ code: "client_failed", cause: defect });
    expect(error?.message).toContain("not the network");
  });
});

describe("a fetch without streaming support", () => {
  it("makes the session poll and reports `no_streams`", async () => {
    const whole: typeof fetch = async (input, init) => {
      const response = await fetch(input, init);
      Object.defineProperty(response, "body", { value: undefined });
      return response;
    };
    live.begin({ fetch: whole });
    live.session.subscribe(() => undefined);
    await live.served.until(() => state() === "polling", 100);
    await live.session.send("Hi");
    (await live.served.model.next()).say("one").finish();
    await live.served.until(() => lastContent() === "one" && isIdle(), 100);
    expect(live.session.getConnection().error).toMatchObject({ code: "no_streams" });
  });

  it("sends no stream requests if `Response` has no `body`", async () => {
    const body = Object.getOwnPropertyDescriptor(Response.prototype, "body")!;
    delete (Response.prototype as { body?: unknown }).body;
    try {
      live.session.subscribe(() => undefined);
      await live.served.until(() => state() === "polling", 100);
      const polls = (): number => live.served.proxy.seen.length;
      await live.served.until(() => polls() > 40, 1_000);
      expect(live.session.getConnection().error).toMatchObject({ code: "no_streams" });
      expect(live.served.proxy.seen).not.toContain("GET /api/updates");
    } finally {
      Object.defineProperty(Response.prototype, "body", body);
    }
  });
});

describe("with streams blocked", () => {
  const blocked = (
    fault: "swallow" | "refuse" | 0 | { status: number; headers?: Record<string, string>; body?: string },
  ) => {
    live.served.proxy.plan = ({ path }) => (path === "/api/updates" ? fault : null);
  };

  it.each([
    ["no response arrives", "swallow"],
    ["the connection breaks before the first byte", 0],
    [
      "a captive portal responds",
      { status: 200, headers: { "content-type": "text/html" }, body: "<p>Portal</p>" },
    ],
    [
      "the service rejects the stream with 429",
      { status: 429, headers: { "content-type": "application/problem+json" }, body: "{}" },
    ],
  ] as const)("polls, and streams again later, if %s", async (_name, fault) => {
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

  it("reports an answer that started before the break exactly once", async () => {
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

  it("sends `If-None-Match` and keeps its snapshot on a 304", async () => {
    blocked(0);
    const listener = vi.fn<() => void>();
    await live.session.refresh();
    live.session.subscribe(listener);
    await live.served.until(() => state() === "polling");
    const before = live.session.getSnapshot();
    const requests = live.served.proxy.seen.length;
    await live.served.until(() => live.served.proxy.seen.length >= requests + 3, 100);
    expect(live.session.getSnapshot()).toBe(before);
    expect(live.served.proxy.heads.at(-1)?.["if-none-match"]).toMatch(/^"/);
  });

  it("sends its first poll without `If-None-Match`, because the stream is newer than the last snapshot", async () => {
    live.session.subscribe(() => undefined);
    await live.served.until(() => state() === "live");
    await live.session.send("Hi");
    (await live.served.model.next()).say("one ");
    await live.served.until(() => lastContent() === "one ");
    blocked(0);
    const requests = live.served.proxy.seen.length;
    live.served.proxy.cut();
    await live.served.until(() => state() === "polling", 100);
    const first = live.served.proxy.seen.indexOf("GET /api/state", requests);
    expect(live.served.proxy.heads[first]).not.toHaveProperty("if-none-match");
  });

  it("polls again at once if a message was sent during a poll", async () => {
    blocked(0);
    const gate = Promise.withResolvers<void>();
    let isBlocked = false;
    const blocking: typeof fetch = async (input, init) => {
      const response = await fetch(input, init);
      if (isBlocked && response.url.endsWith("/api/state")) await gate.promise;
      return response;
    };
    live.begin({ fetch: blocking });
    live.session.subscribe(() => undefined);
    await live.served.until(() => state() === "polling");
    isBlocked = true;
    const requests = live.served.proxy.seen.length;
    await live.served.until(() => live.served.proxy.seen.length > requests, 100);
    await live.session.send("Hi");
    gate.resolve();
    await live.served.until(() => (live.session.getSnapshot()?.messages.length ?? 0) > 0);
    expect(live.session.getSnapshot()?.messages[0]?.content).toBe("Hi");
  });

  it("stops polling on `stop` and leaves no timers", async () => {
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

describe("a device that wakes after an hour", () => {
  it("catches up within two seconds if its connection broke without an error", async () => {
    // The network drops all packets and resets no connection.
    const fault = { collects: 1 };
    live.served.proxy.plan = ({ path }) => (path === "/api/updates" ? fault : null);
    const { updates } = record();
    await live.served.until(() => state() === "live");
    fault.collects = Number.MAX_SAFE_INTEGER;
    live.served.pass(3_600_000);
    const sending = live.served.direct.sendMessage(live.session.id, "Meanwhile", { wait: true });
    (await live.served.model.next()).say("Done").finish();
    await sending;
    // Timers do not run during sleep, so the stream has not timed out.
    expect(state()).toBe("live");
    const seen = live.served.proxy.seen.length;
    live.served.wake();
    await live.served.until(() => live.served.proxy.seen.length > seen);
    const woken = live.served.clock.monotonic();
    await live.served.until(() => lastContent() === "Done", 10);
    expect(live.served.clock.monotonic() - woken).toBeLessThanOrEqual(2_500);
    expect(messageEvents(updates).at(-1)).toBe("message_completed agent complete: Done");
    live.served.proxy.plan = () => null;
    await live.served.until(() => state() === "live", 100);
  });
});

describe("100 clients that lose their streams at once", () => {
  it("spread their reconnects over two seconds", async () => {
    // Seeded linear congruential generator: the test is deterministic.
    let seed = 1;
    const random = (): number => (seed = (seed * 48_271) % 2_147_483_647) / 2_147_483_647;
    const { clock, proxy } = live.served;
    const timing = {
      after: (ms: number, callback: () => void) => clock.after(ms, callback),
      random,
      onWake: () => () => undefined,
    };
    const sessions = Array.from({ length: 100 }, () => live.served.client({ timing }).session());
    for (const session of sessions) session.subscribe(() => undefined);
    const all = (state: string): boolean => sessions.every((one) => one.getConnection().state === state);
    await live.served.until(() => all("live"));
    proxy.cut();
    await live.served.until(() => all("waiting"));
    const before = proxy.seen.length;
    const perStep: number[] = [];
    let counted = before;
    for (let ms = 0; ms < 2_000; ms += 100) {
      await clock.advance(100);
      // A connection leaves the state `waiting` when it sends its request.
      const due = sessions.filter((one) => one.getConnection().state !== "waiting").length;
      await live.served.until(() => proxy.seen.length - before >= due);
      perStep.push(proxy.seen.length - counted);
      counted = proxy.seen.length;
    }
    await live.served.until(() => all("live"));
    expect(perStep.reduce((sum, count) => sum + count)).toBe(100);
    expect(Math.max(...perStep)).toBeLessThanOrEqual(15);
    for (const session of sessions) session.stop();
  });
});

describe("a proxy that buffers 4 KB", () => {
  const fault = { collects: 1 };

  /** Opens a stream and starts an answer. The proxy then buffers the rest. */
  async function startAnswer() {
    live.served.proxy.plan = ({ path }) => (path === "/api/updates" ? fault : null);
    fault.collects = 1;
    await live.served.until(() => state() === "live", 100);
    await live.session.send("Hi");
    const call = await live.served.model.next();
    call.say("one ");
    await live.served.until(() => lastContent() === "one ");
    fault.collects = 4096;
    return call;
  }
  /** Waits for a condition and returns the elapsed milliseconds on the clients' clock. */
  async function duration(condition: () => boolean, step = 10): Promise<number> {
    const start = live.served.clock.monotonic();
    await live.served.until(condition, step);
    return live.served.clock.monotonic() - start;
  }
  const streams = (): number => live.served.proxy.seen.filter((seen) => seen === "GET /api/updates").length;

  it("is detected within seven seconds of the end of an answer, and the session polls", async () => {
    const { updates } = record();
    const call = await startAnswer();
    call.say("two").finish();
    expect(await duration(isIdle)).toBeLessThanOrEqual(7_500);
    expect(live.session.getConnection()).toMatchObject({
      state: "polling",
      error: { code: "stream_delayed" },
    });
    expect(messageEvents(updates).at(-1)).toBe("message_completed agent complete: one two");
    expect(live.session.getSnapshot()).toEqual(await truth());
  });

  it("is detected when text is missing in the middle of an answer", async () => {
    live.session.subscribe(() => undefined);
    const call = await startAnswer();
    call.say("two");
    expect(await duration(() => lastContent() === "one two")).toBeLessThanOrEqual(7_500);
    call.finish();
    await live.served.until(isIdle, 100);
  });

  it("is detected within four seconds of the response to a message", async () => {
    live.session.subscribe(() => undefined);
    const call = await startAnswer();
    fault.collects = 1;
    call.finish();
    await live.served.until(isIdle);
    fault.collects = 4096;
    await live.session.send("More");
    expect(await duration(() => lastContent() === "More")).toBeLessThanOrEqual(4_500);
    (await live.served.model.next()).finish();
    await live.served.until(isIdle, 100);
  });

  it("makes the session retry the stream less often after each delayed stream", async () => {
    live.session.subscribe(() => undefined);
    live.served.proxy.plan = ({ path }) => (path === "/api/updates" ? fault : null);
    fault.collects = 1;
    const waits: number[] = [];
    for (let round = 0; round < 3; round += 1) {
      await live.served.until(() => state() === "live", 100);
      fault.collects = 4096;
      await live.session.send("Hi");
      (await live.served.model.next()).finish();
      await live.served.until(() => state() === "polling" && isIdle(), 100);
      const before = streams();
      fault.collects = 1;
      waits.push(await duration(() => streams() > before, 100));
    }
    expect(waits.map((ms) => Math.round(ms / 7_500))).toEqual([4, 6, 10]);
  });

  it("is not reported for a silent stream that is up to date", async () => {
    live.session.subscribe(() => undefined);
    const call = await startAnswer();
    fault.collects = 1;
    const seen = live.served.proxy.seen.length;
    // Stays below the 40 seconds after which the client closes a silent stream.
    await live.served.until(() => live.served.proxy.seen.length >= seen + 2, 100);
    await live.served.clock.advance(2_000);
    expect(live.served.proxy.seen.slice(seen)).toEqual(["GET /api/state", "GET /api/state"]);
    expect(live.served.proxy.heads.at(-1)?.["if-none-match"]).toMatch(/^"/);
    expect(state()).toBe("live");
    call.finish();
    await live.served.until(isIdle);
  });
});
