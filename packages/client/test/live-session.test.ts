import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { ColloquyError, type LiveSession, type SessionUpdate, type Snapshot } from "../src/index.ts";
import { serve, type Served } from "./served.ts";

let served: Served;
let session: LiveSession;

beforeEach(async () => {
  served = await serve();
  session = served.client().session(randomUUID());
});
afterEach(async () => {
  session.stop();
  await served.stop();
});

const state = (): string => session.getConnection().state;
const lastContent = (): string | undefined => session.getSnapshot()?.messages.at(-1)?.content;
const isIdle = (): boolean => session.getSnapshot()?.is_processing === false;

/** Everything that is told from now on, until it ends. */
function record(signal?: AbortSignal): {
  readonly updates: SessionUpdate[];
  readonly ended: Promise<unknown>;
} {
  const updates: SessionUpdate[] = [];
  const loop = async (): Promise<void> => {
    for await (const update of session.updates({ signal })) updates.push(update);
  };
  return {
    updates,
    ended: loop().then(
      () => "ended",
      (error: unknown) => error,
    ),
  };
}

/** What a reader has of the last answer who takes a message as it was created and then only appends. */
function readText(updates: readonly SessionUpdate[]): string {
  return updates.reduce((text, update) => {
    if (update.type === "message_created") return update.message.content;
    if (update.type !== "message_delta") return text;
    return update.offset === 0 ? update.text : text + update.text;
  }, "");
}

/** Each message that was told, as often as it was told. */
function told(updates: readonly SessionUpdate[]): string[] {
  return updates.flatMap((update) =>
    "message" in update && typeof update.message === "object"
      ? [`${update.type} ${update.message.sender} ${update.message.status}: ${update.message.content}`]
      : [],
  );
}

async function truth(): Promise<Snapshot> {
  return served.direct.getState(session.id);
}

describe("a session that nobody listens to", () => {
  it("opens nothing, and knows what was answered", async () => {
    expect(session.getSnapshot()).toBeNull();
    const sending = session.send("Hi", { wait: true });
    (await served.model.next()).say("Hello").finish();
    const snapshot = await sending;
    expect(snapshot.messages.map(({ content }) => content)).toEqual(["Hi", "Hello"]);
    expect(session.getSnapshot()).toBe(snapshot);
    expect(served.proxy.seen).toEqual(["POST /api/chat"]);
    expect([state(), served.clock.timers]).toEqual(["idle", 0]);
  });
});

