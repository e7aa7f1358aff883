// Stored results of wallets, until the service has them: a sent transaction must not be sent again because
// the service was unreachable, also not after a reload.

import type { KeyValueStore } from "../connection/tab-storage.ts";

export type WalletResult = { readonly transaction_hash: string } | { readonly signature: string };

/**
 * Prefixes of storage keys, before an action's id: the wallet's result, and the record that the wallet was
 * asked.
 */
export const GIVEN = "colloquy.given.";
export const ASKED = "colloquy.asked.";

/** Returns `null` if the wallet has given no result yet. */
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
    // Full or forbidden: the page keeps it in memory.
  }
}

export function forgetResult(storage: KeyValueStore, actionId: string): void {
  try {
    storage.removeItem(`${GIVEN}${actionId}`);
  } catch {
    // The browser refused to store anything before.
  }
}

/** Returns text by which to find the result in the wallet or on the chain. */
export function resultText(result: WalletResult): string {
  return "signature" in result ? result.signature : result.transaction_hash;
}

function isResult(value: unknown): value is WalletResult {
  if (typeof value !== "object" || value === null) return false;
  const { transaction_hash, signature } = value as Readonly<Record<string, unknown>>;
  return typeof transaction_hash === "string" || typeof signature === "string";
}
