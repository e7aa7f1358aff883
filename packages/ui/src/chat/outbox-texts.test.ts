import { expect, it } from "vitest";
import { withUnsent } from "./outbox-texts.ts";

it.each([
  ["yes", "", "yes"],
  ["yes", "yes", "yes"],
  ["yes", "oh yes, and", "yes\n\noh yes, and"],
])("puts unsent %j before the draft %j: %j", (text, written, together) => {
  expect(withUnsent(text, written)).toBe(together);
});

it.each([
  ["One", "One\n\nThree"],
  ["One\n\nfour", "One\n\nThree\n\nfour"],
  ["One and a half", "Three\n\nOne and a half"],
  ["One\n\nTwo\n\nfour", "One\n\nTwo\n\nThree\n\nfour"],
  ["Two\n\nfour", "Two\n\nThree\n\nfour"],
  ["", "Three"],
])("puts it after text that was sent earlier and is still there: %j", (written, together) => {
  expect(withUnsent("Three", written, ["One", "Two"])).toBe(together);
});