describe("a session that is listened to", () => {
  it("shows the answer as it grows, and tells every listener", async () => {
    const listener = vi.fn<() => void>();
    session.subscribe(listener);
    await served.until(() => state() === "live");
    await session.send("Hi");
    const call = await served.model.next();
    call.say("Hel");
    await served.until(() => lastContent() === "Hel");
    const { messages } = session.getSnapshot()!;
    call.say("lo");
    await served.until(() => lastContent() === "Hello");
    expect(session.getSnapshot()!.messages[0]).toBe(messages[0]);
    const calls = listener.mock.calls.length;
    call.finish();
    await served.until(isIdle);
    await served.until(() => session.getSnapshot()?.title === "Hi");
    expect(listener.mock.calls.length).toBeGreaterThan(calls);
    expect(session.getSnapshot()).toEqual(await truth());
  });

  it("tells everything that a message causes, also when it is sent before the loop has begun", async () => {
    const updates = session.updates();
    const sending = session.send("Hi");
    (await served.model.next()).say("Hello").finish();
    await sending;
    const seen: SessionUpdate[] = [];
    for await (const update of updates) {
      seen.push(update);
      if (update.type === "state_changed" && update.status === "idle") break;
    }
    expect(told(seen)).toEqual([
      "message_created user complete: Hi",
      "message_created agent streaming: ",
      "message_completed agent complete: Hello",
    ]);
    expect(readText(seen)).toBe("Hello");
    expect(state()).toBe("idle");
    await served.until(() => served.clock.timers === 0);
  });

  it("goes on after the last listener has left and another one comes", async () => {
    const leave = session.subscribe(() => undefined);
    await served.until(() => state() === "live");
    leave();
    expect(state()).toBe("idle");
    await served.until(() => served.clock.timers === 0 && served.proxy.streams === 0);
    const sending = served.direct.sendMessage(session.id, "Hi", { wait: true });
    (await served.model.next()).say("Hello").finish();
    await sending;
    const { updates } = record();
    await served.until(isIdle);
    await served.until(() => told(updates).length === 3);
    expect(lastContent()).toBe("Hello");
  });

  it("a listener that throws spoils nothing for the others", async () => {
    const thrown: unknown[] = [];
    const onError = (error: unknown): void => void thrown.push(error);
    const others = process.listeners("uncaughtException");
    process.removeAllListeners("uncaughtException").on("uncaughtException", onError);
    try {
      session.subscribe(() => {
        throw new Error("A mistake");
      });
      const second = vi.fn<() => void>();
      session.subscribe(second);
      await served.until(() => state() === "live");
      expect(second).toHaveBeenCalled();
      expect(thrown[0]).toEqual(new Error("A mistake"));
    } finally {
      process.removeAllListeners("uncaughtException");
      for (const other of others) process.on("uncaughtException", other);
    }
  });

  it("stops when it is told: loops end, requests throw, streams are closed, no timer is left", async () => {
    const { ended } = record();
    await served.until(() => state() === "live");
    const waiting = session.send("Hi", { wait: true }).catch((error: unknown) => error);
    await served.model.next();
    session.stop();
    expect(await ended).toBe("ended");
    expect(await waiting).toMatchObject({ code: "stopped" });
    expect(state()).toBe("idle");
    await served.until(() => served.clock.timers === 0 && served.proxy.streams === 0);
    session.subscribe(() => undefined);
    await served.until(() => state() === "live");
  });

  it("a loop ends with its signal", async () => {
    const abort = new AbortController();
    const { ended } = record(abort.signal);
    await served.until(() => state() === "live");
    abort.abort();
    expect(await ended).toBe("ended");
    expect(state()).toBe("idle");
    await served.until(() => served.clock.timers === 0);
  });

  it("interrupts, renames, chooses a model, decides", async () => {
    session.subscribe(() => undefined);
    await session.send("what is 12 * 7");
    (await served.model.next()).callTool("calculator", { expression: "12 * 7" }).finish("tool-calls");
    await served.until(() => session.getSnapshot()?.pending_actions.length === 1);
    const [action] = session.getSnapshot()!.pending_actions;
    expect((await session.resolve(action!.id, { decision: "approve" })).status).toBe("approved");
    (await served.model.next()).say("84").finish();
    await served.until(() => isIdle() && lastContent() === "84");
    expect(session.getSnapshot()!.pending_actions).toEqual([]);
    await session.rename("Sums");
    await session.setModel("demo/assistant");
    await served.until(() => session.getSnapshot()?.title === "Sums");
    await served.until(() => session.getSnapshot()?.model === "demo/assistant");
    await session.setModel("test/scripted");
    await session.send("On");
    await served.model.next();
    expect((await session.interrupt()).status).toBe("interrupted");
    await served.until(() => session.getSnapshot()?.status === "interrupted");
    expect(session.getSnapshot()).toEqual(await truth());
  });
});

describe("a stream that breaks", () => {
  it("is resumed after a pause, and nothing is lost or doubled", async () => {
    const { updates } = record();
    await served.until(() => state() === "live");
    await session.send("Hi");
    const call = await served.model.next();
    call.say("one ");
    await served.until(() => lastContent() === "one ");
    served.proxy.cut();
    await served.until(() => state() === "waiting");
    call.say("two ");
    await served.clock.advance(900);
    expect(state()).toBe("waiting");
    await served.until(() => state() === "live", 100);
    await served.until(() => lastContent() === "one two ");
    call.say("three").finish();
    await served.until(isIdle);
    expect(readText(updates)).toBe("one two three");
    expect(told(updates)).toEqual([
      "message_created user complete: Hi",
      "message_created agent streaming: ",
      "message_completed agent complete: one two three",
    ]);
    expect(served.proxy.heads.at(-1)?.["last-event-id"]).toMatch(/-\d+$/);
    expect(session.getSnapshot()).toEqual(await truth());
  });

  it("is tried after pauses that grow, at most 30 seconds, and at once when the network is back", async () => {
    session.subscribe(() => undefined);
    await served.until(() => state() === "live");
    served.proxy.plan = () => "refuse";
    served.proxy.cut();
    const pauses: number[] = [];
    for (let turn = 0; turn < 7; turn += 1) {
      await served.until(() => state() === "waiting");
      const seen = served.proxy.seen.length;
      let ms = 0;
      while (served.proxy.seen.length === seen) {
        await served.clock.advance(250);
        ms += 250;
        await sleep(2);
      }
      pauses.push(ms);
      await served.until(() => state() === "waiting" && served.proxy.seen.length >= seen + 2);
    }
    expect(pauses.map((ms) => Math.round(ms / 1000))).toEqual([1, 2, 4, 8, 15, 15, 15]);
    expect(session.getConnection().error).toMatchObject({ code: "network_failed", status: 0 });
    served.proxy.plan = () => null;
    served.wake();
    await served.until(() => state() === "live");
    // A stream that has lasted makes what was before forgotten.
    await served.clock.advance(5_000);
    served.proxy.cut();
    await served.until(() => state() === "waiting");
    await served.clock.advance(1_000);
    await served.until(() => state() === "live");
  });

  it("is given up when it says nothing for 40 seconds", async () => {
    session.subscribe(() => undefined);
    await served.until(() => state() === "live");
    await served.clock.advance(39_000);
    expect(state()).toBe("live");
    await served.until(() => state() !== "live", 500);
    await served.until(() => state() === "live", 100);
  });

  it("has a snapshot fetched when events are missing, and tells what must have happened", async () => {
    const { updates } = record();
    await served.until(() => state() === "live");
    served.proxy.plan = () => "refuse";
    served.proxy.cut();
    await served.until(() => state() === "waiting");
    // The session begins a new life meanwhile: nothing can be replayed.
    await served.direct.deleteThread(session.id);
    const sending = served.direct.sendMessage(session.id, "Hi", { wait: true });
    (await served.model.next()).say("Hello").finish();
    await sending;
    served.proxy.plan = () => null;
    await served.until(() => state() === "live", 500);
    await served.until(() => lastContent() === "Hello");
    await served.until(() => session.getSnapshot()?.title === "Hi");
    expect(told(updates)).toEqual([
      "message_created user complete: Hi",
      "message_created agent complete: Hello",
      "message_completed agent complete: Hello",
    ]);
    expect(session.getSnapshot()).toEqual(await truth());
  });
});

