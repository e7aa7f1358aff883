import { expect, it } from "vitest";
import { forgetResult, keepResult, keptResult } from "./wallet-results.ts";

function storage() {
  const kept = new Map<string, string>();
  return {
    kept,
    getItem: (name: string) => kept.get(name) ?? null,
    setItem: (name: string, value: string) => void kept.set(name, value),
    removeItem: (name: string) => void kept.delete(name),
  };
}

it("what a wallet gave is there for its own action until the service has it", () => {
  const tab = storage();
  keepResult(tab, "a", { transaction_hash: "0xb7" });
  keepResult(tab, "b", { signature: "0x5a" });
  expect([keptResult(tab, "a"), keptResult(tab, "b"), keptResult(tab, "c")]).toEqual([
    { transaction_hash: "0xb7" },
    { signature: "0x5a" },
    null,
  ]);
  forgetResult(tab, "a");
  forgetResult(tab, "b");
  expect(tab.kept.size).toBe(0);
});

it.each(["{", "5", "[]", '{"transaction_hash":5}', "null"])("what cannot be read is nothing: %s", (text) => {
  expect(keptResult({ ...storage(), getItem: () => text }, "a")).toBeNull();
});

it("a tab that may keep nothing is no failure", () => {
  const refuse = () => {
    throw new Error("SecurityError");
  };
  const tab = { getItem: refuse, setItem: refuse, removeItem: refuse };
  expect(() => keepResult(tab, "a", { signature: "0x5a" })).not.toThrow();
  expect(keptResult(tab, "a")).toBeNull();
  expect(() => forgetResult(tab, "a")).not.toThrow();
});
