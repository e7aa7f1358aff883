import { afterEach, beforeEach, expect, it } from "vitest";
import { tickText } from "./tick-text.ts";

const HOUR = 3_600;
const zone = process.env["TZ"];

beforeEach(() => {
  process.env["TZ"] = "Asia/Tokyo";
});
afterEach(() => {
  if (zone === undefined) delete process.env["TZ"];
  else process.env["TZ"] = zone;
});

const at = (text: string): number => Date.parse(text) / 1_000;

it("days are UTC days in every time zone, also between ticks less than a day apart", () => {
  expect(new Date(0).getHours()).toBe(9);
  expect(tickText(at("2026-11-21T00:00:00Z"), 12 * HOUR, "day", "en-US")).toBe("Nov 21");
  expect(tickText(at("2026-11-21T12:00:00Z"), 12 * HOUR, "day", "en-US")).toBe("12:00");
  expect(tickText(at("2026-11-21T00:00:00Z"), 24 * HOUR, "day", "en-US")).toBe("Nov 21");
});

it("hours are in the reader's time zone, and midnight shows its day", () => {
  expect(tickText(at("2026-11-21T00:00:00Z"), 3 * HOUR, "hour", "en-US")).toBe("09:00");
  expect(tickText(at("2026-11-20T15:00:00Z"), 3 * HOUR, "hour", "en-US")).toBe("Nov 21");
});
