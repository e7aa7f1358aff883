// Results of approved actions. Checked without zod: store threads run these
// checks inside transactions, and would otherwise load zod only for them.

import type { z } from "zod";
import type { Json } from "./json.ts";

type JsonValue = z.infer<typeof Json>;

/** Results of approved actions, by kind. */
export interface ActionResult {
  readonly approval: null;
  readonly wallet_transaction: { readonly transaction_hash: string };
  readonly wallet_signature: { readonly signature: string };
  readonly question: { readonly answer: string };
  /** The output as JSON, with the ids of files of the session, or an error message. */
  readonly client_tool:
    | { readonly output: JsonValue; readonly attachments?: readonly string[] }
    | { readonly error: string };
}

const TRANSACTION_HASH = /^0x[0-9a-fA-F]{64}$/;
const SIGNATURE = /^0x(?:[0-9a-fA-F]{2})+$/;
/**
 * Maximum length of a signature in characters, including `0x`. Signatures of contract wallets are longer than
 * those of keys.
 */
const SIGNATURE_AT_MOST = 16_386;
/** Maximum length of an answer, in UTF-16 code units. */
const ANSWER_AT_MOST = 4_096;

/** Maximum number of attachments of a message or a tool's result. */
export const ATTACHMENTS_MAX = 10;
const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

const CHECKS: { readonly [Kind in keyof ActionResult]: (result: unknown) => boolean } = {
  approval: (result) => result === null,
  wallet_transaction: (result) =>
    holdsOnly(result, "transaction_hash", (text) => TRANSACTION_HASH.test(text)),
  wallet_signature: (result) =>
    holdsOnly(result, "signature", (text) => text.length <= SIGNATURE_AT_MOST && SIGNATURE.test(text)),
  question: (result) =>
    holdsOnly(result, "answer", (text) => text.length > 0 && text.length <= ANSWER_AT_MOST),
  client_tool: isClientResult,
};

/** Returns true if `result` is a valid result for an approved action of this kind. */
export function isActionResult<Kind extends keyof ActionResult>(
  kind: Kind,
  result: unknown,
): result is ActionResult[Kind] {
  return CHECKS[kind](result);
}

function isClientResult(result: unknown): boolean {
  if (typeof result !== "object" || result === null || Array.isArray(result)) return false;
  const { output, error, attachments, ...others } = result as Readonly<Record<string, unknown>>;
  if (Object.keys(others).length > 0) return false;
  if (output === undefined) return attachments === undefined && typeof error === "string" && error !== "";
  return error === undefined && (attachments === undefined || isFileList(attachments));
}

/** Returns true for a list of distinct ids of files. */
function isFileList(list: unknown): boolean {
  if (!Array.isArray(list) || list.length > ATTACHMENTS_MAX) return false;
  const ids = list.map((id: unknown) => (typeof id === "string" ? id.toLowerCase() : ""));
  return new Set(ids).size === ids.length && ids.every((id) => UUID.test(id));
}

/** Returns true if `value` is an object whose only property is `name`, with a valid string. */
function holdsOnly(value: unknown, name: string, isRight: (text: string) => boolean): boolean {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return false;
  const entries = Object.entries(value);
  const [[key, text] = []] = entries;
  return entries.length === 1 && key === name && typeof text === "string" && isRight(text);
}
