import { describe, expect, it } from "vitest";
import { cut, markdownOf } from "./transcript.ts";

describe("cut", () => {
  it("returns a text within the limit unchanged", () => {
    expect(cut("hello", 5)).toBe("hello");
  });

  it("does not split a surrogate pair", () => {
    expect(cut("🎉🎉", 3)).toBe("🎉");
    expect(cut("a🎉", 2)).toBe("a");
  });
});

it("shows each message with its speaker, time and called tools", () => {
  const createdAt = "2026-11-27T12:00:00.000Z";
  const text = markdownOf([
    { role: "user", text: "tea?", createdAt, tools: [], files: [] },
    { role: "assistant", text: "Brewed.", createdAt, tools: ["brew", "pour"], files: [] },
  ]);
  expect(text).toBe(
    `## User (${createdAt})\n\ntea?\n\n## Assistant (${createdAt})\n\nBrewed.\n\n_Called brew, pour_\n`,
  );
});
