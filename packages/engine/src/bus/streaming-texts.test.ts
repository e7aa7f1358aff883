import type { Message } from "@colloquy/protocol";
import { beforeEach, describe, expect, it } from "vitest";
import type { SessionNotification } from "../core/ports/driven/bus.ts";
import { StreamingTexts, type ReadText } from "./streaming-texts.ts";

const ID = "session";

const message = (id: string, content: string, status: Message["status"]): Message => ({
  sender: "agent",
  content,
  id,
  created_at: "2026-01-01T00:00:00.000Z",
  status,
});

const readText = (id: string, text: string, epoch: number): ReadText => ({
  messageId: id,
  text,
  answer: { message: message(id, text, "streaming"), index: 1 },
  epoch,
});

const notification = (
  type: "message_created" | "message_updated" | "message_completed",
  shown: Message,
): SessionNotification => ({
  kind: "events",
  incarnation: "a",
  epoch: 1,
  events: [{ number: 1, event: { type, message: shown } }],
});

const delta = (messageId: string, offset: number, text: string, epoch = 1): SessionNotification => ({
  kind: "delta",
  incarnation: "a",
  epoch,
  messageId,
  offset,
  text,
});

function textsAfter(...notifications: readonly SessionNotification[]) {
  const texts = new StreamingTexts();
  for (const one of notifications) texts.apply(ID, one);
  return texts.get(ID, "a");
}

const BEGUN = notification("message_created", message("m1", "", "streaming"));

describe("streaming text of a session", () => {
  it("grows with each delta", () => {
    expect(textsAfter()).toBeNull();
    expect(textsAfter(BEGUN)).toMatchObject({ messageId: "m1", text: "" });
    expect(textsAfter(BEGUN, delta("m1", 0, "one "), delta("m1", 4, "two"))).toMatchObject({
      text: "one two",
    });
  });

  it("ignores late deltas, and rejects gaps and deltas of other messages", () => {
    const notifications = [BEGUN, delta("m1", 0, "one two")];
    expect(textsAfter(...notifications, delta("m1", 4, "t"))).toMatchObject({ text: "one two" });
    expect(textsAfter(...notifications, delta("m1", 4, "two three"))).toMatchObject({
      text: "one two three",
    });
    expect(textsAfter(...notifications, delta("m1", 8, "gap"))).toMatchObject({ text: "one two" });
    expect(textsAfter(...notifications, delta("m2", 7, "other"))).toMatchObject({ text: "one two" });
  });

  it("is the committed text when a step ends or a turn is retried", () => {
    const notifications = [BEGUN, delta("m1", 0, "lost")];
    expect(
      textsAfter(...notifications, notification("message_updated", message("m1", "kept", "streaming"))),
    ).toMatchObject({
      text: "kept",
    });
  });

  it("is replaced by a loaded text, and sent again only if it differs", () => {
    const texts = new StreamingTexts();
    expect(texts.recover(ID, "a", readText("m1", "so far", 1))).toBe(true);
    expect(texts.recover(ID, "a", readText("m1", "so far", 1))).toBe(false);
    texts.apply(ID, delta("m1", 6, " so good"));
    expect(texts.get(ID, "a")?.text).toBe("so far so good");
    expect(texts.recover(ID, "a", readText("m1", "so far", 1))).toBe(true);
    expect(texts.get(ID, "a")?.text).toBe("so far");
    expect(texts.recover(ID, "a", readText("m2", "so far", 1))).toBe(true);
    expect(texts.recover(ID, "b", readText("m2", "so far", 1))).toBe(true);
    texts.apply(ID, { kind: "deleted", incarnation: "b" });
    expect(texts.get(ID, "a")).toBeNull();
  });

  it("is null once the message is complete or the session deleted", () => {
    expect(
      textsAfter(BEGUN, notification("message_completed", message("m1", "done", "complete"))),
    ).toBeNull();
    expect(textsAfter(BEGUN, { kind: "deleted", incarnation: "a" })).toBeNull();
    expect(textsAfter(BEGUN, { kind: "deleted", incarnation: "an older one" })).not.toBeNull();
  });

  it("is null after release until it is loaded again", () => {
    const texts = new StreamingTexts();
    texts.apply(ID, BEGUN);
    texts.release(ID);
    texts.apply(ID, notification("message_updated", message("m1", "so far", "streaming")));
    texts.apply(ID, delta("m1", 6, " lost"));
    expect(texts.size).toBe(0);
    expect(texts.recover(ID, "a", readText("m1", "so far", 1))).toBe(true);
    texts.apply(ID, notification("message_updated", message("m1", "so far so good", "streaming")));
    expect(texts.get(ID, "a")?.text).toBe("so far so good");
  });

  it("is not ended by other messages", () => {
    const user = { ...message("m2", "hello", "complete"), sender: "user" } as const;
    expect(textsAfter(BEGUN, notification("message_created", user))).toMatchObject({ messageId: "m1" });
    expect(textsAfter(BEGUN, notification("message_completed", message("m0", "", "complete")))).toMatchObject(
      {
        messageId: "m1",
      },
    );
  });
});

