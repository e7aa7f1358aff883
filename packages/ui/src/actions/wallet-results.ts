// Results of wallets, stored until they are reported, even across reloads: an unreachable service must not
// lead to a second transaction.

import type { KeyValueStore } from "../service/tab-storage.ts";

export type WalletResult = { readonly transaction_hash: string } | { readonly signature: string };

/**
 * Prefixes of storage keys, before an action's id: the wallet's result, and the record that the wallet was
 * asked.
 */
export const GIVEN = "colloquy.given.";
export const ASKED = "colloquy.asked.";

/** Returns the wallet's result, or `null` if there is none yet. */
export function storedResult(storage: KeyValueStore, actionId: string): WalletResult | null {
  try {
    const kept: unknown = JSON.parse(storage.getItem(`${GIVEN}${actionId}`) ?? "null");
    return isResult(kept) ? kept : null;
  } catch {
    return null;
  }
}

export function storeResult(storage: KeyValueStore, actionId: string, result: WalletResult): void {
  try {
    storage.setItem(`${GIVEN}${actionId}`, JSON.stringify(result));
  } catch {
    // Storage is full or forbidden, so the page keeps the result in memory.
  }
}

export function forgetResult(storage: KeyValueStore, actionId: string): void {
  try {
    storage.removeItem(`${GIVEN}${actionId}`);
  } catch {
    // Storage is forbidden, so there is nothing to remove.
  }
}

/** Returns text that identifies the result in the wallet or on the chain. */
export function resultText(result: WalletResult): string {
  return "signature" in result ? result.signature : result.transaction_hash;
}

function isResult(value: unknown): value is WalletResult {
  if (typeof value !== "object" || value === null) return false;
  const { transaction_hash, signature } = value as Readonly<Record<string, unknown>>;
  return typeof transaction_hash === "string" || typeof signature === "string";
}
