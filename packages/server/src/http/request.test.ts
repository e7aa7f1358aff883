import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { InvalidRequest } from "@colloquy/engine/internal/core/errors";
import { preferredWait, readTarget } from "./request.ts";

describe("a request target", () => {
  it("is parsed by name, with escapes and plus signs decoded", () => {
    const query = readTarget("/api/chat?message=caf%C3%A9+au%20lait&app=&flag&a=b=c&&");
    expect({ ...query }).toEqual({ message: "café au lait", app: "", flag: "", a: "b=c" });
  });

  it("keeps all values of a repeated name", () => {
    expect({ ...readTarget("/?a=1&b=2&a=3&%61=4") }).toEqual({ a: ["1", "3", "4"], b: "2" });
  });

  it("may contain names of Object.prototype", () => {
    const query = readTarget("/?__proto__=1&constructor=2");
    expect(query["__proto__"]).toBe("1");
    expect(query["constructor"]).toBe("2");
    expect(readTarget("/?a=1")["toString"]).toBeUndefined();
  });

  it.each([
    "/?a=%",
    "/?a=%zz",
    "/?a=%C3%28",
    "/?a=%ED%A0%80",
    "/?a=%FF",
    "/?%a=1",
    "/%zz",
    "/%C0%AF",
    "/?a=caf\u00e9",
    "/?a=b#c",
    "/?a=%00",
    "/?a%00b=1",
    "/a%00b?x",
  ])("is rejected if it is %j", (target) => {
    expect(() => readTarget(target)).toThrow(InvalidRequest);
  });

  it("round-trips with URLSearchParams, and throws only InvalidRequest for other input", () => {
    fc.assert(
      fc.property(
        fc.dictionary(fc.string({ unit: "grapheme" }), fc.string({ unit: "grapheme" })),
        (values) => {
          const clean = Object.entries(values).filter(([name, value]) => !`${name}${value}`.includes("\0"));
          const query = readTarget(`/?${new URLSearchParams(clean).toString()}`);
          expect(Object.entries(query)).toEqual(clean);
        },
      ),
    );
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), (text) => {
        try {
          readTarget(`/?${text}`);
        } catch (error) {
          expect(error).toBeInstanceOf(InvalidRequest);
        }
      }),
    );
  });
});

describe("Prefer: wait", () => {
  it.each([
    [null, 0],
    ["", 0],
    ["wait=10", 10_000],
    ["Wait=10", 10_000],
    ['wait="10"', 10_000],
    ["wait = 10", 10_000],
    ["respond-async, wait=5", 5000],
    ["respond-async,wait=5;x=y, handling=lenient", 5000],
    ["wait=60", 60_000],
    ["wait=61", 60_000],
    ["wait=99999999999999999999999999", 60_000],
    ["wait=0", 0],
    ["wait=3, wait=9", 3000],
    ["wait=x, wait=9", 0],
    ["wait", 0],
    ["wait=", 0],
    ["wait=-1", 0],
    ["wait=1.5", 0],
    ["waiter=5", 0],
    ['foo="a, wait=5"', 0],
  ])("%j waits %d ms", (header, milliseconds) => {
    expect(preferredWait(header)).toBe(milliseconds);
  });
});
