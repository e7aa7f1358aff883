import { expect, it } from "vitest";
import { loadSettings, NOTHING_ENTERED, saveSettings } from "./settings.ts";

function storage(): Storage {
  const kept = new Map<string, string>();
  return {
    getItem: (name: string) => kept.get(name) ?? null,
    setItem: (name: string, value: string) => void kept.set(name, value),
  } as Storage;
}

it("keeps the settings over a reload", () => {
  const kept = storage();
  const settings = { app: "support", key: "ck_1", adminKey: "admin", wallet: "0xabc" };
  saveSettings(kept, settings);
  expect(loadSettings(kept)).toEqual(settings);
});

it.each(["", "null", "[]", "{", '{"app":5,"key":"","x":"y"}'])("ignores unreadable data: %s", (text) => {
  expect(loadSettings({ getItem: () => text })).toEqual(NOTHING_ENTERED);
});

it("tolerates a browser without storage", () => {
  const refusing = () => {
    throw new Error("QuotaExceededError");
  };
  expect(loadSettings({ getItem: refusing })).toEqual(NOTHING_ENTERED);
  expect(() => saveSettings({ setItem: refusing }, NOTHING_ENTERED)).not.toThrow();
});
