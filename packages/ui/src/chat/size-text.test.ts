import { expect, it } from "vitest";
import { sizeText } from "./size-text.ts";

it.each([
  [0, "0 B"],
  [999, "999 B"],
  [1_000, "1 KB"],
  [1_234, "1.2 KB"],
  [9_960, "10 KB"],
  [999_499, "999 KB"],
  [999_500, "1 MB"],
  [20_971_520, "21 MB"],
])("shows %i bytes as %s", (bytes, text) => {
  expect(sizeText(bytes)).toBe(text);
});
