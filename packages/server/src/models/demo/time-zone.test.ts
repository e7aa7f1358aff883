import { expect, it } from "vitest";
import { timeZoneOf } from "./time-zone.ts";

it.each([
  ["Tokyo", "Asia/Tokyo"],
  ["tokyo", "Asia/Tokyo"],
  ["new york", "America/New_York"],
  ["São Paulo", "America/Sao_Paulo"],
  ["St. John's", "America/St_Johns"],
  ["Kolkata", "Asia/Kolkata"],
  ["Buenos Aires", "America/Buenos_Aires"],
  ["Ushuaia", "America/Argentina/Ushuaia"],
  ["Europe/Berlin", "Europe/Berlin"],
  ["UTC", "UTC"],
  ["+05:30", "+05:30"],
  ["Atlantis", "Atlantis"],
  ["the kitchen", "the kitchen"],
  ["", ""],
])("maps %s to %s", (place, zone) => {
  expect(timeZoneOf(place)).toBe(zone);
});
