import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it, vi } from "vitest";
import { ColloquyError, type SessionUpdate } from "../src/index.ts";
import { readText, messageEvents, useLiveSession } from "./use-live-session.ts";

const live = useLiveSession();
const { isIdle, lastContent, record, state, truth } = live;

describe("a session without subscribers", () => {
  it("opens no connection, and keeps the snapshots of responses", async () => {
    expect(live.session.getSnapshot()).toBeNull();
    const sending = live.session.send("Hi", { wait: true });
    (await live.served.model.next()).say("Hello").finish();
    const snapshot = await sending;
    expect(snapshot.messages.map(({ content }) => content)).toEqual(["Hi", "Hello"]);
    expect(live.session.getSnapshot()).toBe(snapshot);
    expect(live.served.proxy.seen).toEqual(["POST /api/chat"]);
    expect([state(), live.served.clock.timers]).toEqual(["idle", 0]);
  });
});

describe("a session with subscribers", () => {
  it("shows the growing answer and notifies every subscriber", async () => {
    const listener = vi.fn<() => void>();
    live.session.subscribe(listener);
    await live.served.until(() => state() === "live");
    await live.session.send("Hi");
    const call = await live.served.model.next();
    call.say("Hel");
    await live.served.until(() => lastContent() === "Hel");
    const { messages } = live.session.getSnapshot()!;
    call.say("lo");
    await live.served.until(() => lastContent() === "Hello");
    expect(live.session.getSnapshot()!.messages[0]).toBe(messages[0]);
    const calls = listener.mock.calls.length;
    call.finish();
    await live.served.until(isIdle);
    await live.served.until(() => live.session.getSnapshot()?.title === "Hi");
    expect(listener.mock.calls.length).toBeGreaterThan(calls);
    expect(live.session.getSnapshot()).toEqual(await truth());
  });

  it("replaces a message while its answer streams", async () => {
    const updates = live.session.updates();
    await live.session.send("Hi");
    (await live.served.model.next()).say("Hel");
    await live.served.until(() => lastContent() === "Hel");
    const replaces = live.session.getSnapshot()!.messages[0]!.id;
    await live.session.send("Bye", { replaces });
    (await live.served.model.next()).say("Farewell").finish();
    const seen: SessionUpdate[] = [];
    for await (const update of updates) {
      seen.push(update);
      if (update.type === "state_changed" && update.status === "idle") break;
    }
    expect(seen.filter(({ type }) => type === "messages_removed")).toMatchObject([{ from: replaces }]);
  });

  it("reads data, and reasoning on request, of an answer whose first try was rejected", async () => {
    const updates = live.session.updates();
    const schema = { type: "object", required: ["city"] };
    await live.session.send("Where?", { responseSchema: schema });
    (await live.served.model.next()).say("Oslo").finish();
    const second = await live.served.model.next();
    second.emit(
      { type: "reasoning-start", id: "r" },
      { type: "reasoning-delta", id: "r", delta: "They want a city." },
      { type: "reasoning-end", id: "r" },
    );
    second.say('{"city":"Oslo"}').finish();
    let text = "";
    for await (const update of updates) {
      if (update.type === "message_delta") text = text.slice(0, update.offset) + update.text;
      if (update.type === "state_changed" && update.status === "idle") break;
    }
    expect(text).toBe('{"city":"Oslo"}');
    const [question, answer] = live.session.getSnapshot()!.messages;
    expect(answer).toMatchObject({ content: text, data: { city: "Oslo" }, has_reasoning: true });
    expect(await live.session.reasoning(answer!.id)).toEqual([{ step: 2, text: "They want a city." }]);
    expect(await live.session.reasoning(question!.id)).toEqual([]);
  });

  it("reports all events of a message, also one sent before the loop has started", async () => {
    const updates = live.session.updates();
    const sending = live.session.send("Hi");
    (await live.served.model.next()).say("Hello").finish();
    await sending;
    const seen: SessionUpdate[] = [];
    for await (const update of updates) {
      seen.push(update);
      if (update.type === "state_changed" && update.status === "idle") break;
    }
    expect(messageEvents(seen)).toEqual([
      "message_created user complete: Hi",
      "message_created agent streaming: ",
      "message_completed agent complete: Hello",
    ]);
    expect(readText(seen)).toBe("Hello");
    expect(state()).toBe("idle");
    await live.served.until(() => live.served.clock.timers === 0);
  });

  it("continues for a new subscriber after the last one has left", async () => {
    const leave = live.session.subscribe(() => undefined);
    await live.served.until(() => state() === "live");
    leave();
    expect(state()).toBe("idle");
    await live.served.until(() => live.served.clock.timers === 0 && live.served.proxy.streams === 0);
    const sending = live.served.direct.sendMessage(live.session.id, "Hi", { wait: true });
    (await live.served.model.next()).say("Hello").finish();
    await sending;
    const { updates } = record();
    await live.served.until(isIdle);
    await live.served.until(() => messageEvents(updates).length === 3);
    expect(lastContent()).toBe("Hello");
  });

  it("isolates subscribers from each other's errors", async () => {
    const thrown: unknown[] = [];
    const onError = (error: unknown): void => void thrown.push(error);
    const others = process.listeners("uncaughtException");
    process.removeAllListeners("uncaughtException").on("uncaughtException", onError);
    try {
      live.session.subscribe(() => {
        throw new Error("A mistake");
      });
      const second = vi.fn<() => void>();
      live.session.subscribe(second);
      await live.served.until(() => state() === "live");
      expect(second).toHaveBeenCalled();
      expect(thrown[0]).toEqual(new Error("A mistake"));
    } finally {
      process.removeAllListeners("uncaughtException");
      for (const other of others) process.on("uncaughtException", other);
    }
  });

  it("ends loops, requests, streams and timers when stopped", async () => {
    const { ended } = record();
    await live.served.until(() => state() === "live");
    const waiting = live.session.send("Hi", { wait: true }).catch((error: unknown) => error);
    await live.served.model.next();
    live.session.stop();
    expect(await ended).toBe("ended");
    expect(await waiting).toMatchObject({ code: "stopped" });
    expect(state()).toBe("idle");
    await live.served.until(() => live.served.clock.timers === 0 && live.served.proxy.streams === 0);
    live.session.subscribe(() => undefined);
    await live.served.until(() => state() === "live");
  });

  it("ends a loop with its signal", async () => {
    const abort = new AbortController();
    const { ended } = record(abort.signal);
    await live.served.until(() => state() === "live");
    abort.abort();
    expect(await ended).toBe("ended");
    expect(state()).toBe("idle");
    await live.served.until(() => live.served.clock.timers === 0);
  });

  it("interrupts, renames, selects a model, and decides an action", async () => {
    live.session.subscribe(() => undefined);
    await live.session.send("what is 12 * 7");
    (await live.served.model.next()).callTool("calculator", { expression: "12 * 7" }).finish("tool-calls");
    await live.served.until(() => live.session.getSnapshot()?.pending_actions.length === 1);
    const [action] = live.session.getSnapshot()!.pending_actions;
    expect((await live.session.resolve(action!.id, { decision: "approve" })).status).toBe("approved");
    (await live.served.model.next()).say("84").finish();
    await live.served.until(() => isIdle() && lastContent() === "84");
    expect(live.session.getSnapshot()!.pending_actions).toEqual([]);
    await live.session.rename("Sums");
    await live.session.setModel("demo/assistant");
    await live.served.until(() => live.session.getSnapshot()?.title === "Sums");
    await live.served.until(() => live.session.getSnapshot()?.model === "demo/assistant");
    await live.session.setModel("test/scripted");
    await live.session.send("On");
    await live.served.model.next();
    expect((await live.session.interrupt()).status).toBe("interrupted");
    await live.served.until(() => live.session.getSnapshot()?.status === "interrupted");
    expect(live.session.getSnapshot()).toEqual(await truth());
  });
});

