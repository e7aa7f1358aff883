/** Places of ether, and of the currency of nearly every chain that wallets know. */
const DECIMALS = 18;

/** Wei, a decimal text of any length, in whole units and exact: "1250000000000000000" is "1.25". What is no number stays as it is. */
export function wholeUnits(wei: string): string {
  if (!/^\d+$/.test(wei)) return wei;
  const digits = wei.padStart(DECIMALS + 1, "0");
  const whole = digits.slice(0, -DECIMALS).replace(/^0+(?=\d)/, "");
  const fraction = digits.slice(-DECIMALS).replace(/0+$/, "");
  return fraction === "" ? whole : `${whole}.${fraction}`;
}

/** A number as wallets take it: hexadecimal, with `0x` and without leading zeros. */
export function hexadecimal(number: string | number): string {
  return `0x${BigInt(number).toString(16)}`;
}

/** An address that fits a line: its beginning and its end. */
export function shortAddress(address: string): string {
  return address.length > 14 ? `${address.slice(0, 6)}…${address.slice(-4)}` : address;
}