describe("where streams are blocked", () => {
  const blocked = (
    fault: "swallow" | 0 | { status: number; headers?: Record<string, string>; body?: string },
  ) => {
    served.proxy.plan = ({ path }) => (path === "/api/updates" ? fault : null);
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
  ] as const)(
    "because %s, the session is polled, and followed again when they are not",
    async (_name, fault) => {
      blocked(fault);
      const { updates } = record();
      await served.until(() => state() === "polling", 100);
      await session.send("Hi");
      const call = await served.model.next();
      call.say("one ");
      await served.until(() => lastContent() === "one ", 100);
      call.say("two ");
      await served.until(() => lastContent() === "one two ", 100);
      served.proxy.plan = () => null;
      await served.until(() => state() === "live", 100);
      call.say("three").finish();
      await served.until(isIdle);
      expect(readText(updates)).toBe("one two three");
      expect(told(updates)).toEqual([
        "message_created user complete: Hi",
        expect.stringMatching(/^message_created agent streaming: /),
        "message_completed agent complete: one two three",
      ]);
      expect(session.getSnapshot()).toEqual(await truth());
    },
  );

  it("a question is answered with nothing when nothing has changed", async () => {
    blocked(0);
    const listener = vi.fn<() => void>();
    await session.refresh();
    session.subscribe(listener);
    await served.until(() => state() === "polling");
    const before = session.getSnapshot();
    const asked = served.proxy.seen.length;
    await served.until(() => served.proxy.seen.length >= asked + 3, 100);
    expect(session.getSnapshot()).toBe(before);
    expect(served.proxy.heads.at(-1)?.["if-none-match"]).toMatch(/^"/);
  });

  it("the first question asks for everything, because what was read before the stream is not what is known", async () => {
    session.subscribe(() => undefined);
    await served.until(() => state() === "live");
    await session.send("Hi");
    (await served.model.next()).say("one ");
    await served.until(() => lastContent() === "one ");
    blocked(0);
    const asked = served.proxy.seen.length;
    served.proxy.cut();
    await served.until(() => state() === "polling", 100);
    const first = served.proxy.seen.indexOf("GET /api/state", asked);
    expect(served.proxy.heads[first]).not.toHaveProperty("if-none-match");
  });

  it("a question that was under way when something was sent is followed by another one at once", async () => {
    blocked(0);
    const gate = Promise.withResolvers<void>();
    let isHeld = false;
    const holding: typeof fetch = async (input, init) => {
      const response = await fetch(input, init);
      if (isHeld && response.url.endsWith("/api/state")) await gate.promise;
      return response;
    };
    session = served.client({ fetch: holding }).session();
    session.subscribe(() => undefined);
    await served.until(() => state() === "polling");
    isHeld = true;
    const asked = served.proxy.seen.length;
    await served.until(() => served.proxy.seen.length > asked, 100);
    await session.send("Hi");
    gate.resolve();
    await served.until(() => (session.getSnapshot()?.messages.length ?? 0) > 0);
    expect(session.getSnapshot()?.messages[0]?.content).toBe("Hi");
  });

  it("stops when it is told, and leaves no timer", async () => {
    blocked("swallow");
    session.subscribe(() => undefined);
    await served.until(() => state() === "polling", 100);
    session.stop();
    expect(state()).toBe("idle");
    await served.until(() => served.clock.timers === 0);
    const seen = served.proxy.seen.length;
    await served.clock.advance(600_000);
    expect(served.proxy.seen.length).toBe(seen);
  });
});

