// OpenAI's Responses API (platform.openai.com/docs/api-reference/responses-streaming).

import type { Events, Part, Protocol, SignedReasoning } from "./protocols.ts";

const CREATED = { type: "response.created", response: { id: "resp_1", created_at: 1, model: "gpt-5" } };
const USAGE = {
  input_tokens: 11,
  input_tokens_details: { cached_tokens: 4 },
  output_tokens: 7,
  output_tokens_details: { reasoning_tokens: 3 },
};

export const openai: Protocol = {
  rig: "openai/gpt-5",
  beginning: (text) => named([CREATED, ...partEvents({ deltas: [text] }, 0).slice(0, 2)]),
  answer: (parts) =>
    named([
      CREATED,
      ...parts.flatMap((part, index) => partEvents(part, index)),
      { type: "response.completed", response: { incomplete_details: null, usage: USAGE } },
    ]),
  errorBody: (_status, message) => ({
    error: { message, type: "invalid_request_error", param: null, code: null },
  }),
  conversation: ({ input }) =>
    (input as Record<string, unknown>[]).filter(({ role }) => role !== "system" && role !== "developer"),
  reasoningOf: ({ signature }) => signature,
  expectedConversation: ({ question, step: [reasoning, text, call], result, answer, next }) => [
    user(question),
    ...reasoningItems(reasoning),
    assistant(text),
    {
      type: "function_call",
      call_id: call.id,
      name: call.tool,
      arguments: JSON.stringify(call.input),
    },
    { type: "function_call_output", call_id: call.id, output: result },
    ...reasoningItems(answer[0]),
    assistant(answer[1]),
    user(next),
  ],
};

type Event = { readonly type: string } & Readonly<Record<string, unknown>>;

function named(events: readonly Event[]): Events {
  return events.map((event) => [event.type, event]);
}

function partEvents(part: Part, index: number): Event[] {
  const place = { output_index: index };
  const added = (item: object): Event => ({ type: "response.output_item.added", ...place, item });
  const done = (item: object): Event => ({ type: "response.output_item.done", ...place, item });
  if ("deltas" in part) {
    const item = { type: "message", id: `msg_${index}` };
    const delta = (text: string): Event => ({
      type: "response.output_text.delta",
      ...place,
      item_id: item.id,
      delta: text,
    });
    return [added(item), ...part.deltas.map(delta), done(item)];
  }
  if ("reasoning" in part) {
    const item = { type: "reasoning", id: reasoningId(part.signature), encrypted_content: part.signature };
    const summary = { item_id: item.id, summary_index: 0 };
    return [
      added({ ...item, encrypted_content: null }),
      { type: "response.reasoning_summary_part.added", ...summary },
      { type: "response.reasoning_summary_text.delta", ...summary, delta: part.reasoning },
      { type: "response.reasoning_summary_part.done", ...summary },
      done({ ...item, summary: [{ type: "summary_text", text: part.reasoning }] }),
    ];
  }
  const item = { type: "function_call", id: `fc_${index}`, call_id: part.id, name: part.tool };
  const input = JSON.stringify(part.input);
  return [
    added({ ...item, arguments: "" }),
    { type: "response.function_call_arguments.delta", ...place, item_id: item.id, delta: input },
    done({ ...item, arguments: input, status: "completed" }),
  ];
}

function reasoningId(signature: string): string {
  return `rs_${signature.length}`;
}

function user(text: string): object {
  return { role: "user", content: [{ type: "input_text", text }] };
}

function assistant(text: string): object {
  return { role: "assistant", content: text };
}

function reasoningItems({ reasoning, signature }: SignedReasoning): object[] {
  const summary = [{ type: "summary_text", text: reasoning }];
  return [{ type: "reasoning", id: reasoningId(signature), encrypted_content: signature, summary }];
}
