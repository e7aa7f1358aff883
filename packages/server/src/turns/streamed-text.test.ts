import fc from "fast-check";
import { expect, it } from "vitest";
import { cleanText } from "../core/text.ts";
import { StreamedText } from "./streamed-text.ts";

const unit = fc.constantFrom("a", "\0", "\ud83d", "\ude00", "é", "\ufffd");

it("yields the same clean text however it is split, in clean pieces", () => {
  fc.assert(
    fc.property(fc.array(fc.array(unit, { maxLength: 4 })), (pieces) => {
      const streamed = new StreamedText();
      const texts = pieces.map((units) => units.join(""));
      const out = [...texts.map((text) => streamed.push(text)), streamed.end()];
      expect(out.every((text) => text === cleanText(text))).toBe(true);
      expect(out.join("")).toBe(cleanText(texts.join("")));
    }),
  );
});
