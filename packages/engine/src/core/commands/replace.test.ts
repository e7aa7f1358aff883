import { describe, expect, it } from "vitest";
import { PLACEHOLDER_TITLE } from "../session.ts";
import { call, DecidedSession } from "./testing/decided-session.ts";

/** A session with answers to these messages. */
function answered(...texts: string[]): DecidedSession {
  const one = new DecidedSession();
  for (const text of texts) one.complete(one.start(text), `answer to ${text}`);
  return one;
}

const idOf = (one: DecidedSession, text: string): string =>
  one.messages.find(({ content }) => content === text)?.id ?? "none";

describe("a chat that replaces a message", () => {
  it("removes it with all that follow it, and starts a new turn with a new number", () => {
    const one = answered("one", "two", "three");
    const turn = one.start("zwei", { replaces: idOf(one, "two") });
    expect(turn.number).toBe(4);
    expect(one.lines).toEqual([
      "user complete: one",
      "assistant complete: answer to one",
      "user complete: zwei",
      "assistant streaming: ",
    ]);
    expect(one.turns.map(({ number }) => number)).toEqual([1, 4]);
    expect(one.types).toEqual(["messages_removed", "message_created", "message_created", "state_changed"]);
    expect(one.floor).toBe(one.session.head - 4);
  });

  it("interrupts running and waiting turns unless `onBusy` is reject, so that none of them writes again", () => {
    const one = answered("one");
    const running = one.start("two");
    one.chat("three");
    const id = idOf(one, "two");
    expect(one.chat("again", { replaces: id, onBusy: "reject" })).toEqual({
      kind: "rejected",
      reason: "session_busy",
    });
    one.start("again", { replaces: id });
    expect(one.lines.slice(2)).toEqual(["user complete: again", "assistant streaming: "]);
    expect(one.complete(running, "late")).toBe(false);
    expect(one.openTurns).toHaveLength(1);
  });

  it("raises the epoch of an idle session", () => {
    const one = answered("one");
    const { epoch } = one.session;
    one.chat("again", { replaces: idOf(one, "one"), claim: null });
    expect(one.session.epoch).toBeGreaterThan(epoch);
  });

  it("cancels and removes pending actions of the removed turn, with the events that quote them", () => {
    const one = answered("one");
    const turn = one.start("two");
    const asked = { kind: "approval", request: { tool: "t", input: {} } } as const;
    one.callTools(turn, "s", [call("a", "unsafe")], [{ id: "x", callId: "a", asked, validMs: 1_000 }]);
    one.chat("again", { replaces: idOf(one, "two") });
    expect(one.types).toContain("system_event");
    expect(one.actions).toEqual([]);
    expect(one.last.systemEvents).toEqual([]);
    expect(one.last.changedActions.size).toBe(0);
  });

  it("ends an earlier turn whose answer it removes as interrupted before its start", () => {
    const queued = new DecidedSession();
    const first = queued.start("one");
    queued.chat("two");
    queued.chat("three");
    queued.complete(first, "answer to one");
    queued.complete(queued.claim()!, "answer to two");
    queued.start("drei", { replaces: idOf(queued, "three") });
    expect(queued.lines).toEqual([
      "user complete: one",
      "assistant complete: answer to one",
      "user interrupted: two",
      "user complete: drei",
      "assistant streaming: ",
    ]);
    expect(queued.turns).toMatchObject([
      { number: 1, state: "complete" },
      { number: 2, state: "interrupted", agentPosition: null, steps: 0 },
      { number: 4, state: "running" },
    ]);
  });

  it.each([
    ["an unknown message", () => "8f14e45f-ceea-467f-a0e6-b6f3c6a7d999", "message_not_found"],
    ["an answer", (one: DecidedSession) => idOf(one, "answer to one"), "not_a_user_message"],
  ])("is rejected for %s, and changes nothing", (_what, replaced, reason) => {
    const one = answered("one");
    const before = one.session;
    expect(one.chat("again", { replaces: replaced(one) })).toEqual({ kind: "rejected", reason });
    expect(one.session).toBe(before);
  });

  it("is replayed by its idempotency key, although its target is removed", () => {
    const one = answered("one");
    const replaces = idOf(one, "one");
    const idempotency = { key: "k", digest: "d" };
    one.start("again", { replaces, idempotency });
    const previous = { digest: "d", turn: 2, at: one.at };
    expect(one.chat("again", { replaces, idempotency }, { previous })).toEqual({ kind: "replayed", turn: 2 });
  });

  it("is accepted in a full session if the removal makes enough room, and is otherwise rejected", () => {
    const one = answered("a long message", "two");
    const [replaces, maxMessageBytes] = [idOf(one, "a long message"), one.session.messageBytes ?? 0];
    expect(one.chat("two", { maxMessageBytes })).toMatchObject({ reason: "session_full" });
    expect(one.chat("x".repeat(maxMessageBytes + 1), { replaces, maxMessageBytes })).toMatchObject({
      reason: "session_full",
    });
    expect(one.chat("two", { replaces, maxMessageBytes })).toMatchObject({ kind: "accepted" });
  });

  it("requests a title for the new first message of an untitled session, and ignores that of the old one", () => {
    const one = answered("one");
    const before = one.messages[0]?.turn;
    expect(one.chat("again", { replaces: idOf(one, "one") })).toMatchObject({ wantsTitle: true });
    one.finishTitle("One", before);
    expect(one.session.titleSource).toBe("placeholder");
    one.finishTitle("Again");
    expect(one.session.title).toBe("Again");
  });

  it("drops the generated title of a replaced first message, and keeps one that a person chose", () => {
    const one = answered("one", "two");
    one.finishTitle("One", one.messages[0]?.turn);
    expect(one.chat("more", { replaces: idOf(one, "two") })).toMatchObject({ wantsTitle: false });
    expect(one.session.title).toBe("One");
    expect(one.chat("again", { replaces: idOf(one, "one") })).toMatchObject({ wantsTitle: true });
    expect(one.session).toMatchObject({ title: PLACEHOLDER_TITLE, titleSource: "placeholder" });
    one.run("edit", { title: "Chosen" });
    expect(one.chat("last", { replaces: idOf(one, "again") })).toMatchObject({ wantsTitle: false });
    expect(one.session.title).toBe("Chosen");
  });

  it("continues with another model if it names one", () => {
    const one = answered("one");
    const turn = one.start("one", { replaces: idOf(one, "one"), rig: "other/model" });
    expect(turn.model).toBe("other/model");
    expect(one.session).toMatchObject({ model: "other/model", modelChosen: true });
  });

  it("keeps an id that the client chose, adds its message once, and rejects another text under it", () => {
    const one = new DecidedSession();
    const own = { messageId: "0b9f6f0e-6c1d-4b57-9a53-0f6c1c7d2a11", isClientsId: true };
    one.complete(one.start("hello", own), "hi");
    expect(one.messages[0]).toMatchObject({ id: own.messageId, content: "hello" });
    expect(one.chat("hello", own)).toEqual({ kind: "replayed", turn: 1 });
    expect(one.chat("hallo", own)).toEqual({ kind: "rejected", reason: "message_exists" });
    const answer = { messageId: one.messages[1]!.id, isClientsId: true };
    expect(one.chat("hi", answer)).toEqual({ kind: "rejected", reason: "message_exists" });
    expect(one.chat("hallo", { ...own, replaces: own.messageId })).toMatchObject({ kind: "accepted" });
    expect(one.messages).toMatchObject([{ id: own.messageId, content: "hallo" }, { role: "assistant" }]);
  });
});
