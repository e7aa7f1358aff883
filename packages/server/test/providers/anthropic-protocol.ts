// Anthropic's Messages API (docs.anthropic.com/en/api/messages-streaming).

import type { Events, Part, Protocol } from "./protocols.ts";

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

const ERROR_TYPES: Readonly<Record<number, string>> = {
  400: "invalid_request_error",
  401: "authentication_error",
  429: "rate_limit_error",
};

export const anthropic: Protocol = {
  rig: "anthropic/claude-sonnet-4-5",
  beginning: (text) => named([START, ...partEvents({ deltas: [text] }, 0).slice(0, 2)]),
  answer: (parts) => {
    const reason = parts.some((part) => "tool" in part) ? "tool_use" : "end_turn";
    return named([
      START,
      ...parts.flatMap((part, index) => partEvents(part, index)),
      {
        type: "message_delta",
        delta: { stop_reason: reason, stop_sequence: null },
        usage: { output_tokens: 7 },
      },
      { type: "message_stop" },
    ]);
  },
  errorBody: (status, message) => ({
    type: "error",
    error: { type: ERROR_TYPES[status] ?? "api_error", message },
  }),
  conversation: ({ messages }) => messages,
  reasoningOf: ({ signature }) => signature,
  expectedConversation: ({ question, step: [reasoning, text, call], result, answer, next }) => [
    { role: "user", content: [{ type: "text", text: question }] },
    {
      role: "assistant",
      content: [
        { type: "thinking", thinking: reasoning.reasoning, signature: reasoning.signature },
        { type: "text", text },
        { type: "tool_use", id: call.id, name: call.tool, input: call.input },
      ],
    },
    { role: "user", content: [{ type: "tool_result", tool_use_id: call.id, content: result }] },
    {
      role: "assistant",
      content: [
        { type: "thinking", thinking: answer[0].reasoning, signature: answer[0].signature },
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

function partEvents(part: Part, index: number): Event[] {
  const start = (block: object): Event => ({ type: "content_block_start", index, content_block: block });
  const delta = (change: object): Event => ({ type: "content_block_delta", index, delta: change });
  const stop: Event = { type: "content_block_stop", index };
  if ("deltas" in part) {
    const deltas = part.deltas.map((text) => delta({ type: "text_delta", text }));
    return [start({ type: "text", text: "" }), ...deltas, stop];
  }
  if ("reasoning" in part) {
    return [
      start({ type: "thinking", thinking: "", signature: "" }),
      delta({ type: "thinking_delta", thinking: part.reasoning }),
      delta({ type: "signature_delta", signature: part.signature }),
      stop,
    ];
  }
  return [
    start({ type: "tool_use", id: part.id, name: part.tool, input: {} }),
    delta({ type: "input_json_delta", partial_json: JSON.stringify(part.input) }),
    stop,
  ];
}
