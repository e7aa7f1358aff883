// Ids of wallets that users have proved. The key of an account is the same on all chains, so its id is its address.
// A contract may have other owners on each chain, so its id has the chain (CAIP-10). Addresses are in lower case.

export function contractWalletId(chainId: number, address: string): string {
  return `eip155:${chainId}:${address}`;
}

/** Returns the address of the wallet, which contracts of several chains may share. */
export function addressOf(walletId: string): string {
  return walletId.slice(walletId.lastIndexOf(":") + 1);
}

/** Returns the chain of a contract wallet; `null` for an account. */
export function chainOf(walletId: string): number | null {
  const [, chain] = /^eip155:(\d+):/.exec(walletId) ?? [];
  return chain === undefined ? null : Number(chain);
}
