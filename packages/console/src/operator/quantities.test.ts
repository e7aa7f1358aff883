import { expect, it } from "vitest";
import { boundedText, bytesText } from "./quantities.ts";

it.each([
  [0, "0 bytes"],
  [1_023, "1023 bytes"],
  [1_024, "1.0 KiB"],
  [15 * 1024 * 1024, "15 MiB"],
])("bytesText(%d) is %s", (bytes, text) => {
  expect(bytesText(bytes)).toBe(text);
});

it("marks a count that stopped at its limit", () => {
  expect(boundedText(99, 100)).toBe("99");
  expect(boundedText(100, 100)).toBe("100 or more");
});