describe("a session that cannot be followed", () => {
  it("because it is refused ends its loops with the error", async () => {
    const body = JSON.stringify({ code: "app_key_invalid", detail: "The key has ended.", request_id: "r-1" });
    served.proxy.plan = () => ({ status: 401, headers: { "x-request-id": "r-1" }, body });
    const { ended } = record();
    const error = await ended;
    expect(error).toBeInstanceOf(ColloquyError);
    expect(error).toMatchObject({
      code: "app_key_invalid",
      status: 401,
      requestId: "r-1",
      message: "The key has ended.",
    });
    expect([state(), served.clock.timers]).toEqual(["failed", 0]);
    served.proxy.plan = () => null;
    session.subscribe(() => undefined);
    await served.until(() => state() === "live");
  });

  it.each<[string, () => Promise<unknown>]>([
    ["refresh", () => session.refresh()],
    ["interrupt", () => session.interrupt()],
    ["rename", () => session.rename("Renamed")],
    ["setModel", () => session.setModel("demo/assistant")],
  ])("because it was refused is tried again after %s was not", async (_name, ask) => {
    await served.direct.createSession(session.id);
    served.proxy.plan = () => ({ status: 401, body: JSON.stringify({ code: "no", detail: "No." }) });
    session.subscribe(() => undefined);
    await served.until(() => state() === "failed");
    await expect(ask()).rejects.toMatchObject({ code: "no" });
    expect(state()).toBe("failed");
    served.proxy.plan = () => null;
    await ask();
    await served.until(() => state() === "live");
    expect(session.getSnapshot()).toEqual(await served.direct.getState(session.id));
  });

  it("because somebody deleted it says so, and does not make it anew", async () => {
    const { updates, ended } = record();
    await served.until(() => state() === "live");
    await served.direct.deleteThread(session.id);
    expect(await ended).toBe("ended");
    expect(updates.at(-1)).toMatchObject({ type: "system_notice", code: "session_deleted" });
    expect([state(), served.clock.timers]).toEqual(["deleted", 0]);
    expect(await record().ended).toBe("ended");
    const asked = served.proxy.seen.length;
    session.subscribe(() => undefined);
    await sleep(20);
    expect([state(), served.proxy.seen.length]).toEqual(["deleted", asked]);
    await expect(served.direct.getSession(session.id)).rejects.toMatchObject({ status: 404 });
  });

  it("because it is deleted here ends, also where streams are blocked", async () => {
    served.proxy.plan = ({ path }) => (path === "/api/updates" ? 0 : null);
    const { ended } = record();
    await served.until(() => state() === "polling");
    const deleting = session.delete();
    const late = record();
    await deleting;
    expect(await Promise.all([ended, late.ended])).toEqual(["ended", "ended"]);
    expect(state()).toBe("deleted");
    await served.until(() => served.clock.timers === 0);
    await expect(served.direct.getSession(session.id)).rejects.toMatchObject({ code: "session_not_found" });
  });

  it("because it is being deleted is not asked for, which would make it anew", async () => {
    served.proxy.plan = ({ method, path }) => {
      if (method === "DELETE") return "swallow";
      return path === "/api/updates" ? 0 : null;
    };
    session.subscribe(() => undefined);
    await served.until(() => state() === "polling");
    const deleting = session.delete().catch((error: unknown) => error);
    await served.until(() => served.proxy.seen.at(-1)?.startsWith("DELETE") === true);
    const asked = served.proxy.seen.length;
    session.subscribe(() => undefined);
    for (let second = 0; second < 10; second += 1) {
      await served.clock.advance(1_000);
      await sleep(2);
    }
    expect(served.proxy.seen.length).toBe(asked);
    session.stop();
    expect(await deleting).toMatchObject({ code: "stopped" });
  });

  it("goes on when it could not be deleted", async () => {
    session.subscribe(() => undefined);
    await served.until(() => state() === "live");
    served.proxy.plan = ({ method }) => (method === "DELETE" ? "refuse" : null);
    await expect(session.delete()).rejects.toMatchObject({ code: "network_failed" });
    await served.until(() => state() === "live");
  });
});
