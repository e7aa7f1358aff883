import { describe, expect, it } from "vitest";
import type { JsonObject } from "./json.ts";
import { mergePatch, metadataFits } from "./metadata.ts";

describe("mergePatch", () => {
  // The cases of RFC 7396, appendix A, in which target and patch are objects.
  it.each([
    ['{"a":"b"}', '{"a":"c"}', '{"a":"c"}'],
    ['{"a":"b"}', '{"b":"c"}', '{"a":"b","b":"c"}'],
    ['{"a":"b"}', '{"a":null}', "{}"],
    ['{"a":"b","b":"c"}', '{"a":null}', '{"b":"c"}'],
    ['{"a":["b"]}', '{"a":"c"}', '{"a":"c"}'],
    ['{"a":"c"}', '{"a":["b"]}', '{"a":["b"]}'],
    ['{"a":{"b":"c"}}', '{"a":{"b":"d","c":null}}', '{"a":{"b":"d"}}'],
    ['{"a":[{"b":"c"}]}', '{"a":[1]}', '{"a":[1]}'],
    ['{"e":null}', '{"a":1}', '{"e":null,"a":1}'],
    ["{}", '{"a":{"bb":{"ccc":null}}}', '{"a":{"bb":{}}}'],
    ["{}", '{"__proto__":{"a":1}}', '{"__proto__":{"a":1}}'],
  ])("applies to %s the patch %s", (target, patch, merged) => {
    const result = mergePatch(JSON.parse(target) as JsonObject, JSON.parse(patch) as JsonObject);
    expect(JSON.stringify(result)).toBe(merged);
  });
});

describe("metadataFits", () => {
  const nested = (levels: number): JsonObject => (levels === 1 ? {} : { a: nested(levels - 1) });

  it.each([
    ["4,096 bytes", { a: "x".repeat(4_088) }, true],
    ["4,097 bytes", { a: "x".repeat(4_089) }, false],
    ["4,097 bytes of fewer characters", { a: `${"é".repeat(2_044)}x` }, false],
    ["depth 16", nested(16), true],
    ["depth 17", nested(17), false],
  ])("checks the limits for %s", (_what, metadata, fits) => {
    expect(metadataFits(metadata)).toBe(fits);
  });
});
