import { expect, it } from "vitest";
import { hexadecimal, shortAddress } from "./amount.ts";

it.each([
  ["0", "0x0"],
  ["1250000000000000000", "0x1158e460913d0000"],
  [8453, "0x2105"],
])("%s is %s to a wallet", (number, text) => {
  expect(hexadecimal(number)).toBe(text);
});

it("shortens an address", () => {
  expect(shortAddress("0x70997970C51812dc3A010C7d01b50e0d17dc79C8")).toBe("0x7099…79C8");
  expect(shortAddress("ann")).toBe("ann");
});