describe("text that another node streams", () => {
  let texts: StreamingTexts;
  const apply = (...notifications: readonly SessionNotification[]) =>
    notifications.map((one) => texts.apply(ID, one));
  const read = (text: string, epoch = 1) => texts.merge(ID, "a", readText("m1", text, epoch));
  beforeEach(() => {
    texts = new StreamingTexts();
    texts.apply(ID, BEGUN);
  });

  it("buffers deltas behind missing text and applies them once the text is read", () => {
    expect(apply(delta("m1", 0, "one "), delta("m1", 8, "three "), delta("m1", 14, "four"))).toEqual([
      "applied",
      "gap",
      "gap",
    ]);
    expect(texts.get(ID, "a")?.text).toBe("one ");
    expect(texts.hasGap(ID)).toBe(true);
    // The store does not have the missing text yet.
    expect(read("one ")).toBe(false);
    expect(texts.hasGap(ID)).toBe(true);
    expect(read("one two three ")).toBe(true);
    expect(texts.get(ID, "a")?.text).toBe("one two three four");
    expect(texts.hasGap(ID)).toBe(false);
  });

  it("keeps its text and takes the calls of the read message, because their event may have been missed", () => {
    apply(delta("m1", 0, "one two"));
    const call = { id: "c1", name: "calculator", arguments: "{}", status: "complete" } as const;
    const known = readText("m1", "one", 1);
    const answer = { ...known.answer, message: { ...known.answer.message, tool_calls: [call] } };
    expect(texts.merge(ID, "a", { ...known, answer })).toBe(false);
    expect(texts.get(ID, "a")).toMatchObject({
      text: "one two",
      answer: { message: { tool_calls: [call] } },
    });
  });

  it("is kept when the read text is older", () => {
    apply(delta("m1", 0, "one two"));
    expect(read("one")).toBe(false);
    expect(texts.get(ID, "a")?.text).toBe("one two");
  });

  it("ignores epochs older than the newest one announced or read", () => {
    apply(delta("m1", 0, "one"));
    texts.apply(ID, {
      ...notification("message_updated", message("m1", "", "streaming")),
      epoch: 2,
    } as SessionNotification);
    expect(apply(delta("m1", 0, "old", 1))).toEqual(["old"]);
    expect(texts.get(ID, "a")?.text).toBe("");
    read("new", 5);
    expect(apply(delta("m1", 3, " old", 4), delta("m1", 3, " newer", 5))).toEqual(["old", "applied"]);
    expect(texts.get(ID, "a")?.text).toBe("new newer");
  });

  it("is unknown when the start of an epoch was missed, and never mixes two epochs", () => {
    apply(delta("m1", 0, "hello world"));
    expect(apply(delta("m1", 2, "llo", 2))).toEqual(["gap"]);
    expect(texts.get(ID, "a")).toBeNull();
    // The text was read before the epoch started.
    expect(read("hello world", 1)).toBe(false);
    expect(texts.hasGap(ID)).toBe(true);
    // The older epoch had the same text up to here.
    expect(read("he", 2)).toBe(true);
    expect(texts.get(ID, "a")?.text).toBe("hello");
    expect(apply(delta("m1", 5, " you", 2))).toEqual(["applied"]);
  });

  it("discards buffered deltas of an older epoch", () => {
    apply(delta("m1", 4, "old"));
    texts.apply(ID, { kind: "moved", incarnation: "a", epoch: 2, head: 9 });
    expect(read("new ", 2)).toBe(true);
    expect(texts.get(ID, "a")?.text).toBe("new ");
    expect(texts.hasGap(ID)).toBe(false);
  });

  it("is withheld while a missed notification may have changed it", () => {
    apply(delta("m1", 0, "one"));
    texts.doubt(ID);
    expect(texts.get(ID, "a")).toBeNull();
    expect(apply(delta("m1", 3, " two"))).toEqual(["gap"]);
    expect(read("one")).toBe(true);
    expect(texts.get(ID, "a")?.text).toBe("one two");
  });

  it("replaces the text of another message and its buffered deltas", () => {
    apply(delta("m1", 4, "early"));
    expect(texts.merge(ID, "b", readText("m1", "x", 0))).toBe(true);
    expect(texts.get(ID, "b")?.text).toBe("x");
    expect(texts.hasGap(ID)).toBe(false);
  });

  it("is quiet if it has not grown since the last call of isQuietSinceLastCall", () => {
    expect([texts.isQuietSinceLastCall(ID), texts.isQuietSinceLastCall(ID)]).toEqual([false, true]);
    apply(delta("m1", 0, "one"));
    expect([
      texts.isQuietSinceLastCall(ID),
      texts.isQuietSinceLastCall(ID),
      texts.isQuietSinceLastCall("other"),
    ]).toEqual([false, true, false]);
  });

  it("bounds the buffered deltas", () => {
    for (let n = 0; n < 2_000; n += 1) apply(delta("m1", 10 + n, "x"));
    expect(read("y".repeat(10))).toBe(true);
    expect(texts.get(ID, "a")?.text).toBe("y".repeat(10) + "x".repeat(1_000));
    expect(apply(delta("m1", 2_010, "z"))).toEqual(["gap"]);
  });
});
