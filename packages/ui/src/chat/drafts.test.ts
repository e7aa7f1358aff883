import { expect, it } from "vitest";
import { loadDraft, saveDraft } from "./drafts.ts";

function storage() {
  const kept = new Map<string, string>();
  return {
    kept,
    getItem: (name: string) => kept.get(name) ?? null,
    setItem: (name: string, value: string) => void kept.set(name, value),
    removeItem: (name: string) => void kept.delete(name),
  };
}

it("keeps one draft per conversation, and one for the next conversation", () => {
  const tab = storage();
  saveDraft(tab, "a", "half a sentence");
  saveDraft(tab, null, "not begun");
  expect([loadDraft(tab, "a"), loadDraft(tab, null), loadDraft(tab, "b")]).toEqual([
    "half a sentence",
    "not begun",
    "",
  ]);
});

it("leaves nothing behind after sending", () => {
  const tab = storage();
  saveDraft(tab, "a", "x");
  saveDraft(tab, "a", "");
  expect(tab.kept.size).toBe(0);
});

it("has no drafts in a tab without storage", () => {
  const refuse = () => {
    throw new Error("SecurityError");
  };
  const tab = { getItem: refuse, setItem: refuse, removeItem: refuse };
  expect(() => saveDraft(tab, "a", "x")).not.toThrow();
  expect(loadDraft(tab, "a")).toBe("");
});
