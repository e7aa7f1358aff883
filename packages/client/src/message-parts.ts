import type { Message, ToolCall } from "./wire.ts";

export type MessagePart =
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "call"; readonly call: ToolCall };

/**
 * A message in the order in which it came about: what was said, the calls that were made then, what was said next. The texts together are the
 * message's `content`, blank lines between them too. A call of which it is not known when it was made stands before the text that is left.
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
