// Derives AG-UI ids of messages, calls and results from stored messages. Call ids of providers are not used, because
// they may recur in another turn.

import { createHash } from "node:crypto";
import type { Message, ToolCall } from "@colloquy/protocol";
import { messageParts } from "@colloquy/server/protocol";

const UUID = /^[\da-f]{8}-[\da-f]{4}-[\da-f]{4}-[\da-f]{4}-[\da-f]{12}$/;

/**
 * Returns the id under which a client's message is stored: `sent` if it is a UUID, otherwise a UUID derived from it.
 */
export function storedMessageId(threadId: string, sent: string): string {
  const id = sent.toLowerCase();
  if (UUID.test(id) && id !== threadId) return id;
  // RFC 9562 section 5.8: version 8, variant 10.
  const hex = createHash("sha256")
    .update(JSON.stringify([threadId, sent]))
    .digest("hex");
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-a${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}

export function callIdOf(messageId: string, index: number): string {
  return `${messageId}-call-${index}`;
}

export function resultIdOf(messageId: string, index: number): string {
  return `${messageId}-result-${index}`;
}

/** Returns the id of the AG-UI message to which the next text of the answer is appended. */
export function messageOfNextText(answer: Pick<Message, "id" | "content" | "tool_calls">): string {
  const last = [...partsOf(answer)].at(-1);
  if (last === undefined) return answer.id;
  return last.kind === "text" ? last.message : `${answer.id}-${last.index + 1}`;
}

/** Strips the blank line that separates the text of a step from that of the previous step. */
export function withoutSeparator(text: string): string {
  return text.replace(/^\n+/, "");
}

/** A text or a call of an answer. `message` is the id of its AG-UI message, and `index` counts the calls from 0. */
export type Part =
  | { readonly kind: "text"; readonly message: string; readonly text: string }
  | { readonly kind: "call"; readonly message: string; readonly call: ToolCall; readonly index: number };

/**
 * Splits an answer into the parts of AG-UI messages, in chronological order. Text after calls starts another message:
 * the results of the calls precede it.
 */
export function* partsOf(answer: Pick<Message, "id" | "content" | "tool_calls">): Iterable<Part> {
  let calls = 0;
  let message = answer.id;
  for (const part of messageParts(answer)) {
    if (part.kind === "text") {
      if (calls > 0) message = `${answer.id}-${calls}`;
      yield { kind: "text", message, text: part.text };
    } else {
      yield { kind: "call", message, call: part.call, index: calls };
      calls += 1;
    }
  }
}
