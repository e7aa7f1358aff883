import { expect, it } from "vitest";
import { retryAfter } from "./provider-errors.ts";

const now = Date.UTC(2026, 0, 1, 12);
const inAMinute = "Thu, 01 Jan 2026 12:01:00 GMT";

it.each<[string, Record<string, string> | undefined, string | undefined, number | undefined]>([
  ["nothing", undefined, undefined, undefined],
  ["no header", {}, "", undefined],
  ["seconds", { "retry-after": "120" }, undefined, 120_000],
  ["no seconds", { "retry-after": "0" }, undefined, 0],
  ["part of a second", { "retry-after": "0.25" }, undefined, 250],
  [
    "milliseconds, which are more exact",
    { "retry-after-ms": "1500.2", "retry-after": "2" },
    undefined,
    1_501,
  ],
  ["bad milliseconds", { "retry-after-ms": "soon", "retry-after": "2" }, undefined, 2_000],
  ["a date", { "retry-after": inAMinute }, undefined, 60_000],
  [
    "a date by the provider's own clock",
    { "retry-after": inAMinute, date: "Thu, 01 Jan 2026 12:00:30 GMT" },
    undefined,
    30_000,
  ],
  ["a date that is over", { "retry-after": "Thu, 01 Jan 2026 11:00:00 GMT" }, undefined, 0],
  ["a negative number", { "retry-after": "-5" }, undefined, undefined],
  ["something else", { "retry-after": "later" }, undefined, undefined],
  ["a blank", { "retry-after": " " }, undefined, undefined],
  ["a delay in the body", {}, '{"@type": "RetryInfo", "retryDelay": "37.5s"}', 37_500],
  ["a delay in both", { "retry-after": "2" }, '{"retryDelay":"37s"}', 2_000],
  // Aider-AI/aider#3265, OpenHands/OpenHands#4167: a gateway that passes on Groq's text without its headers.
  ["a delay in the text", {}, "Limit 15000, Used 11972. Please try again in 5.289s. Visit", 5_289],
  ["minutes in the text", {}, "Please try again in 1m0.363142857s.", 60_364],
  ["hours in the text", {}, "Please try again in 2h15m0s.", 8_100_000],
  ["milliseconds in the text", {}, "Please try again in 240ms.", 240],
  ["a retry in the text", {}, "Please retry in 34.07s.", 34_070],
  ["words in the text", {}, "Please try again in 20 seconds.", 20_000],
  ["minutes as words", {}, "Please try again in 5 minutes, 30 sec.", 330_000],
  ["milliseconds as a word", {}, "Please try again in 500 milliseconds.", 500],
  ["no delay in the text", {}, "Please try again in a while.", undefined],
])("reads %s", (_case, headers, body, expected) => {
  expect(retryAfter(headers, body, now)).toBe(expected);
});
