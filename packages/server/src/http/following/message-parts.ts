import type { Attachment, Message, ToolCall } from "@colloquy/protocol";

export type MessagePart =
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "call"; readonly call: ToolCall };

/**
 * Splits a message into text and tool calls, in chronological order. The concatenated texts equal `content`. Calls
 * without an offset precede the remaining text.
 */
export function messageParts({
  content,
  tool_calls: calls = [],
}: Pick<Message, "content" | "tool_calls">): MessagePart[] {
  const parts: MessagePart[] = [];
  let said = 0;
  const say = (until: number): void => {
    const text = content.slice(said, until);
    if (text === "") return;
    parts.push({ kind: "text", text });
    said += text.length;
  };
  for (const call of calls) {
    say(call.text_offset ?? 0);
    parts.push({ kind: "call", call });
  }
  say(content.length);
  return parts;
}

/** Outcome of a call: its result, or an error. */
export type CallOutcome =
  | { readonly state: "output-available"; readonly output: unknown }
  | { readonly state: "output-error"; readonly errorText: string };

/** Returns the outcome of a call; `null` while it runs or waits. */
export function outcomeOf(
  { id, status }: ToolCall,
  { tool_results: results = [] }: Pick<Message, "tool_results">,
): CallOutcome | null {
  const result = results.find(({ call_id }) => call_id === id);
  if (result === undefined)
    return status === "interrupted"
      ? { state: "output-error", errorText: "The call was interrupted." }
      : null;
  const { output, is_error: isError } = result;
  if (!isError) return { state: "output-available", output };
  return { state: "output-error", errorText: asText(output) };
}

/** Returns the files of a call's result. */
export function filesOf(
  { id }: Pick<ToolCall, "id">,
  { tool_results: results = [] }: Pick<Message, "tool_results">,
): readonly Attachment[] {
  return results.find(({ call_id }) => call_id === id)?.attachments ?? [];
}

/** Returns a string unchanged, and any other value as JSON. */
export function asText(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value ?? null);
}
