import { describe, expect, it } from "vitest";
import type { JsonValue } from "../core/json.ts";
import { createScrubber } from "./scrub.ts";
import { Beginning, scrubbedBeginning, scrubbedToFit } from "./scrubbed-beginning.ts";

const LIMIT = 65_536;
const MEGABYTES = 4 * 1_024 * 1_024;
const SECRET = "s3cret-value";

/** Returns the result, and how many bytes of JSON were scrubbed for it. */
function fit(value: JsonValue) {
  const scrubber = createScrubber([SECRET]);
  let scrubbed = 0;
  const result = scrubbedToFit(value, LIMIT, (part) => {
    scrubbed += Buffer.byteLength(JSON.stringify(part));
    return scrubber(part);
  });
  if (typeof result !== "string") throw new TypeError("a cut value must be a string");
  return { result, scrubbed };
}

const LARGE: ReadonlyArray<readonly [string, JsonValue]> = [
  ["a string", "x".repeat(MEGABYTES)],
  ["a string of four-byte characters", "😀".repeat(MEGABYTES / 4)],
  ["one long string in an object", { a: 1, text: "x".repeat(MEGABYTES), b: 2 }],
  [
    "many strings",
    { rows: Array.from({ length: 80_000 }, (_, row) => ({ row, text: `the text of ${row}` })) },
  ],
  ["many numbers", Array.from({ length: MEGABYTES / 4 }, (_, index) => index)],
];

describe("scrubbedToFit on a value of megabytes", () => {
  it.each(LARGE)("scrubs only the part that is shown: %s", (_case, value) => {
    const { result, scrubbed } = fit(value);
    const size = Buffer.byteLength(JSON.stringify(value));
    expect(scrubbed).toBeLessThan(MEGABYTES / 4);
    expect(result.endsWith(`\n[Cut: this is the beginning of ${size} bytes.]`)).toBe(true);
    const beginning = result.slice(0, result.lastIndexOf("\n[Cut"));
    expect((typeof value === "string" ? value : JSON.stringify(value)).startsWith(beginning)).toBe(true);
    expect(Buffer.byteLength(JSON.stringify(result))).toBeGreaterThan(LIMIT - 20);
    expect(Buffer.byteLength(JSON.stringify(result))).toBeLessThanOrEqual(LIMIT);
  });

  // Marks are shorter than the secrets they replace, so text after the cut moves before it.
  it.each(["", "x", "xy", "xyz", "1234567"])(
    "leaves no partial secret at the end, after the prefix %o",
    (before) => {
      const many = before + SECRET.repeat(MEGABYTES / SECRET.length);
      for (const value of [many, { many }, [many, many], { [many]: 1 }]) {
        expect(fit(value).result.replaceAll("[secret]", "")).not.toMatch(/s3|val|ret|cre/);
      }
    },
  );

  it("leaves no secret across the cut", () => {
    for (let place = LIMIT - 100; place < LIMIT + 20; place += 9) {
      const { result } = fit("x".repeat(place) + SECRET + "y".repeat(MEGABYTES / 16));
      expect(result).not.toContain("s3");
    }
  });
});

describe("scrubbedBeginning", () => {
  const shown = (text: string) =>
    scrubbedBeginning(new Beginning(text, MEGABYTES), LIMIT, createScrubber([SECRET]));
  const NOTE = `\n[Cut: this is the beginning of more than ${MEGABYTES} bytes.]`;

  it("returns as much as fits, with a note", () => {
    const text = shown("x".repeat(Beginning.ENOUGH));
    expect(text.endsWith(`xxx${NOTE}`)).toBe(true);
    expect(Buffer.byteLength(JSON.stringify(text))).toBe(LIMIT);
  });

  it("contains no secret, and no partial one where reading ended", () => {
    expect(shown(`a ${SECRET} b${" ".repeat(Beginning.ENOUGH)}`)).toMatch(/^a \[secret\] b +\n\[Cut/);
    for (const length of [200_000, 140_000, 1_000, 0]) {
      const cut = `${".".repeat(length)}${SECRET.slice(0, 6)}`;
      expect(shown(cut)).not.toContain("s3c");
      expect(shown(cut).endsWith(NOTE)).toBe(true);
    }
  });
});
