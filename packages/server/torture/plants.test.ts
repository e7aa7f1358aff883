import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { PLANTS } from "./planted-faults.ts";
import { replaceOnce } from "./plants.ts";

describe("replaceOnce", () => {
  it("replaces a unique text, including dollar signs", () => {
    expect(replaceOnce("a b c", { file: "x.ts", text: "b", by: "$&" })).toBe("a $& c");
  });

  it.each(["a c", "a b b"])("throws for %j", (source) => {
    expect(() => replaceOnce(source, { file: "x.ts", text: "b", by: "" })).toThrow(
      /x\.ts has this text [02] times/,
    );
  });

  it.each(Object.entries(PLANTS))("%s matches the current sources", (_name, { replacements }) => {
    const sources = new Map<string, string>();
    for (const replacement of replacements) {
      const path = join(import.meta.dirname, "../..", replacement.file);
      const source = sources.get(path) ?? readFileSync(path, "utf8");
      sources.set(path, replaceOnce(source, replacement));
    }
    expect([...sources.keys()].length).toBe(new Set(replacements.map(({ file }) => file)).size);
  });
});
