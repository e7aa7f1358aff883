// Streaming chat completions of OpenAI-compatible servers
// (platform.openai.com/docs/api-reference/chat-streaming; `reasoning_content` as in DeepSeek and vLLM).

import type { Events, Piece, Protocol } from "./protocols.ts";

const USAGE = {
  prompt_tokens: 11,
  prompt_tokens_details: { cached_tokens: 4 },
  completion_tokens: 7,
  completion_tokens_details: { reasoning_tokens: 3 },
  total_tokens: 18,
};

export const compatible: Protocol = {
  rig: "local/llama3.2",
  begin: (text) => [[null, chunk({ role: "assistant", content: text })]],
  answer: (pieces) => {
    const reason = pieces.some((piece) => "call" in piece) ? "tool_calls" : "stop";
    const calls = pieces.filter((piece) => "call" in piece);
    const deltas = pieces.flatMap((piece) => pieceDeltas(piece, "call" in piece ? calls.indexOf(piece) : 0));
    const events: Events = [
      ...deltas.map((delta) => [null, chunk(delta)] as const),
      [null, chunk({}, reason)],
      [null, { ...chunk({}), choices: [], usage: USAGE }],
    ];
    return events;
  },
  refusal: (_status, message) => ({ error: { message, type: "invalid_request_error", code: null } }),
  conversation: ({ messages }) => (messages as { role: string }[]).filter(({ role }) => role !== "system"),
  replay: ({ question, step: [think, text, call], result, answer, next }) => [
    { role: "user", content: question },
    {
      role: "assistant",
      content: text,
      reasoning_content: think.think,
      tool_calls: [
        {
          id: call.id,
          type: "function",
          function: { name: call.call, arguments: JSON.stringify(call.input) },
        },
      ],
    },
    { role: "tool", tool_call_id: call.id, content: result },
    { role: "assistant", content: answer[1], reasoning_content: answer[0].think },
    { role: "user", content: next },
  ],
};

function chunk(delta: object, finishReason: string | null = null): object {
  return {
    id: "chatcmpl-1",
    object: "chat.completion.chunk",
    created: 1,
    model: "llama3.2",
    choices: [{ index: 0, delta, finish_reason: finishReason }],
  };
}

function pieceDeltas(piece: Piece, index: number): object[] {
  if ("say" in piece) return piece.say.map((content) => ({ content }));
  if ("think" in piece) return [{ reasoning_content: piece.think }];
  const call = { name: piece.call, arguments: JSON.stringify(piece.input) };
  return [{ tool_calls: [{ index, id: piece.id, type: "function", function: call }] }];
}
