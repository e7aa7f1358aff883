import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { JsonValue } from "../core/json.ts";
import { createScrubber } from "./scrub.ts";
import { LEAKS } from "./testing/leaky-tool.ts";

const WAYS = Object.entries(LEAKS);
/** Contains everything that encodings treat specially, and characters of one to four bytes in UTF-8. */
const AWKWARD = String.raw`s3+cr/et &"<k>'\n%41\u0041é€😀=_-~`;

/** Returns every substring of four characters of `secret` that occurs in `value`. */
function remains(value: JsonValue, secret: string): readonly string[] {
  const text = JSON.stringify(value);
  const runs = Array.from({ length: secret.length - 3 }, (_, index) => secret.slice(index, index + 4));
  return runs.filter((run) => text.includes(run));
}

describe("createScrubber", () => {
  it.each(WAYS)("finds a secret %s", (_, leak) => {
    for (const secret of ["sk-live-4f9A8b7C6d5E", AWKWARD]) {
      const leaked = leak(secret);
      const scrubbed = createScrubber([secret])(leaked);
      expect(JSON.stringify(scrubbed)).toMatch(/\[secret\]|<hidden>|\*\*\*/);
      expect(remains(scrubbed, secret)).toEqual([]);
      // Scrubbing is idempotent: the remaining text does not contain the secret in any encoding.
      expect(createScrubber([secret])(scrubbed)).toEqual(scrubbed);
    }
  });

  it("finds any secret in any encoding, at any position", () => {
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

  it("finds a base64 secret at any offset of the encoded text", () => {
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
          // All base64 characters that hold a bit of the secret are removed.
          const [head = "", tail = ""] = scrubbed.split(/\[secret\]|<hidden>|\*\*\*|###|█{3}/);
          expect(Buffer.from(head, alphabet).length).toBeLessThanOrEqual(before.length);
          const rest = Buffer.byteLength(after);
          expect(Math.floor((tail.replaceAll("=", "").length * 6) / 8)).toBeLessThanOrEqual(rest);
        },
      ),
    );
  });

  it("leaves no bit of a secret in base64 of base64", () => {
    const bytes = fc.string({ maxLength: 12 });
    const secret = fc.string({ minLength: 8, maxLength: 40 }).filter((value) => value.trim() === value);
    const inBase64 = (text: string): string => Buffer.from(text).toString("base64");
    /** Returns how many bits of the innermost text these characters of the outer base64 reveal. */
    const told = (outer: string): number => Math.floor((outer.length * 6) / 8) * 6;
    fc.assert(
      fc.property(secret, bytes, bytes, (value, before, after) => {
        const scrubbed = createScrubber([value])(inBase64(inBase64(before + value + after))) as string;
        const parts = scrubbed.split(/\[secret\]|<hidden>|\*\*\*|###|█{3}/);
        expect(parts).toHaveLength(2);
        expect(told(parts[0]!)).toBeLessThanOrEqual(8 * Buffer.byteLength(before));
        // The end may have two padding characters, after bits without meaning.
        expect(told(parts[1]!.replaceAll("=", ""))).toBeLessThanOrEqual(8 * Buffer.byteLength(after) + 16);
      }),
    );
  });

  it("uses a mark that forms no value with the text beside it", () => {
    expect(createScrubber(["abc["])("abcabc[")).toBe("abc<hidden>");
    expect(createScrubber(["]abc"])("]abcabc")).toBe("<hidden>abc");
  });

  it("leaves text without secrets unchanged", () => {
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

  it("keeps the text around a secret unchanged", () => {
    const scrub = createScrubber(["hunter22"]);
    expect(scrub("50% of a+b &amp; \\u0041: hunter22, %68unter22; and more")).toBe(
      "50% of a+b &amp; \\u0041: [secret], [secret]; and more",
    );
    expect(scrub(`${btoa("user:hunter22")} rest\n`)).toBe("dXNlcj[secret]== rest\n");
  });

  it("covers overlapping secrets as a whole", () => {
    const scrub = createScrubber(["abcdef", "defghi", "abcd", "bcdefghi"]);
    expect(scrub("-abcdefghi-abcd-")).toBe("-[secret]-[secret]-");
    expect(createScrubber(["aaaa"])("aaaaaaa b")).toBe("[secret] b");
  });

  it("replaces each of several secrets that begin alike", () => {
    const scrub = createScrubber(["sk-live-one", "sk-live-two", "sk-live"]);
    expect(scrub("a sk-live-two b SK-LIVE-ONE c sk-live d")).toBe("a [secret] b [secret] c [secret] d");
  });

  it("ignores white space around a value", () => {
    expect(createScrubber(["  hunter22\t"])("x hunter22 y")).toBe("x [secret] y");
  });

  it("replaces secrets in keys, and keeps the values of keys that become equal", () => {
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

  it("replaces numbers that contain a secret, and no others", () => {
    expect(createScrubber(["12345678"])([12345678, 123456789, 1234567, true, null])).toEqual([
      "[secret]",
      "[secret]9",
      1234567,
      true,
      null,
    ]);
  });

  it("replaces a very short value only as a whole string", () => {
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
    "does not reintroduce %j by its mark",
    (secret) => {
      const scrubbed = createScrubber([secret])(`x${secret}y`);
      expect(scrubbed).not.toContain(secret);
      expect(createScrubber([secret])(scrubbed)).toBe(scrubbed);
    },
  );

  it.each(["a%61\\u0061", "61 61:61,0x", "YWFhYWFhYW"])(
    "takes time proportional to the text for hostile secrets: %s",
    (part) => {
      const hostile = Array.from({ length: 30 }, (_, index) => `${"a".repeat(8_000)}b${index}`);
      const scrub = createScrubber(hostile);
      const time = (length: number): number => {
        const started = process.cpuUsage();
        scrub(part.repeat(length / part.length));
        const { user, system } = process.cpuUsage(started);
        return (user + system) / 1_000;
      };
      time(6_400);
      // Limit in CPU milliseconds. Comparing 8,000 characters at each of 64,000 positions would take minutes.
      expect(time(64_000)).toBeLessThan(2_000);
    },
  );
});
