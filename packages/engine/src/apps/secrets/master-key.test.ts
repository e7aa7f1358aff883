import { inspect } from "node:util";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { newMasterKey, createMasterKey } from "./master-key.ts";

const BYTES = newMasterKey();
const HEX = Buffer.from(BYTES).toString("hex");
const KEY = createMasterKey(BYTES);
const PLACE = { app: "defi", clientId: "web-7", name: "ALCHEMY_KEY" };

describe("a master key", () => {
  it("opens any text that it has sealed", () => {
    fc.assert(
      fc.property(fc.string({ unit: "grapheme", maxLength: 200 }), (value) => {
        expect(KEY.open(PLACE, KEY.seal(PLACE, value))).toBe(value);
      }),
    );
    const long = "€".repeat(8_192);
    expect(KEY.open(PLACE, KEY.seal(PLACE, long))).toBe(long);
  });

  it("seals the same value differently each time, without exposing it", () => {
    const sealed = Array.from({ length: 100 }, () => KEY.seal(PLACE, "hunter22"));
    expect(new Set(sealed.map((text) => text.slice(0, 16))).size).toBe(100);
    expect(new Set(sealed.map((text) => text.slice(16, 24))).size).toBe(100);
    expect(Buffer.from(KEY.seal(PLACE, "hunter22"), "base64").includes("hunter22")).toBe(false);
  });

  it("opens nothing that was sealed for another place, even if its parts concatenate to the same text", () => {
    const place = fc.record({
      app: fc.string({ maxLength: 3, unit: fc.constantFrom("a", "b", ":", "\u0000") }),
      clientId: fc.string({ maxLength: 3, unit: fc.constantFrom("a", "b", ":", "\u0000") }),
      name: fc.string({ maxLength: 3, unit: fc.constantFrom("a", "b", ":", "\u0000") }),
    });
    fc.assert(
      fc.property(place, place, (one, other) => {
        const same = one.app === other.app && one.clientId === other.clientId && one.name === other.name;
        expect(KEY.open(other, KEY.seal(one, "hunter22"))).toBe(same ? "hunter22" : null);
      }),
      {
        numRuns: 1_000,
        examples: [
          [
            { app: "ab", clientId: "c", name: "d" },
            { app: "a", clientId: "bc", name: "d" },
          ],
        ],
      },
    );
  });

  it("opens nothing that was modified at any byte", () => {
    const sealed = Buffer.from(KEY.seal(PLACE, "hunter22"), "base64");
    for (let index = 0; index < sealed.length; index += 1) {
      const changed = Buffer.from(sealed);
      changed[index] = (changed[index] ?? 0) ^ 1;
      expect(KEY.open(PLACE, changed.toString("base64"))).toBeNull();
      expect(KEY.open(PLACE, sealed.subarray(0, index).toString("base64"))).toBeNull();
    }
    expect(KEY.open(PLACE, Buffer.concat([sealed, Buffer.of(0)]).toString("base64"))).toBeNull();
    expect(KEY.open(PLACE, "not base64 at all")).toBeNull();
  });

  it("opens nothing that another key has sealed", () => {
    const other = createMasterKey(newMasterKey());
    expect(other.open(PLACE, KEY.seal(PLACE, "hunter22"))).toBeNull();
    expect(other.id).not.toBe(KEY.id);
    expect(createMasterKey(BYTES).id).toBe(KEY.id);
    expect(createMasterKey(BYTES).open(PLACE, KEY.seal(PLACE, "hunter22"))).toBe("hunter22");
  });

  it("is not exposed when printed", () => {
    const printed = inspect(KEY, { showHidden: true, depth: 9 }) + JSON.stringify(KEY);
    for (const text of [HEX, Buffer.from(BYTES).toString("base64"), String(BYTES)])
      expect(printed).not.toContain(text);
    expect(KEY.id).toMatch(/^[0-9a-f]{16}$/);
    expect(HEX).not.toContain(KEY.id);
  });
});
