// What comes with the approval of an action, by its kind. Said without a schema: each thread of a store asks this inside its transactions,
// and would otherwise load the library of schemas for nothing else.

/** What a person gives beside an approval, by the kind of the action. */
export interface ActionResult {
  readonly approval: null;
  readonly wallet_transaction: { readonly transaction_hash: string };
  readonly wallet_signature: { readonly signature: string };
  readonly question: { readonly answer: string };
}

const TRANSACTION_HASH = /^0x[0-9a-fA-F]{64}$/;
const SIGNATURE = /^0x(?:[0-9a-fA-F]{2})+$/;
/** Of a signature, in characters, with its `0x`: what contracts sign for their owners is longer than a key's. */
const SIGNATURE_AT_MOST = 16_386;
/** Of an answer, in UTF-16 code units. */
const ANSWER_AT_MOST = 4_096;

const CHECKS: { readonly [Kind in keyof ActionResult]: (result: unknown) => boolean } = {
  approval: (result) => result === null,
  wallet_transaction: (result) =>
    holdsOnly(result, "transaction_hash", (text) => TRANSACTION_HASH.test(text)),
  wallet_signature: (result) =>
    holdsOnly(result, "signature", (text) => text.length <= SIGNATURE_AT_MOST && SIGNATURE.test(text)),
  question: (result) =>
    holdsOnly(result, "answer", (text) => text.length > 0 && text.length <= ANSWER_AT_MOST),
};

/** Whether an action of this kind can be approved with this. */
export function isActionResult<Kind extends keyof ActionResult>(
  kind: Kind,
  result: unknown,
): result is ActionResult[Kind] {
  return CHECKS[kind](result);
}

/** An object of this one property, which is text that is right. */
function holdsOnly(value: unknown, name: string, isRight: (text: string) => boolean): boolean {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return false;
  const entries = Object.entries(value);
  const [[key, text] = []] = entries;
  return entries.length === 1 && key === name && typeof text === "string" && isRight(text);
}
