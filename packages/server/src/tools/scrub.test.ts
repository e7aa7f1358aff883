import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { JsonValue } from "../core/json.ts";
import { createScrubber } from "./scrub.ts";
import { LEAKS } from "./testing/leaky-tool.ts";

const WAYS = Object.entries(LEAKS);
/** Has all that encodings treat in a special way, and characters of one to four bytes. */
const AWKWARD = String.raw`s3+cr/et &"<k>'\n%41\u0041é€😀=_-~`;

/** Every run of four characters of `secret` that stands in `value`. */
function remains(value: JsonValue, secret: string): readonly string[] {
  const text = JSON.stringify(value);
  const runs = Array.from({ length: secret.length - 3 }, (_, index) => secret.slice(index, index + 4));
  return runs.filter((run) => text.includes(run));
}

describe("the scrubber", () => {
  it.each(WAYS)("finds a secret %s", (_, leak) => {
    for (const secret of ["sk-live-4f9A8b7C6d5E", AWKWARD]) {
      const leaked = leak(secret);
      const scrubbed = createScrubber([secret])(leaked);
      expect(JSON.stringify(scrubbed)).toMatch(/\[secret\]|<hidden>|\*\*\*/);
      expect(remains(scrubbed, secret)).toEqual([]);
      // What is left holds nothing of it in any way: whoever leaks what is left leaks nothing.
      expect(createScrubber([secret])(scrubbed)).toEqual(scrubbed);
    }
  });

  it("finds any secret in any way, wherever it stands", () => {
    const text = fc.string({ unit: "grapheme", maxLength: 40 });
    const secret = fc
      .string({ unit: "grapheme", minLength: 6, maxLength: 60 })
      .filter((value) => value.trim().length >= 6 && !/\p{Cc}/u.test(value));
    const way = fc.constantFrom(...WAYS.map(([, leak]) => leak));
    fc.assert(
      fc.property(secret, way, text, text, (value, leak, before, after) => {
        const scrubber = createScrubber([value]);
        const scrubbed = scrubber([before, leak(value), after]) as JsonValue[];
        expect(scrubbed[1]).not.toEqual(leak(value));
        for (const [, other] of WAYS) expect(scrubbed).not.toContainEqual(other(value));
        expect(JSON.stringify(scrubbed[1])).not.toContain(JSON.stringify(value).slice(1, -1));
      }),
      { numRuns: 500 },
    );
  });

  it("finds a base64 secret wherever it stands in what was encoded", () => {
    const bytes = fc.string({ maxLength: 12 });
    const secret = fc.string({ minLength: 8, maxLength: 40 }).filter((value) => value.trim() === value);
    fc.assert(
      fc.property(
        secret,
        bytes,
        bytes,
        fc.constantFrom("base64", "base64url"),
        (value, before, after, alphabet) => {
          const encoded = Buffer.from(before + value + after).toString(alphabet);
          const scrubbed = createScrubber([value])(encoded) as string;
          // All the characters of base64 that hold a bit of it are gone.
          const [head = "", tail = ""] = scrubbed.split(/\[secret\]|<hidden>|\*\*\*|###|█{3}/);
          expect(Buffer.from(head, alphabet).length).toBeLessThanOrEqual(before.length);
          const rest = Buffer.byteLength(after);
          expect(Math.floor((tail.replaceAll("=", "").length * 6) / 8)).toBeLessThanOrEqual(rest);
        },
      ),
    );
  });

  it("leaves alone what holds no secret", () => {
    const scrub = createScrubber(["sk-live-4f9A8b7C6d5E", "12345678"]);
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 4 }), (value) => {
        const json = JSON.parse(JSON.stringify(value)) as JsonValue;
        expect(scrub(json)).toEqual(json);
      }),
    );
    const texts = ["100% sure & <b>ok</b> C:\\new +1 &amp; %zz \\u12", "aGVsbG8gd29ybGQ=", "a-b_c\r\nd"];
    expect(scrub(texts)).toEqual(texts);
    expect(createScrubber([])(texts)).toBe(texts);
    expect(createScrubber(["", " "])(texts)).toBe(texts);
  });

  it("keeps everything around a secret as it was", () => {
    const scrub = createScrubber(["hunter22"]);
    expect(scrub("50% of a+b &amp; \\u0041: hunter22, %68unter22; and more")).toBe(
      "50% of a+b &amp; \\u0041: [secret], [secret]; and more",
    );
    expect(scrub(`${btoa("user:hunter22")} rest\n`)).toBe("dXNlcj[secret]== rest\n");
  });

  it("covers secrets that overlap, as a whole", () => {
    const scrub = createScrubber(["abcdef", "defghi", "abcd", "bcdefghi"]);
    expect(scrub("-abcdefghi-abcd-")).toBe("-[secret]-[secret]-");
    expect(createScrubber(["aaaa"])("aaaaaaa b")).toBe("[secret] b");
  });

  it("takes no account of white space around a value", () => {
    expect(createScrubber(["  hunter22\t"])("x hunter22 y")).toBe("x [secret] y");
  });

  it("replaces in keys, and keeps the values of those that become the same", () => {
    const scrub = createScrubber(["hunter22", "hunter33"]);
    expect(scrub({ hunter22: 1, hunter33: 2, "[secret] 2": 3, __proto__: 4, other: 5 })).toEqual({
      "[secret]": 1,
      "[secret] 2": 2,
      "[secret] 2 2": 3,
      other: 5,
    });
    const own = JSON.parse('{"__proto__":"hunter22"}') as JsonValue;
    expect(JSON.stringify(scrub(own))).toBe('{"__proto__":"[secret]"}');
  });

  it("replaces a number that is a secret, and no other", () => {
    expect(createScrubber(["12345678"])([12345678, 123456789, 1234567, true, null])).toEqual([
      "[secret]",
      "[secret]9",
      1234567,
      true,
      null,
    ]);
  });

  it("replaces a very short value only where a string is nothing else", () => {
    const scrub = createScrubber(["ab", "é!"]);
    expect(scrub(["ab", " ab\n", "a b", "abc", "YWI=", "YWI", "%61b", "é!", "\\u00e9!"])).toEqual([
      "[secret]",
      "[secret]",
      "a b",
      "abc",
      "[secret]",
      "[secret]",
      "[secret]",
      "[secret]",
      "[secret]",
    ]);
  });

  it.each([["[secret]"], ["secret"], ["a]b[c"], ["<x> [y]"], ["<*[#"]])(
    "does not put back %j with its mark",
    (secret) => {
      const scrubbed = createScrubber([secret])(`x${secret}y`);
      expect(scrubbed).not.toContain(secret);
      expect(createScrubber([secret])(scrubbed)).toBe(scrubbed);
    },
  );

  it("takes time in proportion to the text, whatever the secrets are", () => {
    const hostile = Array.from({ length: 30 }, (_, index) => `${"a".repeat(8_000)}b${index}`);
    const scrub = createScrubber(hostile);
    const time = (length: number): number => {
      const started = performance.now();
      scrub("a%61\\u0061".repeat(length / 10));
      return performance.now() - started;
    };
    time(6_400);
    // Comparing 8,000 characters at each of 64,000 places would take minutes.
    expect(time(64_000)).toBeLessThan(2_000);
  });
});
