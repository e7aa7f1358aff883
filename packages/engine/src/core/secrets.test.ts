import { describe, expect, it } from "vitest";
import { formatMasterKey, parseMasterKeys } from "./secrets.ts";

const KEY = Buffer.from(Array.from({ length: 32 }, (_, index) => 255 - index * 7));
const OTHER = Buffer.from(Array.from({ length: 32 }, (_, index) => index));

function keysOf(text: string): readonly Uint8Array[] {
  const parsed = parseMasterKeys(text);
  return "keys" in parsed ? parsed.keys : [];
}

function problemOf(text: string): string {
  const parsed = parseMasterKeys(text);
  return "problem" in parsed ? parsed.problem : "";
}

describe("the text of master keys", () => {
  it.each([
    ["base64", KEY.toString("base64")],
    ["base64 without padding", KEY.toString("base64").replace("=", "")],
    ["base64 for URLs", KEY.toString("base64url")],
    ["hexadecimal", KEY.toString("hex")],
    ["hexadecimal in upper case", KEY.toString("hex").toUpperCase()],
    ["with white space around it", ` ${formatMasterKey(KEY)}\n`],
  ])("may be %s", (_, text) => {
    expect(keysOf(text)).toEqual([KEY]);
  });

  it("may contain several, newest first, separated by commas or line breaks", () => {
    expect(keysOf(`${formatMasterKey(KEY)},${OTHER.toString("hex")}`)).toEqual([KEY, OTHER]);
    expect(keysOf(`${formatMasterKey(KEY)}\n${formatMasterKey(OTHER)}\n`)).toEqual([KEY, OTHER]);
    expect(keysOf("")).toEqual([]);
    expect(keysOf(" \n")).toEqual([]);
  });

  it.each([
    ["short", KEY.subarray(1).toString("base64")],
    ["long", `${KEY.toString("hex")}00`],
    ["not base64", `${"!".repeat(43)}=`],
    ["a password", "correct-horse-battery-staple"],
  ])("is rejected with advice, and not echoed, if it is %s", (_, text) => {
    expect(problemOf(text)).toMatch(/^must be a key of 32 bytes .* openssl rand -base64 32$/);
    expect(problemOf(text)).not.toContain(text.slice(0, 8));
    expect(problemOf(`${formatMasterKey(KEY)},${text}`)).toContain("Key 2 of 2 is none.");
  });

  it("is rejected if it cannot be a random key", () => {
    expect(problemOf(Buffer.alloc(32).toString("base64"))).toContain("random");
    expect(problemOf(`${KEY.toString("hex")},${KEY.toString("base64")}`)).toBe(
      "must not hold the same key twice.",
    );
  });
});
