import { describe, expect, it } from "vitest";
import { parse } from "../../../server/test/service.ts";
import type { StoredSession } from "../core/ports/driven/session-store.ts";
import type { NumberedEvent } from "../core/session-event.ts";
import { newSession } from "../core/session.ts";
import { momentOf, USE_RECORDED_MS, Session } from "./session.ts";

const RECORD = newSession(1, "8f14e45f-ceea-467f-a0e6-b6f3c6a7d111", { incarnation: "abc", model: "a/b" }, 0);
const NEVER = new AbortController().signal;

const stored = (fields: Partial<StoredSession["session"]> = {}): StoredSession => ({
  session: { ...RECORD, ...fields },
  messages: [],
  systemEvents: [],
  pendingActions: [],
  checkpointed: "",
});

const agent = (content: string, status: "streaming" | "complete" = "streaming") =>
  ({ sender: "agent", content, id: "m1", created_at: "2026-01-01T00:00:00.000Z", status, turn: 1 }) as const;

const titled = (number: number): NumberedEvent => ({
  number,
  event: { type: "title_changed", new_title: `title ${number}` },
});

const status = (number: number, next: "idle" | "processing"): NumberedEvent => ({
  number,
  event: { type: "state_changed", status: next, model: "a/b", app: "default", user_state: null },
});

const asked = (number: number): NumberedEvent => ({
  number,
  event: {
    type: "system_event",
    item: {
      id: `abc-${number}`,
      type: "action_requested",
      created_at: "2026-01-01T00:00:00.000Z",
      payload: { id: "a" },
    },
  },
});

const shown = (session: Session) => parse(session.view());

describe("Session", () => {
  it("applies each event once", () => {
    const session = new Session(stored());
    const created: NumberedEvent = { number: 1, event: { type: "message_created", message: agent("W") } };
    session.apply([created, titled(2)]);
    session.apply([created, titled(2)]);
    expect(shown(session)).toMatchObject({ title: "title 2", last_event_id: "abc-2" });
    expect(shown(session).messages).toHaveLength(1);
  });

  it("buffers an early event until the events before it arrive", () => {
    const session = new Session(stored());
    expect(session.apply([titled(3)])).toBe(true);
    expect(shown(session)).toMatchObject({ title: "New Chat", last_event_id: "abc-0" });
    session.apply([titled(2)]);
    session.apply([titled(1)]);
    expect(shown(session)).toMatchObject({ title: "title 3", last_event_id: "abc-3" });
  });

  it("fails on too many early events, and on a change of an unknown message", () => {
    const waiting = Array.from({ length: 1001 }, (_, index) => titled(index + 2));
    expect(new Session(stored()).apply(waiting)).toBe(false);
    expect(new Session(stored()).apply(waiting.slice(1))).toBe(true);
    const updated = { number: 1, event: { type: "message_updated", message: agent("") } } as const;
    expect(new Session(stored()).apply([updated])).toBe(false);
  });

  it("fails on an event of a type that only a newer node knows, and on a copy, whose messages no event shows", () => {
    for (const type of ["weather_changed", "messages_copied"]) {
      const event = { type } as unknown as NumberedEvent["event"];
      expect(new Session(stored()).apply([{ number: 1, event }])).toBe(false);
    }
  });

  it("separates the text of steps, and returns its offset", () => {
    const session = new Session(stored({ status: "processing" }));
    expect(session.grow("m1", "", "nobody streams")).toBeNull();
    session.apply([{ number: 1, event: { type: "message_created", message: agent("") } }]);
    expect(session.grow("m0", "", "of an answer that is over")).toBeNull();
    expect(session.grow("m1", "", "one ")).toEqual({ messageId: "m1", offset: 0, text: "one " });
    expect(session.grow("m1", "one ", "step")).toEqual({ messageId: "m1", offset: 4, text: "step" });
    session.apply([{ number: 2, event: { type: "message_updated", message: agent("one step") } }]);
    expect(session.grow("m1", "", "two")).toEqual({ messageId: "m1", offset: 8, text: "\n\ntwo" });
    expect(session.grow("m1", "two", "!")).toEqual({ messageId: "m1", offset: 13, text: "!" });
    expect(session.streamingText).toBe("one step\n\ntwo!");
    expect(shown(session).messages[0]?.content).toBe("one step\n\ntwo!");
  });

  it("drops the text of an unfinished step when the turn runs again", () => {
    const session = new Session(stored({ status: "processing" }));
    session.apply([{ number: 1, event: { type: "message_created", message: agent("done") } }]);
    session.grow("m1", "", "lost");
    session.apply([{ number: 2, event: { type: "message_updated", message: agent("done") } }]);
    expect(shown(session).messages[0]?.content).toBe("done");
    expect(session.grow("m1", "", "again")).toMatchObject({ offset: 4, text: "\n\nagain" });
  });

  describe("loaded in the middle of an answer", () => {
    const answer = (content: string): StoredSession["messages"][number] => ({
      position: 1,
      id: "m1",
      turn: 1,
      role: "assistant",
      content,
      status: "streaming",
      toolCalls: [],
      toolResults: [],
      createdAt: Date.parse("2026-01-01T00:00:00.000Z"),
    });
    const loaded = (content: string, checkpointed: string): Session =>
      new Session({ ...stored({ status: "processing" }), messages: [answer(content)], checkpointed });

    it("shows the checkpointed text until its turn runs again", () => {
      expect(loaded("", "").streaming).toMatchObject({ messageId: "m1", text: "" });
      expect(loaded("", "so far").streaming?.text).toBe("so far");
      const session = loaded("done", "so far");
      expect(shown(session).messages).toEqual([agent("done\n\nso far")]);
      session.apply([{ number: 1, event: { type: "message_updated", message: agent("done") } }]);
      expect(shown(session).messages).toEqual([agent("done")]);
      expect(session.grow("m1", "", "again")).toEqual({ messageId: "m1", offset: 4, text: "\n\nagain" });
    });

    it("replaces the checkpointed text when its turn starts the step again", () => {
      const anew = { messageId: "m1", offset: 4, text: "\n\nanew" };
      expect(loaded("done", "so far").grow("m1", "", "anew")).toEqual(anew);
    });

    it.each([
      ["less than was said", "so"],
      ["nothing of it", ""],
      ["all of it", "so far"],
    ])("continues with its turn's text if the store has %s", (_what, checkpointed) => {
      const session = loaded("done", checkpointed);
      // Subscribers may have received any part of the step, so they get all of it.
      expect(session.grow("m1", "so far", " so")).toEqual({
        messageId: "m1",
        offset: 4,
        text: "\n\nso far so",
      });
      expect(session.grow("m1", "so far so", " good")).toEqual({
        messageId: "m1",
        offset: 15,
        text: " good",
      });
      expect(shown(session).messages).toEqual([agent("done\n\nso far so good")]);
    });
  });

  describe("recorded use", () => {
    const at = (wall: number, monotonic: number) => ({ now: () => wall, monotonic: () => monotonic });
    const WALL = 1_000_000_000;

    it("is unknown before this process has recorded it", () => {
      expect(new Session(stored({ updatedAt: 5 })).isUseNoted(at(5, 0))).toBe(false);
    });

    it("counts as recorded for five minutes on both clocks", () => {
      const session = new Session(stored());
      session.noteUse(momentOf(at(WALL, 500)));
      expect(session.isUseNoted(at(WALL + USE_RECORDED_MS - 1, 500 + USE_RECORDED_MS - 1))).toBe(true);
      // The wall clock was set back.
      expect(session.isUseNoted(at(0, 500 + USE_RECORDED_MS))).toBe(false);
      // The machine was suspended.
      expect(session.isUseNoted(at(WALL + USE_RECORDED_MS, 501))).toBe(false);
    });

    it("keeps the latest of several recorded times", () => {
      const session = new Session(stored());
      session.noteUse(momentOf(at(WALL, USE_RECORDED_MS)));
      session.noteUse(momentOf(at(WALL, 0)));
      expect(session.isUseNoted(at(WALL, USE_RECORDED_MS + 1))).toBe(true);
    });
  });
});

