// Sign-in with the browser's wallet, for Apps that require proof. The token is stored for this tab.

import { type Client, ColloquyError, type WalletToken } from "@colloquy/client";
import { signMessage, type BrowserWallet, type KeyValueStore } from "@colloquy/ui/parts";

const ENTRY = "colloquy.wallet-token";

/** Returns true if the service requires proof to list the wallet's conversations. */
export async function asksForProof(client: Client, address: string): Promise<boolean> {
  try {
    await client.listThreads(address, { limit: 1 });
    return false;
  } catch (error) {
    // The list of conversations shows other failures.
    return error instanceof ColloquyError && error.code === "wallet_not_proved";
  }
}

/** Signs in with the wallet. `client` must have no token. Throws an `Error` with a user-facing message. */
export async function signInWith(
  client: Client,
  wallet: BrowserWallet,
  address: string,
): Promise<WalletToken> {
  const { signInMessage } = await import("./sign-in-message.ts");
  const terms = await client.createSignInNonce();
  const { message, signature } = await signMessage(wallet, address, (chainId) =>
    signInMessage(window.location, { address, chainId, ...terms }),
  );
  return await client.verifySignIn({ message, signature });
}

/** Returns the tab's sign-in; `null` if there is none, or the browser refuses storage. */
export function loadSignIn(storage: KeyValueStore): WalletToken | null {
  try {
    return JSON.parse(storage.getItem(ENTRY) ?? "null") as WalletToken | null;
  } catch {
    return null;
  }
}

/** Stores the tab's sign-in, or removes it. Without storage it is lost at the next reload. */
export function saveSignIn(storage: KeyValueStore, signedIn: WalletToken | null): void {
  try {
    if (signedIn === null) storage.removeItem(ENTRY);
    else storage.setItem(ENTRY, JSON.stringify(signedIn));
  } catch {
    // Storage is full or forbidden, and the user cannot change that here.
  }
}
