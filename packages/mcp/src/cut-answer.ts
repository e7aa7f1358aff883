// Turns an oversized response into a protocol error that carries its beginning, so that it reaches the right
// call and the connection stays usable.

import type { JSONRPCErrorResponse } from "@modelcontextprotocol/client";
import { Beginning } from "@colloquy/engine/tool-source";

/** Error code outside the range of JSON-RPC codes, because it is never sent. */
export const ANSWER_CUT = -32_098;
/** Maximum size of a response, or of one event of a stream. */
export const MAX_MESSAGE_BYTES = 4 * 1_024 * 1_024;
/** Number of bytes at the end of a message that are searched for its id. */
export const TAIL_BYTES = 1_024;
/** Number of bytes kept of an oversized response. */
export const HEAD_BYTES = Beginning.ENOUGH;

/** Maximum number of arrays and objects. A beginning with more is unlikely to contain text. */
const MAX_NESTED = 5_000;
const ID_FIRST = /^\s*\{\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?"id"\s*:\s*(\d+)\s*,/;
const ID_LAST = /[,{]\s*"id"\s*:\s*(\d+)\s*(?:,\s*"jsonrpc"\s*:\s*"2\.0"\s*)?\}\s*$/;

/** Creates the replacement of a response. `head` is its beginning, of at most `HEAD_BYTES`. */
export function cutAnswer(id: string | number, head: string): JSONRPCErrorResponse {
  const message = `The answer is larger than ${MAX_MESSAGE_BYTES} bytes.`;
  return { jsonrpc: "2.0", id, error: { code: ANSWER_CUT, message, data: head } };
}

/** Returns the id of the answered request, `null` if it is not found. The client sends numbers. */
export function idOfAnswer(head: string, tail: string): number | null {
  const [, id] = ID_FIRST.exec(head) ?? ID_LAST.exec(tail) ?? [];
  return id === undefined ? null : Number(id);
}

/** Returns the texts of a tool result's beginning, or the raw beginning if there are none. */
export async function readBeginning(head: string): Promise<Beginning> {
  return new Beginning((await textsIn(head)) ?? head, MAX_MESSAGE_BYTES);
}

async function textsIn(head: string): Promise<string | null> {
  if ((head.match(/[[{]/g) ?? []).length > MAX_NESTED) return null;
  const { parsePartialJson } = await import("ai");
  const { value } = await parsePartialJson(head);
  const { content } =
    (value as { readonly result?: { readonly content?: unknown } } | undefined)?.result ?? {};
  if (!Array.isArray(content)) return null;
  const texts = (content as readonly unknown[]).flatMap((block) => {
    const { text } = (block ?? {}) as { readonly text?: unknown };
    return typeof text === "string" ? [text] : [];
  });
  const [only] = texts;
  if (only === undefined) return null;
  return texts.length === 1 ? only : JSON.stringify(texts);
}
