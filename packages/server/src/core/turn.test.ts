import { expect, it } from "vitest";
import { providerOf } from "./turn.ts";

it("the provider of a rig is what stands before its first slash", () => {
  expect(["demo/assistant", "a/b/c", "none"].map(providerOf)).toEqual(["demo", "a", "none"]);
});
