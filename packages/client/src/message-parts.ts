import type { Message, ToolCall } from "./wire.ts";

export type MessagePart =
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "call"; readonly call: ToolCall };

/**
 * Splits a message into text and tool calls in chronological order. The concatenated texts equal `content`,
 * including blank lines between them. A call without an offset precedes the remaining text.
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
