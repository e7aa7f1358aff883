// Anthropic's Messages API (docs.anthropic.com/en/api/messages-streaming).

import type { Events, Piece, Protocol } from "./protocols.ts";

const START = {
  type: "message_start",
  message: {
    id: "msg_1",
    type: "message",
    role: "assistant",
    model: "claude-sonnet-4-5",
    content: [],
    stop_reason: null,
    stop_sequence: null,
    // Cached input is counted in addition to the other input.
    usage: { input_tokens: 7, cache_read_input_tokens: 4, cache_creation_input_tokens: 0, output_tokens: 1 },
  },
};

export const anthropic: Protocol = {
  rig: "anthropic/claude-sonnet-4-5",
  begin: (text) => named([START, ...pieceEvents({ say: [text] }, 0).slice(0, 2)]),
  answer: (pieces) => {
    const reason = pieces.some((piece) => "call" in piece) ? "tool_use" : "end_turn";
    return named([
      START,
      ...pieces.flatMap((piece, index) => pieceEvents(piece, index)),
      {
        type: "message_delta",
        delta: { stop_reason: reason, stop_sequence: null },
        usage: { output_tokens: 7 },
      },
      { type: "message_stop" },
    ]);
  },
  refusal: (status, message) => ({
    type: "error",
    error: { type: status === 401 ? "authentication_error" : "rate_limit_error", message },
  }),
  conversation: ({ messages }) => messages,
  replay: ({ question, step: [think, text, call], result, answer, next }) => [
    { role: "user", content: [{ type: "text", text: question }] },
    {
      role: "assistant",
      content: [
        { type: "thinking", thinking: think.think, signature: think.seal },
        { type: "text", text },
        { type: "tool_use", id: call.id, name: call.call, input: call.input },
      ],
    },
    { role: "user", content: [{ type: "tool_result", tool_use_id: call.id, content: result }] },
    {
      role: "assistant",
      content: [
        { type: "thinking", thinking: answer[0].think, signature: answer[0].seal },
        { type: "text", text: answer[1] },
      ],
    },
    { role: "user", content: [{ type: "text", text: next }] },
  ],
};

type Event = { readonly type: string } & Readonly<Record<string, unknown>>;

function named(events: readonly Event[]): Events {
  return events.map((event) => [event.type, event]);
}

function pieceEvents(piece: Piece, index: number): Event[] {
  const start = (block: object): Event => ({ type: "content_block_start", index, content_block: block });
  const delta = (change: object): Event => ({ type: "content_block_delta", index, delta: change });
  const stop: Event = { type: "content_block_stop", index };
  if ("say" in piece) {
    const deltas = piece.say.map((text) => delta({ type: "text_delta", text }));
    return [start({ type: "text", text: "" }), ...deltas, stop];
  }
  if ("think" in piece) {
    return [
      start({ type: "thinking", thinking: "", signature: "" }),
      delta({ type: "thinking_delta", thinking: piece.think }),
      delta({ type: "signature_delta", signature: piece.seal }),
      stop,
    ];
  }
  return [
    start({ type: "tool_use", id: piece.id, name: piece.call, input: {} }),
    delta({ type: "input_json_delta", partial_json: JSON.stringify(piece.input) }),
    stop,
  ];
}
