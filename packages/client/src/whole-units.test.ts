import { expect, it } from "vitest";
import { wholeUnits } from "./whole-units.ts";

it.each([
  ["0", "0"],
  ["1", "0.000000000000000001"],
  ["1250000000000000000", "1.25"],
  ["1000000000000000000", "1"],
  ["00100000000000000000000", "100"],
  [
    "115792089237316195423570985008687907853269984665640564039457584007913129639935",
    "115792089237316195423570985008687907853269984665640564039457.584007913129639935",
  ],
  ["-1", "-1"],
  ["0x10", "0x10"],
])("wholeUnits converts %s with 18 decimals to %s", (wei, units) => {
  expect(wholeUnits(wei, 18)).toBe(units);
});

it.each([
  ["1250000", 6, "1.25"],
  ["5", 0, "5"],
  ["5", 3, "0.005"],
  ["12", 255, `0.${"0".repeat(253)}12`],
])("wholeUnits converts %s with %i decimals to %s", (amount, decimals, units) => {
  expect(wholeUnits(amount, decimals)).toBe(units);
});
