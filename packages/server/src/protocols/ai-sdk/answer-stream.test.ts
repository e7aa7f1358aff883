import { describe, expect, it } from "vitest";
import { AnswerChunks } from "./answer-chunks.ts";
import { AnswerStream } from "./answer-stream.ts";
import { FollowedTurn } from "./followed-turn.ts";

const MESSAGE = {
  sender: "agent",
  content: "Hi\n\ndata: x",
  id: "019a9c1e-6b60-7c3e-9a55-2f1d3b7e4c01",
  created_at: "2026-11-20T12:00:00.000Z",
  status: "streaming",
  turn: 1,
} as const;

/** A stream, with what it has written and how it has ended. */
function stream() {
  const state = { turn: 1, answer: null, pendingActions: [], isOpen: true, failure: null };
  const written: string[] = [];
  const ends: string[] = [];
  const out = {
    write: (bytes: Uint8Array) => written.push(Buffer.from(bytes).toString()),
    drained: () => Promise.resolve(),
    end: (how: string) => void ends.push(how),
  };
  const sink = new AnswerStream(new FollowedTurn(state, new AnswerChunks()), out);
  sink.begin(state);
  const write = (text: string): number => sink.write(Buffer.from(text));
  const event = (message: object): string =>
    `id: life-1\ndata: ${JSON.stringify({ type: "message_updated", session_id: "s", message })}\n\n`;
  return { sink, written, ends, write, event };
}

describe("an answer's stream", () => {
  it("reads frames of events, passes heartbeats on, and skips everything else", () => {
    const { written, write, event } = stream();
    write("retry: 2000\n\n");
    expect(written).toEqual([]);
    write(": heartbeat\nid: life-3\n\n");
    expect(written).toEqual([": heartbeat\n\n"]);
    expect(write(event(MESSAGE))).toBe(2);
    expect(written[1]).toContain('"delta":"Hi\\n\\ndata: x"');
  });

  it("ends with [DONE] once, and writes nothing afterwards", () => {
    const { sink, written, ends, write, event } = stream();
    write(event(MESSAGE) + event({ ...MESSAGE, status: "complete" }) + event(MESSAGE));
    expect(written.at(-1)).toMatch(/"finishReason":"stop"}\n\ndata: \[DONE\]\n\n$/);
    expect(ends).toEqual(["finish"]);
    write(": heartbeat\n\n");
    sink.end();
    expect(written).toHaveLength(2);
    expect(ends).toEqual(["finish"]);
  });

  it("ends without [DONE] if the service closes the stream before the turn ends", () => {
    const { sink, written, ends, write, event } = stream();
    write(event(MESSAGE));
    sink.end();
    expect(ends).toEqual(["abort"]);
    expect(written.join("")).not.toContain("[DONE]");
  });
});
