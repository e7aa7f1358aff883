import type { Message } from "@colloquy/protocol";
import type { StreamFrame } from "@colloquy/engine/internal/core/ports/driving/services";
import { describe, expect, it } from "vitest";
import { FollowedStream } from "../../server/src/http/protocol-conversation.ts";
import { AnswerChunks } from "./answer-chunks.ts";
import { FollowedTurn, TurnStream } from "@colloquy/server/protocol";

const MESSAGE = {
  sender: "agent",
  content: "Hi\n\ndata: x",
  id: "019a9c1e-6b60-7c3e-9a55-2f1d3b7e4c01",
  created_at: "2026-11-20T12:00:00.000Z",
  status: "streaming",
  turn: 1,
} as const;

const FOLLOWING = {
  heartbeat: ": heartbeat\n\n",
  onFailure: (error: unknown) => {
    throw error;
  },
};

/** A stream, with what it has written and how it has ended. */
function stream() {
  const state = { turn: 1, answers: [], pendingActions: [], isOpen: true, failure: null };
  const written: string[] = [];
  const ends: string[] = [];
  const out = {
    writeBytes: (bytes: Uint8Array) => written.push(Buffer.from(bytes).toString()),
    drained: () => Promise.resolve(),
    end: (how: string) => void ends.push(how),
  };
  const turn = new FollowedTurn(state, new AnswerChunks());
  const sink = new FollowedStream(
    new TurnStream(
      turn,
      { state, lastEventId: "life-0" },
      { includesReasoning: false, done: "data: [DONE]\n\n" },
    ),
    out,
    FOLLOWING,
  );
  sink.begin();
  const write = (frame: StreamFrame): number => sink.write(frame);
  const event = (message: Message): StreamFrame => ({
    kind: "event",
    id: "life-1",
    event: { type: "message_updated", session_id: "s", message },
  });
  return { sink, written, ends, write, event };
}

describe("an answer's stream", () => {
  it("reads frames of events, passes heartbeats on, and skips everything else", () => {
    const { written, write, event } = stream();
    write({ kind: "retry" });
    expect(written).toEqual([]);
    write({ kind: "heartbeat", id: "life-3" });
    expect(written).toEqual([": heartbeat\n\n"]);
    expect(write(event(MESSAGE))).toBe(2);
    expect(written[1]).toContain('"delta":"Hi\\n\\ndata: x"');
  });

  it("contains the files of a result once, after the output", () => {
    const { written, write, event } = stream();
    const call = { id: "a", name: "draw", arguments: {}, status: "complete" } as const;
    const file = { id: "f", media_type: "image/png", bytes: 9, sha256: "", name: "chart.png" };
    const result = { call_id: "a", name: "draw", output: 1, is_error: false, duration_ms: 1 };
    const message = {
      ...MESSAGE,
      content: "",
      tool_calls: [call],
      tool_results: [{ ...result, attachments: [file] }],
    };
    write(event({ ...message, tool_calls: [{ ...call, status: "running" }], tool_results: [] }));
    write(event(message));
    write(event(message));
    const chunks = written
      .join("")
      .split("\n\n")
      .filter((text) => /"type":"(?:file|tool-output)/.test(text));
    expect(chunks).toEqual([
      expect.stringContaining('"type":"tool-output-available"'),
      'data: {"type":"file","mediaType":"image/png","url":"/api/files/f"}',
    ]);
  });

  it("ends with [DONE] once, and writes nothing afterwards", () => {
    const { sink, written, ends, write, event } = stream();
    for (const message of [MESSAGE, { ...MESSAGE, status: "complete" } as const, MESSAGE])
      write(event(message));
    expect(written.at(-1)).toMatch(/"finishReason":"stop"}\n\ndata: \[DONE\]\n\n$/);
    expect(ends).toEqual(["finish"]);
    write({ kind: "heartbeat", id: null });
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
