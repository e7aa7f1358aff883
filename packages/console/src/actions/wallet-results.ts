// What a wallet gave for an action, until the service has it: a transaction that is sent must not be sent again because the service could
// not be told of it, also not after the page was loaded again.

import type { Kept } from "../connection/tab-storage.ts";

export type WalletResult = { readonly transaction_hash: string } | { readonly signature: string };

/** What the names of entries begin with, before the id of an action: what a wallet gave for it, and that a wallet was asked for it. */
export const GIVEN = "colloquy.given.";
export const ASKED = "colloquy.asked.";

/** `null` where the wallet has given nothing yet. */
export function keptResult(storage: Kept, actionId: string): WalletResult | null {
  try {
    const kept: unknown = JSON.parse(storage.getItem(`${GIVEN}${actionId}`) ?? "null");
    return isResult(kept) ? kept : null;
  } catch {
    return null;
  }
}

export function keepResult(storage: Kept, actionId: string, result: WalletResult): void {
  try {
    storage.setItem(`${GIVEN}${actionId}`, JSON.stringify(result));
  } catch {
    // Full or forbidden: the page has it, as long as it lives.
  }
}

export function forgetResult(storage: Kept, actionId: string): void {
  try {
    storage.removeItem(`${GIVEN}${actionId}`);
  } catch {
    // Then nothing was kept.
  }
}

/** What was done, to find it again in the wallet or on the chain. */
export function resultText(result: WalletResult): string {
  return "signature" in result ? result.signature : result.transaction_hash;
}

function isResult(value: unknown): value is WalletResult {
  if (typeof value !== "object" || value === null) return false;
  const { transaction_hash, signature } = value as Readonly<Record<string, unknown>>;
  return typeof transaction_hash === "string" || typeof signature === "string";
}
