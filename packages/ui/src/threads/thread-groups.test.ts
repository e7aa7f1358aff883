import { expect, it } from "vitest";
import { groupThreads } from "./thread-groups.ts";

const at = (date: Date) => ({ session_id: date.toISOString(), title: "t", updated_at: date.toISOString() });
const NOW = new Date(2026, 2, 2, 9, 30);

it("groups threads by calendar days, across the end of a month", () => {
  const threads = [
    at(new Date(2026, 2, 2, 9, 31)),
    at(new Date(2026, 2, 2, 0, 0)),
    at(new Date(2026, 2, 1, 23, 59, 59)),
    at(new Date(2026, 1, 24, 0, 0)),
    at(new Date(2026, 1, 23, 23, 59)),
  ];
  expect(groupThreads(threads, NOW).map(({ name, threads }) => [name, threads.length])).toEqual([
    ["Today", 2],
    ["Yesterday", 1],
    ["Last seven days", 1],
    ["Earlier", 1],
  ]);
});

it("puts pinned threads into a group of their own, above the others", () => {
  const [pinned, recent] = [
    { ...at(new Date(2026, 1, 1)), pinned: true },
    { ...at(NOW), pinned: false },
  ];
  expect(groupThreads([recent, pinned], NOW)).toEqual([
    { name: "Pinned", threads: [pinned] },
    { name: "Today", threads: [recent] },
  ]);
});

it("leaves out empty groups, and treats unreadable times as old", () => {
  expect(groupThreads([], NOW)).toEqual([]);
  const odd = { session_id: "1", title: "t", updated_at: "?" };
  expect(groupThreads([odd], NOW)).toEqual([{ name: "Earlier", threads: [odd] }]);
});
