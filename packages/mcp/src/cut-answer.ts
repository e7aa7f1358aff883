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

/** Stands for a file that is not completely read. */
const CUT_FILE = `[This file was not read: a message of a tool server may have ${MAX_MESSAGE_BYTES} bytes.]`;

/** Returns the texts of a tool result's beginning, or the raw beginning if there are none. */
export async function readBeginning(head: string): Promise<Beginning | string> {
  const texts = (await textsIn(head)) ?? [head];
  const text = texts.length === 1 ? (texts[0] ?? head) : JSON.stringify(texts);
  // Texts before a file are complete.
  return texts.at(-1) === CUT_FILE ? text : new Beginning(text, MAX_MESSAGE_BYTES);
}

/** Returns `null` if there are no texts. */
async function textsIn(head: string): Promise<readonly string[] | null> {
  if ((head.match(/[[{]/g) ?? []).length > MAX_NESTED) return null;
  const { parsePartialJson } = await import("ai");
  const { value } = await parsePartialJson(head);
  const { content } =
    (value as { readonly result?: { readonly content?: unknown } } | undefined)?.result ?? {};
  if (!Array.isArray(content)) return null;
  const texts = (content as readonly unknown[]).flatMap((block) => {
    const { text, data, resource } = (block ?? {}) as Partial<Record<string, unknown>>;
    if (typeof text === "string") return [text];
    const { blob } = (resource ?? {}) as Partial<Record<string, unknown>>;
    return typeof data === "string" || typeof blob === "string" ? [CUT_FILE] : [];
  });
  return texts.length > 0 ? texts : null;
}
