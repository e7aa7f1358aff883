import type { Message } from "@colloquy/protocol";
import { describe, expect, it } from "vitest";
import type { SessionNote } from "../core/ports/bus.ts";
import { StreamingTexts } from "./streaming-texts.ts";

const ID = "session";

const message = (id: string, content: string, status: Message["status"]): Message => ({
  sender: "agent",
  content,
  id,
  created_at: "2026-01-01T00:00:00.000Z",
  status,
});

const note = (
  type: "message_created" | "message_updated" | "message_completed",
  shown: Message,
): SessionNote => ({
  kind: "events",
  life: "a",
  epoch: 1,
  events: [{ number: 1, event: { type, message: shown } }],
});

const delta = (messageId: string, offset: number, text: string): SessionNote => ({
  kind: "delta",
  life: "a",
  epoch: 1,
  messageId,
  offset,
  text,
});

function textsAfter(...notes: readonly SessionNote[]) {
  const texts = new StreamingTexts();
  for (const one of notes) texts.take(ID, one);
  return texts.get(ID);
}

const BEGUN = note("message_created", message("m1", "", "streaming"));

describe("what streams in a session", () => {
  it("grows by what is said", () => {
    expect(textsAfter()).toBeNull();
    expect(textsAfter(BEGUN)).toMatchObject({ messageId: "m1", text: "" });
    expect(textsAfter(BEGUN, delta("m1", 0, "one "), delta("m1", 4, "two"))).toMatchObject({
      text: "one two",
    });
  });

  it("goes back where a text comes over what there was, and takes none that leaves a gap or is another's", () => {
    const said = [BEGUN, delta("m1", 0, "one two")];
    expect(textsAfter(...said, delta("m1", 4, "2"))).toMatchObject({ text: "one 2" });
    expect(textsAfter(...said, delta("m1", 8, "gap"))).toMatchObject({ text: "one two" });
    expect(textsAfter(...said, delta("m2", 7, "other"))).toMatchObject({ text: "one two" });
  });

  it("is the committed text when a step ends or the turn is run again", () => {
    const said = [BEGUN, delta("m1", 0, "lost")];
    expect(textsAfter(...said, note("message_updated", message("m1", "kept", "streaming")))).toMatchObject({
      text: "kept",
    });
  });

  it("is what was loaded, from there on, and that is news where it is another text", () => {
    const texts = new StreamingTexts();
    expect(texts.recover(ID, "a", { epoch: 1, messageId: "m1", text: "so far" })).toBe(true);
    expect(texts.recover(ID, "a", { epoch: 1, messageId: "m1", text: "so far" })).toBe(false);
    texts.take(ID, delta("m1", 6, " so good"));
    expect(texts.get(ID)?.text).toBe("so far so good");
    expect(texts.recover(ID, "a", { epoch: 1, messageId: "m1", text: "so far" })).toBe(true);
    expect(texts.get(ID)?.text).toBe("so far");
    expect(texts.recover(ID, "a", { epoch: 1, messageId: "m2", text: "so far" })).toBe(true);
    expect(texts.recover(ID, "b", { epoch: 1, messageId: "m2", text: "so far" })).toBe(true);
    texts.take(ID, { kind: "deleted", life: "b" });
    expect(texts.get(ID)).toBeNull();
  });

  it("is nothing when the message is complete, and when the session is gone", () => {
    expect(textsAfter(BEGUN, note("message_completed", message("m1", "done", "complete")))).toBeNull();
    expect(textsAfter(BEGUN, { kind: "deleted", life: "a" })).toBeNull();
    expect(textsAfter(BEGUN, { kind: "deleted", life: "an older one" })).not.toBeNull();
  });

  it("is nothing after it was let go of, whatever changes meanwhile, until it is loaded again", () => {
    const texts = new StreamingTexts();
    texts.take(ID, BEGUN);
    texts.release(ID);
    texts.take(ID, note("message_updated", message("m1", "so far", "streaming")));
    texts.take(ID, delta("m1", 6, " lost"));
    expect(texts.size).toBe(0);
    expect(texts.recover(ID, "a", { epoch: 1, messageId: "m1", text: "so far" })).toBe(true);
    texts.take(ID, note("message_updated", message("m1", "so far so good", "streaming")));
    expect(texts.get(ID)?.text).toBe("so far so good");
  });

  it("is not ended by other messages", () => {
    const user = { ...message("m2", "hello", "complete"), sender: "user" } as const;
    expect(textsAfter(BEGUN, note("message_created", user))).toMatchObject({ messageId: "m1" });
    expect(textsAfter(BEGUN, note("message_completed", message("m0", "", "complete")))).toMatchObject({
      messageId: "m1",
    });
  });
});
