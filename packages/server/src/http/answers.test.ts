import { describe, expect, it } from "vitest";
import { noneMatch } from "./answers.ts";

describe("If-None-Match", () => {
  it.each(['"abc"', 'W/"abc"', "*", " * ", '"x", "abc"', '"x",W/"abc" , "y"'])("%j matches", (header) => {
    expect(noneMatch(header, '"abc"')).toBe(true);
  });

  it.each(['"abd"', "abc", '"x", "y"', "", 'W/"ab"', '"a,"abc'])("%j does not match", (header) => {
    expect(noneMatch(header, '"abc"')).toBe(false);
  });
});
