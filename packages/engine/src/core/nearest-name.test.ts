import { expect, it } from "vitest";
import { nearestName, suggestion } from "./nearest-name.ts";

const known = ["models", "utilityModel", "instructions", "onBusy", "baseURL", "apiKeyEnv"];

it.each([
  ["model", "models"],
  ["modles", "models"],
  ["utility_model", "utilityModel"],
  ["instruction", "instructions"],
  ["BASE-URL", "baseURL"],
  ["apiKey", "apiKeyEnv"],
  ["url", null],
  ["colour", null],
  ["", null],
])('maps "%s" to %s', (name, meant) => {
  expect(nearestName(name, known)).toBe(meant);
});

it("suggests the nearest name, or lists all known names", () => {
  expect(suggestion("onbussy", known)).toBe(' Did you mean "onBusy"?');
  expect(suggestion("x", ["first", "second"])).toBe(" Known here: first, second.");
  expect(suggestion("x", [])).toBe("");
});