describe("waiting for a session", () => {
  const waiting = (session: Session, signal = NEVER) => {
    const state = { over: false };
    void session.untilIdleOrAsking(0, signal).then(() => (state.over = true));
    return state;
  };
  const round = () => new Promise((resolve) => setImmediate(resolve));

  it("resolves at once if the session is idle", async () => {
    await expect(new Session(stored()).untilIdleOrAsking(0, NEVER)).resolves.toBeUndefined();
  });

  it.each<[string, (session: Session) => unknown]>([
    ["stops working", (session) => session.apply([status(1, "idle")])],
    ["is deleted", (session) => session.end()],
    ["is replaced", (session) => session.replace()],
    ["asks a person", (session) => session.apply([asked(1)])],
  ])("ends when the session %s", async (_how, end) => {
    const session = new Session(stored({ status: "processing" }));
    const waiters = [waiting(session), waiting(session)];
    session.apply([]);
    await round();
    expect(waiters.map(({ over }) => over)).toEqual([false, false]);
    end(session);
    await round();
    expect(waiters.map(({ over }) => over)).toEqual([true, true]);
    expect(session.hasWaiters).toBe(false);
    await session.untilIdleOrAsking(0, NEVER);
  });

  it("leaves no waiter behind after an abort", async () => {
    const session = new Session(stored({ status: "processing" }));
    const enough = new AbortController();
    const waiter = waiting(session, enough.signal);
    expect(session.hasWaiters).toBe(true);
    enough.abort();
    await round();
    expect(waiter.over).toBe(true);
    expect(session.hasWaiters).toBe(false);
    await session.untilIdleOrAsking(0, enough.signal);
  });
});
