import { describe, expect, it } from "vitest";
import { parseArguments } from "./arguments.ts";

const DEFAULTS = { minutes: 2, seed: "1", plant: null, quick: false } as const;

describe("parseArguments", () => {
  it("reads options and keeps the defaults of others", () => {
    expect(parseArguments(["--minutes", "0.5", "--quick"], DEFAULTS)).toEqual({
      minutes: 0.5,
      seed: "1",
      plant: null,
      quick: true,
    });
    expect(parseArguments(["--plant=--x=y", "--seed=7"], DEFAULTS)).toMatchObject({
      plant: "--x=y",
      seed: "7",
    });
    expect(parseArguments(["--plant", "early-ack"], DEFAULTS).plant).toBe("early-ack");
  });

  it.each([
    [["--hours", "2"], /Unknown option "--hours".*--minutes 2/],
    [["quick"], /Unknown option "quick"/],
    [["--minutes"], /--minutes needs a value/],
    [["--minutes", "--quick"], /--minutes needs a value/],
    [["--minutes", "two"], /--minutes needs a number/],
    [["--minutes", "-1"], /--minutes needs a number/],
  ])("rejects %j with a helpful message", (given, message) => {
    expect(() => parseArguments(given, DEFAULTS)).toThrow(message);
  });
});
