/** Formats a number for wallets: hexadecimal, with `0x` and without leading zeros. */
export function hexadecimal(number: string | number): string {
  return `0x${BigInt(number).toString(16)}`;
}

/** Shortens an address to its start and end. */
export function shortAddress(address: string): string {
  return address.length > 14 ? `${address.slice(0, 6)}…${address.slice(-4)}` : address;
}
