import { formatUnits, parseUnits } from "viem";

/** An amount for a model: `raw` in the smallest unit, `formatted` in whole units, both decimal. */
export interface Amount {
  readonly raw: string;
  readonly formatted: string;
  readonly symbol: string;
  readonly decimals: number;
}

export function amountOf(
  raw: bigint,
  { symbol, decimals }: { readonly symbol: string; readonly decimals: number },
): Amount {
  return { raw: raw.toString(), formatted: formatUnits(raw, decimals), symbol, decimals };
}

const maximumValue = 2n ** 256n - 1n;

/**
 * Parses an amount of a chain's currency. At most one of the two fields may be given; the default is 0.
 *
 * @throws RangeError if both are given, `value_ether` has too many decimal places, or the value exceeds 256
 *   bits.
 */
export function readValue(
  value: { readonly value_ether?: string | undefined; readonly value_wei?: string | undefined },
  decimals: number,
): bigint {
  const { value_ether: ether, value_wei: wei } = value;
  if (ether !== undefined && wei !== undefined)
    throw new RangeError("Give value_ether or value_wei, not both.");
  const places = ether?.split(".")[1]?.length ?? 0;
  // parseUnits would round.
  if (places > decimals) throw new RangeError(`value_ether has at most ${decimals} decimal places.`);
  const amount = ether === undefined ? BigInt(wei ?? 0) : parseUnits(ether, decimals);
  if (amount > maximumValue) throw new RangeError("The value is larger than any transaction can carry.");
  return amount;
}
