import { describe, expect, it } from "vitest";
import { digestSecret, formatKey, newKey, parseKey } from "./key-text.ts";

const BASE62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

describe("the text of a key", () => {
  it("consists of clq_, the id and the secret, and can be parsed", () => {
    const key = newKey();
    const text = formatKey(key);
    expect(text).toMatch(/^clq_[0-9A-Za-z]{16}_[0-9A-Za-z]{36}$/);
    expect(parseKey(text)).toEqual(key);
  });

  it("is unique, with uniformly distributed characters", () => {
    const keys = Array.from({ length: 2000 }, newKey);
    expect(new Set(keys.map(({ id }) => id)).size).toBe(keys.length);
    expect(new Set(keys.map(({ secret }) => secret)).size).toBe(keys.length);
    const counts = new Map<string, number>();
    for (const { secret } of keys) {
      for (const character of secret.slice(0, 30).match(/./g) ?? [])
        counts.set(character, (counts.get(character) ?? 0) + 1);
    }
    // 60,000 characters over 62: 968 each, standard deviation 31. A biased choice would give the first eight
    // 1,170.
    for (const character of BASE62) expect(Math.abs((counts.get(character) ?? 0) - 968)).toBeLessThan(170);
  });

  it("is rejected with one wrong character or two swapped neighbours", () => {
    const text = formatKey(newKey());
    for (let index = 0; index < text.length; index += 1) {
      for (const character of BASE62) {
        if (text[index] === character) continue;
        expect(parseKey(text.slice(0, index) + character + text.slice(index + 1))).toBeNull();
      }
      const [first = "", second = ""] = text.slice(index, index + 2);
      if (first === second || second === "") continue;
      expect(parseKey(text.slice(0, index) + second + first + text.slice(index + 2))).toBeNull();
    }
  });

  it.each([
    "",
    "clq_",
    "clq__",
    "nonsense",
    "clq_abc_def",
    ` ${formatKey(newKey())}`,
    `${formatKey(newKey())}\n`,
  ])("is rejected if it is %j", (text) => {
    expect(parseKey(text)).toBeNull();
    const twice = formatKey(newKey());
    expect(parseKey(`${twice}, ${twice}`)).toBeNull();
  });

  it("has a SHA-256 digest", () => {
    expect(digestSecret("abc").toString("hex")).toBe(
      "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
    );
  });
});
