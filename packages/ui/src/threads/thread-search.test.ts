import { ColloquyError } from "@colloquy/client";
import { expect, it } from "vitest";
import { isFurtherSearched, matchingThreads, SEARCHED_AT_MOST } from "./thread-search.ts";

const threads = ["Walks in Zürich", "Café in Lyon", "A ZURICH bank", "Straße"].map((title, at) => ({
  session_id: String(at),
  title,
  updated_at: "2026-11-21T12:00:00.000Z",
}));
const found = (query: string) => matchingThreads(threads, query).map(({ title }) => title);

it.each([
  ["", ["Walks in Zürich", "Café in Lyon", "A ZURICH bank", "Straße"]],
  ["  ", ["Walks in Zürich", "Café in Lyon", "A ZURICH bank", "Straße"]],
  ["zurich", ["Walks in Zürich", "A ZURICH bank"]],
  ["zürich walk", ["Walks in Zürich"]],
  ["in cafe", ["Café in Lyon"]],
  ["(", []],
  ["straße", ["Straße"]],
])("%j finds %j", (query, titles) => {
  expect(found(query)).toEqual(titles);
});

it("matches every thread if the query has no words", () => {
  expect(matchingThreads(threads, " ")).toBe(threads);
});

it("loads more pages until the list is complete, a request fails, or the limit is reached", () => {
  const many = Array.from({ length: SEARCHED_AT_MOST }, () => threads[0]!);
  const error = new ColloquyError("No.", { code: "network" });
  expect(isFurtherSearched({ threads, hasMore: true, error: null })).toBe(true);
  expect(isFurtherSearched({ threads, hasMore: false, error: null })).toBe(false);
  expect(isFurtherSearched({ threads, hasMore: true, error })).toBe(false);
  expect(isFurtherSearched({ threads: many, hasMore: true, error: null })).toBe(false);
});