describe("a session that cannot be followed", () => {
  it("ends its loops with the error when the service refuses", async () => {
    const body = JSON.stringify({ code: "app_key_invalid", detail: "The key has ended.", request_id: "r-1" });
    live.served.proxy.plan = () => ({ status: 401, headers: { "x-request-id": "r-1" }, body });
    const { ended } = record();
    const error = await ended;
    expect(error).toBeInstanceOf(ColloquyError);
    expect(error).toMatchObject({
      code: "app_key_invalid",
      status: 401,
      requestId: "r-1",
      message: "The key has ended.",
    });
    expect([state(), live.served.clock.timers]).toEqual(["failed", 0]);
    live.served.proxy.plan = () => null;
    live.session.subscribe(() => undefined);
    await live.served.until(() => state() === "live");
  });

  it.each<[string, () => Promise<unknown>]>([
    ["refresh", () => live.session.refresh()],
    ["interrupt", () => live.session.interrupt()],
    ["rename", () => live.session.rename("Renamed")],
    ["setModel", () => live.session.setModel("demo/assistant")],
  ])("retries after a refusal once %s succeeds", async (_name, ask) => {
    await live.served.direct.createSession(live.session.id);
    live.served.proxy.plan = () => ({ status: 401, body: JSON.stringify({ code: "no", detail: "No." }) });
    live.session.subscribe(() => undefined);
    await live.served.until(() => state() === "failed");
    await expect(ask()).rejects.toMatchObject({ code: "no" });
    expect(state()).toBe("failed");
    live.served.proxy.plan = () => null;
    await ask();
    await live.served.until(() => state() === "live");
    expect(live.session.getSnapshot()).toEqual(await live.served.direct.getState(live.session.id));
  });

  it("reports a deletion elsewhere and does not create the session again", async () => {
    const { updates, ended } = record();
    await live.served.until(() => state() === "live");
    await live.served.direct.deleteThread(live.session.id);
    expect(await ended).toBe("ended");
    expect(updates.at(-1)).toMatchObject({ type: "system_notice", code: "session_deleted" });
    expect([state(), live.served.clock.timers]).toEqual(["deleted", 0]);
    expect(await record().ended).toBe("ended");
    const asked = live.served.proxy.seen.length;
    live.session.subscribe(() => undefined);
    await sleep(20);
    expect([state(), live.served.proxy.seen.length]).toEqual(["deleted", asked]);
    await expect(live.served.direct.getSession(live.session.id)).rejects.toMatchObject({ status: 404 });
  });

  it("shows a deletion that happened before it subscribed", async () => {
    await live.session.send("hello");
    await live.served.direct.deleteThread(live.session.id);
    expect(await record().ended).toBe("ended");
    expect(live.session.getConnection()).toEqual({ state: "deleted", error: null });
    await live.served.until(() => live.served.clock.timers === 0);
    await expect(live.served.direct.getSession(live.session.id)).rejects.toMatchObject({ status: 404 });
  });

  it("shows a deletion while it polls", async () => {
    live.served.proxy.plan = ({ path }) => (path === "/api/updates" ? 0 : null);
    const { ended } = record();
    await live.served.until(() => state() === "polling");
    await live.served.direct.deleteThread(live.session.id);
    live.session.refresh().catch(() => undefined);
    await live.served.clock.advance(10_000);
    expect(await ended).toBe("ended");
    expect(live.session.getConnection()).toEqual({ state: "deleted", error: null });
  });

  it("is live again after a message under the id of a deleted one", async () => {
    await live.session.send("hello");
    await live.session.delete();
    live.session.subscribe(() => undefined);
    await live.session.send("again");
    await live.served.until(() => state() === "live");
    expect(live.session.getSnapshot()?.messages[0]?.content).toBe("again");
  });

  it("ends after its own deletion, even while it polls", async () => {
    live.served.proxy.plan = ({ path }) => (path === "/api/updates" ? 0 : null);
    const { ended } = record();
    await live.served.until(() => state() === "polling");
    const deleting = live.session.delete();
    const late = record();
    await deleting;
    expect(await Promise.all([ended, late.ended])).toEqual(["ended", "ended"]);
    expect(state()).toBe("deleted");
    await live.served.until(() => live.served.clock.timers === 0);
    await expect(live.served.direct.getSession(live.session.id)).rejects.toMatchObject({
      code: "session_not_found",
    });
  });

  it("is not read during its deletion, because a read would create it again", async () => {
    live.served.proxy.plan = ({ method, path }) => {
      if (method === "DELETE") return "swallow";
      return path === "/api/updates" ? 0 : null;
    };
    live.session.subscribe(() => undefined);
    await live.served.until(() => state() === "polling");
    const deleting = live.session.delete().catch((error: unknown) => error);
    await live.served.until(() => live.served.proxy.seen.at(-1)?.startsWith("DELETE") === true);
    const asked = live.served.proxy.seen.length;
    live.session.subscribe(() => undefined);
    for (let second = 0; second < 10; second += 1) {
      await live.served.clock.advance(1_000);
      await sleep(2);
    }
    expect(live.served.proxy.seen.length).toBe(asked);
    live.session.stop();
    expect(await deleting).toMatchObject({ code: "stopped" });
  });

  it("continues if the deletion fails", async () => {
    live.session.subscribe(() => undefined);
    await live.served.until(() => state() === "live");
    live.served.proxy.plan = ({ method }) => (method === "DELETE" ? "refuse" : null);
    await expect(live.session.delete()).rejects.toMatchObject({ code: "network_failed" });
    await live.served.until(() => state() === "live");
  });
});

