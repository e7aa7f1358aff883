import { describe, expect, it } from "vitest";
import { type DemoIntent, readIntent } from "./demo-intent.ts";

function kinds(kind: DemoIntent["kind"], messages: readonly string[]): void {
  describe(`recognizes ${kind} in`, () => {
    it.each(messages)("%s", (message) => {
      expect(readIntent(message).kind).toBe(kind);
    });
  });
}

describe("readIntent", () => {
  kinds("introduction", [
    "hi",
    "Hello!",
    "hey there",
    "Good morning, everyone.",
    "hello world",
    "Who are you?",
    "what are you",
    "help",
  ]);
  kinds("first-message", [
    "what did I say first?",
    "What did I say first",
    "what was my first message?",
    "What was the first thing I said?",
    "hello, what did I ask you first?",
  ]);
  kinds("count", [
    "count to 5",
    "Please count to 20!",
    "can you count from 1 to 7?",
    "count up to 3",
    "count to 0",
    "count to -4",
  ]);
  kinds("time", [
    "what time is it",
    "What time is it?",
    "what's the time",
    "what is the current time in Tokyo?",
    "hello, what time is it in Europe/Berlin right now?",
    "tell me the time",
    "what day is it?",
    "what's today's date?",
  ]);
  kinds("arithmetic", [
    "what is 12 * 7?",
    "calculate 2^10",
    "(3+4)*2",
    "1/0",
    "What's 2+2",
    "12 x 7 =",
    "sqrt(16)",
    "pi * 2",
    "-5 + 3",
    "calculate foo(2)",
  ]);
  kinds("other", [
    "tell me a joke",
    "hi, my name is Bob",
    "what is 5?",
    "what is the meaning of life",
    "2026-11-20",
    "-",
    "()",
    "...",
    "what was the first computer?",
    "count me in",
    "my favourite number is 7",
    "",
    "e",
    `what time is it? ${"x".repeat(1_000)}`,
  ]);

  it.each([
    ["what time is it in Tokyo?", "Tokyo"],
    ["what time is it in Europe/Berlin", "Europe/Berlin"],
    ["What is the time in New York right now, please?", "New York"],
    ["what time is it in São Paulo today", "São Paulo"],
    ["time is it now at St. John's.", "St. John's"],
    ["what time is it?", null],
    ["in short: what time is it?", null],
    [`what time is it in ${"x".repeat(121)}`, null],
  ])("finds the place in %s", (message, place) => {
    expect(readIntent(message)).toEqual({ kind: "time", place });
  });

  it.each([
    ["what is 12 * 7?", "12 * 7"],
    ["Hello! Could you please tell me what is (1 + 2) / 3 please?", "(1 + 2) / 3"],
    ["calculate 2^10.", "2^10"],
    ["how much is 1,000,000 * 2", "1000000 * 2"],
    ["max(1,200)", "max(1,200)"],
    ["12 x 7 = ?", "12 * 7"],
    ["what is 3 plus 4 times 5", "3 + 4 * 5"],
    ["what is 10 divided by 4?", "10 / 4"],
    ["what is 7 squared", "7^2"],
    ["what is the square root of 16?", "sqrt(16)"],
    ["1.5e3 - 2", "1.5e3 - 2"],
    ["what is\n 1\t+   1 ... ???", "1 + 1"],
  ])("finds the expression in %s", (message, expression) => {
    expect(readIntent(message)).toEqual({ kind: "arithmetic", expression });
  });

  it.each([
    ["count to 5.", "5"],
    ["count to 1,000, please", "1,000"],
    ["count to 2.5", "2.5"],
    ["count to -4", "-4"],
  ])("finds the number in %s", (message, to) => {
    expect(readIntent(message)).toEqual({ kind: "count", to });
  });

  it("runs fast on adversarial messages", () => {
    const atoms = [
      " ",
      "?",
      "=",
      "a",
      "1",
      "e",
      "(",
      "-",
      ".",
      ",",
      "1e",
      "a(",
      "what ",
      "time in ",
      " now",
      " please",
      "equals ",
    ];
    const rows = atoms.flatMap((first) => atoms.map((second) => (first + second).repeat(500)));
    // The work is quadratic at worst and takes well under a second in total; a backtracking pattern took
    // hours.
    for (const row of rows) {
      for (const opening of ["", "what is ", "what time is it in ", "hello "]) {
        const message = `${opening}${row}`.slice(0, 990);
        expect(readIntent(`${message}~`).kind).toBeTypeOf("string");
        expect(readIntent(`${message}1+1`).kind).toBeTypeOf("string");
      }
    }
  });
});
