// An answer that is too large to be read becomes an error of the protocol that holds its beginning: so it finds the call that it is for,
// and nothing else of the connection is lost.

import type { JSONRPCErrorResponse } from "@modelcontextprotocol/client";
import { Beginning } from "../scrubbed-beginning.ts";

/** Not a code of JSON-RPC: it is never sent. */
export const ANSWER_CUT = -32_098;
/** Bytes of an answer, or of one event of a stream. */
export const MAX_MESSAGE_BYTES = 4 * 1_024 * 1_024;
/** Bytes of a message that its id stands in, where it is at its end. */
export const TAIL_BYTES = 1_024;
/** Bytes of an answer that are kept of one that is too large. */
export const HEAD_BYTES = Beginning.ENOUGH;

/** Lists and objects that begin; what has more is hardly text. */
const MAX_NESTED = 5_000;
const ID_FIRST = /^\s*\{\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?"id"\s*:\s*(\d+)\s*,/;
const ID_LAST = /[,{]\s*"id"\s*:\s*(\d+)\s*(?:,\s*"jsonrpc"\s*:\s*"2\.0"\s*)?\}\s*$/;

/** What takes the place of the answer to a request. `head` is its beginning, of `HEAD_BYTES` at most. */
export function cutAnswer(id: string | number, head: string): JSONRPCErrorResponse {
  const message = `The answer is larger than ${MAX_MESSAGE_BYTES} bytes.`;
  return { jsonrpc: "2.0", id, error: { code: ANSWER_CUT, message, data: head } };
}

/** Which request a message answers, by its beginning and its end; `null` where that cannot be seen. Requests of ours have numbers. */
export function idOfAnswer(head: string, tail: string): number | null {
  const [, id] = ID_FIRST.exec(head) ?? ID_LAST.exec(tail) ?? [];
  return id === undefined ? null : Number(id);
}

/** What the beginning of a message says: the texts of a tool's result where there are some, else the message as it stands. */
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
