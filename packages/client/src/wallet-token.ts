import { type ClientOptions, createClient } from "./client.ts";
import { ColloquyError } from "./colloquy-error.ts";
import type { SignedIn } from "./operations.ts";
import type { TokenSource } from "./transport.ts";
import type { WalletToken } from "./wire.ts";

/** A token is refreshed this many milliseconds before it expires. */
const EARLY_MS = 60_000;

/**
 * Returns the `token` option of a client whose user has signed in with a wallet. The function refreshes the
 * token shortly before it expires, for up to 24 hours after the sign-in. `onRefresh` receives each new token.
 * `options` are the client's.
 */
export function walletToken(
  signedIn: WalletToken | SignedIn,
  options: Omit<ClientOptions, "token">,
  onRefresh?: (next: SignedIn) => void,
): TokenSource {
  let current: WalletToken | SignedIn = signedIn;
  let refreshing: Promise<void> | null = null;
  const refresh = async (): Promise<void> => {
    try {
      const { token } = current;
      const next = await createClient({ ...options, token: () => token }).refreshSignIn();
      current = next;
      onRefresh?.(next);
    } catch (error) {
      // While the service is unreachable, use the current token until it expires.
      if (!(error instanceof ColloquyError) || isOver(current)) throw error;
    } finally {
      refreshing = null;
    }
  };
  return async () => {
    if (isAboutToEnd(current)) await (refreshing ??= refresh());
    return current.token;
  };
}

function isOver(token: WalletToken | SignedIn): boolean {
  return millisecondsLeft(token) <= 0;
}

function isAboutToEnd(token: WalletToken | SignedIn): boolean {
  const left = millisecondsLeft(token);
  const lifetime = lifetimeOf(token);
  // If the device's clock was set back, the remaining time exceeds the lifetime. Refresh then, too.
  return left < Math.min(EARLY_MS, lifetime / 2) || left > lifetime + EARLY_MS;
}

/**
 * Returns the milliseconds until the token expires, counted from its receipt, because the device's clock may
 * be wrong. If the time of receipt is unknown, uses the token's expiry until the first refresh.
 */
function millisecondsLeft(token: WalletToken | SignedIn): number {
  const end =
    "received_at" in token ? Date.parse(token.received_at) + lifetimeOf(token) : Date.parse(token.expires_at);
  return end - Date.now();
}

/** Returns the lifetime in milliseconds. Services before 0.2 do not send `expires_in`. */
function lifetimeOf({ expires_in = 15 * 60 }: Partial<WalletToken>): number {
  return expires_in * 1000;
}