describe("unusual texts", () => {
  it("arrive unchanged in messages: U+2028, a carriage return, other scripts and emoji", async () => {
    const { updates } = record();
    await live.served.until(() => state() === "live");
    const text = "a\u2028b\u2029c\r\nd\re\u0085 שלום 修复 👩‍👩‍👧 data: [DONE]\n\nid: 5";
    await live.session.send(text);
    const call = await live.served.model.next();
    for (const character of text) call.say(character);
    call.finish();
    await live.served.until(isIdle);
    await live.served.until(() => live.session.getSnapshot()?.messages.length === 2);
    expect(live.session.getSnapshot()?.messages.map(({ content }) => content)).toEqual([text, text]);
    expect(readText(updates)).toBe(text);
  });

  it.each([
    ["NUL", "a\0b"],
    ["a lone surrogate", "a\ud800b"],
  ])("with %s are refused or arrive as the service's snapshot shows them", async (_what, text) => {
    live.session.subscribe(() => undefined);
    await live.served.until(() => state() === "live");
    const outcome = await live.session.send(text).catch((error: unknown) => error);
    if (outcome instanceof ColloquyError) {
      expect(outcome).toMatchObject({ status: 400, code: "text_invalid" });
      return;
    }
    (await live.served.model.next()).say(text).finish();
    await live.served.until(() => isIdle() && live.session.getSnapshot()?.messages.length === 2);
    expect(live.session.getSnapshot()).toEqual(await truth());
  });

  it("of a megabyte arrive whole", async () => {
    record();
    await live.served.until(() => state() === "live");
    await live.session.send("Hi");
    const call = await live.served.model.next();
    const line = `${"x".repeat(1_020)} 🫖\n`;
    for (let lines = 0; lines < 1_000; lines += 1) call.say(line);
    call.finish();
    // The service ends a stream that falls too far behind.
    await live.served.until(() => lastContent() === line.repeat(1_000) && isIdle(), 100);
    expect(live.session.getSnapshot()).toEqual(await truth());
  });
});
