// The Chat Completions API, as streamed by OpenAI-compatible servers
// (platform.openai.com/docs/api-reference/chat-streaming), with the `reasoning_content` of DeepSeek and vLLM.

import type { Events, Part, Protocol } from "./protocols.ts";

const USAGE = {
  prompt_tokens: 11,
  prompt_tokens_details: { cached_tokens: 4 },
  completion_tokens: 7,
  completion_tokens_details: { reasoning_tokens: 3 },
  total_tokens: 18,
};

export const compatible: Protocol = {
  rig: "local/llama3.2",
  beginning: (text) => [[null, chunk({ role: "assistant", content: text })]],
  answer: (parts) => {
    const reason = parts.some((part) => "tool" in part) ? "tool_calls" : "stop";
    const calls = parts.filter((part) => "tool" in part);
    const deltas = parts.flatMap((part) => partDeltas(part, "tool" in part ? calls.indexOf(part) : 0));
    const events: Events = [
      ...deltas.map((delta) => [null, chunk(delta)] as const),
      [null, chunk({}, reason)],
      [null, { ...chunk({}), choices: [], usage: USAGE }],
    ];
    return events;
  },
  errorBody: (_status, message) => ({ error: { message, type: "invalid_request_error", code: null } }),
  conversation: ({ messages }) => (messages as { role: string }[]).filter(({ role }) => role !== "system"),
  reasoningOf: ({ reasoning }) => reasoning,
  expectedConversation: ({ question, step: [first, text, call], result, answer: [second, last], next }) => [
    { role: "user", content: question },
    {
      role: "assistant",
      content: text,
      reasoning_content: first.reasoning,
      tool_calls: [
        {
          id: call.id,
          type: "function",
          function: { name: call.tool, arguments: JSON.stringify(call.input) },
        },
      ],
    },
    { role: "tool", tool_call_id: call.id, content: result },
    { role: "assistant", content: last, reasoning_content: second.reasoning },
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

function partDeltas(part: Part, index: number): object[] {
  if ("deltas" in part) return part.deltas.map((content) => ({ content }));
  if ("reasoning" in part) return [{ reasoning_content: part.reasoning }];
  const call = { name: part.tool, arguments: JSON.stringify(part.input) };
  return [{ tool_calls: [{ index, id: part.id, type: "function", function: call }] }];
}
