import { type ClientOptions, createClient } from "./client.ts";
import type { TokenSource } from "./transport.ts";
import type { WalletToken } from "./wire.ts";

/** Milliseconds before its end at which a token is refreshed. */
const EARLY_MS = 60_000;

/**
 * Returns the `token` option for a client of a user who has signed in with a wallet: it refreshes the token when that is about to end, for
 * up to 24 hours after the wallet signed. `onRefresh` gets each next token. `options` are those of the client.
 */
export function walletToken(
  signedIn: WalletToken,
  options: Omit<ClientOptions, "token">,
  onRefresh?: (next: WalletToken) => void,
): TokenSource {
  let current = signedIn;
  let refreshing: Promise<void> | null = null;
  const left = (): number => Date.parse(current.expires_at) - Date.now();
  const refresh = async (): Promise<void> => {
    try {
      const { token } = current;
      current = await createClient({ ...options, token: () => token }).refreshSignIn();
      onRefresh?.(current);
    } catch (error) {
      // Keep the current token while the service cannot be reached.
      if (left() <= 0) throw error;
    } finally {
      refreshing = null;
    }
  };
  return async () => {
    if (left() < EARLY_MS) await (refreshing ??= refresh());
    return current.token;
  };
}
