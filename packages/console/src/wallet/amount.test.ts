import { expect, it } from "vitest";
import { hexadecimal, shortAddress, wholeUnits } from "./amount.ts";

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
])("%s wei are %s", (wei, units) => {
  expect(wholeUnits(wei)).toBe(units);
});

it.each([
  ["0", "0x0"],
  ["1250000000000000000", "0x1158e460913d0000"],
  [8453, "0x2105"],
])("%s is %s to a wallet", (number, text) => {
  expect(hexadecimal(number)).toBe(text);
});

it("an address fits a line", () => {
  expect(shortAddress("0x70997970C51812dc3A010C7d01b50e0d17dc79C8")).toBe("0x7099…79C8");
  expect(shortAddress("ann")).toBe("ann");
});
