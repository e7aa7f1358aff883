import assert from "node:assert/strict";
import { test } from "node:test";
import { roll } from "./roll-dice.ts";

test("rolls as many dice as it is asked for", () => {
  const { results, sum } = roll(100, 6);
  assert.equal(results.length, 100);
  assert.ok(results.every((result) => result >= 1 && result <= 6));
  assert.equal(
    sum,
    results.reduce((all, result) => all + result),
  );
});
