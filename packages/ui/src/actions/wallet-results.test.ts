import { expect, it } from "vitest";
import { forgetResult, storeResult, storedResult } from "./wallet-results.ts";

function storage() {
  const kept = new Map<string, string>();
  return {
    kept,
    getItem: (name: string) => kept.get(name) ?? null,
    setItem: (name: string, value: string) => void kept.set(name, value),
    removeItem: (name: string) => void kept.delete(name),
  };
}

it("keeps a wallet's result for its action until the service has it", () => {
  const tab = storage();
  storeResult(tab, "a", { transaction_hash: "0xb7" });
  storeResult(tab, "b", { signature: "0x5a" });
  expect([storedResult(tab, "a"), storedResult(tab, "b"), storedResult(tab, "c")]).toEqual([
    { transaction_hash: "0xb7" },
    { signature: "0x5a" },
    null,
  ]);
  forgetResult(tab, "a");
  forgetResult(tab, "b");
  expect(tab.kept.size).toBe(0);
});

it.each(["{", "5", "[]", '{"transaction_hash":5}', "null"])("ignores unreadable data: %s", (text) => {
  expect(storedResult({ ...storage(), getItem: () => text }, "a")).toBeNull();
});

it("tolerates a tab without storage", () => {
  const refuse = () => {
    throw new Error("SecurityError");
  };
  const tab = { getItem: refuse, setItem: refuse, removeItem: refuse };
  expect(() => storeResult(tab, "a", { signature: "0x5a" })).not.toThrow();
  expect(storedResult(tab, "a")).toBeNull();
  expect(() => forgetResult(tab, "a")).not.toThrow();
});
