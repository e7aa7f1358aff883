import type { Message } from "@colloquy/protocol";
import type { SentMessage } from "@colloquy/engine/internal/core/ports/driving/chat-request";
import { describe, expect, it } from "vitest";
import { startOfSent } from "./turn-start.ts";

/** Returns the stored message of turn 2, with the answer in progress at that time (`null`: none). */
function sent(answered: Partial<Message> | null, more: Partial<SentMessage> = {}): SentMessage {
  const answer = { sender: "agent", content: "", status: "streaming", ...answered };
  const streaming = answered === null ? null : { messageId: "a", text: "One", answer: { message: answer } };
  const position = { incarnation: "i", head: 7, isProcessing: true, streaming, pendingActions: [] };
  return { turn: 2, isRepeat: false, position, ...more } as unknown as SentMessage;
}

describe("the start of the turn of a new message", () => {
  it("is the state of its answer, if that is in progress", () => {
    expect(startOfSent(sent({ turn: 2 }))).toMatchObject({
      state: { turn: 2, answers: [{ content: "One" }] },
      lastEventId: "i-7",
    });
  });

  it.each([
    ["no answer is in progress", null],
    ["an earlier turn answers", { turn: 1 }],
  ])("is before its answer if %s", (_what, answered) => {
    expect(startOfSent(sent(answered))).toMatchObject({ state: { turn: 2, answers: [], isOpen: true } });
  });

  const { position } = sent(null);
  it.each([
    ["the message was stored before", sent(null, { isRepeat: true })],
    ["a later turn answers", sent({ turn: 3 })],
    ["its answer has an earlier part", sent({ turn: 2, steps: { from: 3 } })],
    ["the session is idle", sent(null, { position: { ...position, isProcessing: false } })],
  ])("must be read if %s", (_what, message) => {
    expect(startOfSent(message)).toBeNull();
  });
});
