// OpenAI's Responses API (platform.openai.com/docs/api-reference/responses-streaming).

import type { Events, Piece, Protocol } from "./protocols.ts";

const CREATED = { type: "response.created", response: { id: "resp_1", created_at: 1, model: "gpt-5" } };
const USAGE = {
  input_tokens: 11,
  input_tokens_details: { cached_tokens: 4 },
  output_tokens: 7,
  output_tokens_details: { reasoning_tokens: 3 },
};

export const openai: Protocol = {
  rig: "openai/gpt-5",
  begin: (text) => named([CREATED, ...pieceEvents({ say: [text] }, 0).slice(0, 2)]),
  answer: (pieces) =>
    named([
      CREATED,
      ...pieces.flatMap((piece, index) => pieceEvents(piece, index)),
      { type: "response.completed", response: { incomplete_details: null, usage: USAGE } },
    ]),
  refusal: (_status, message) => ({
    error: { message, type: "invalid_request_error", param: null, code: null },
  }),
  conversation: ({ input }) =>
    (input as Record<string, unknown>[]).filter(({ role }) => role !== "system" && role !== "developer"),
  replay: ({ question, step: [think, text, call], result, answer, next }) => [
    user(question),
    ...reasoning(think),
    assistant(text),
    {
      type: "function_call",
      call_id: call.id,
      name: call.call,
      arguments: JSON.stringify(call.input),
    },
    { type: "function_call_output", call_id: call.id, output: result },
    ...reasoning(answer[0]),
    assistant(answer[1]),
    user(next),
  ],
};

type Event = { readonly type: string } & Readonly<Record<string, unknown>>;

function named(events: readonly Event[]): Events {
  return events.map((event) => [event.type, event]);
}

function pieceEvents(piece: Piece, index: number): Event[] {
  const place = { output_index: index };
  const added = (item: object): Event => ({ type: "response.output_item.added", ...place, item });
  const done = (item: object): Event => ({ type: "response.output_item.done", ...place, item });
  if ("say" in piece) {
    const item = { type: "message", id: `msg_${index}` };
    const delta = (text: string): Event => ({
      type: "response.output_text.delta",
      ...place,
      item_id: item.id,
      delta: text,
    });
    return [added(item), ...piece.say.map(delta), done(item)];
  }
  if ("think" in piece) {
    const item = { type: "reasoning", id: reasoningId(piece.seal), encrypted_content: piece.seal };
    const summary = { item_id: item.id, summary_index: 0 };
    return [
      added({ ...item, encrypted_content: null }),
      { type: "response.reasoning_summary_part.added", ...summary },
      { type: "response.reasoning_summary_text.delta", ...summary, delta: piece.think },
      { type: "response.reasoning_summary_part.done", ...summary },
      done({ ...item, summary: [{ type: "summary_text", text: piece.think }] }),
    ];
  }
  const item = { type: "function_call", id: `fc_${index}`, call_id: piece.id, name: piece.call };
  const input = JSON.stringify(piece.input);
  return [
    added({ ...item, arguments: "" }),
    { type: "response.function_call_arguments.delta", ...place, item_id: item.id, delta: input },
    done({ ...item, arguments: input, status: "completed" }),
  ];
}

function reasoningId(seal: string): string {
  return `rs_${seal.length}`;
}

function user(text: string): object {
  return { role: "user", content: [{ type: "input_text", text }] };
}

function assistant(text: string): object {
  return { role: "assistant", content: text };
}

function reasoning({ think, seal }: { readonly think: string; readonly seal: string }): object[] {
  const summary = [{ type: "summary_text", text: think }];
  return [{ type: "reasoning", id: reasoningId(seal), encrypted_content: seal, summary }];
}
