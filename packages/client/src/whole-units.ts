/**
 * Converts an amount in the smallest unit, a decimal string of any length, exactly into whole units:
 * "1250000" with 6 decimals is "1.25". Returns text that is not a number unchanged. A token's contract
 * reports its decimals and may lie: show the raw amount too.
 */
export function wholeUnits(amount: string, decimals: number): string {
  if (!/^\d+$/.test(amount) || decimals === 0) return amount;
  const digits = amount.padStart(decimals + 1, "0");
  const whole = digits.slice(0, -decimals).replace(/^0+(?=\d)/, "");
  const fraction = digits.slice(-decimals).replace(/0+$/, "");
  return fraction === "" ? whole : `${whole}.${fraction}`;
}
