import { expect, it } from "vitest";
import { changedPaths, pointer } from "./changed-paths.ts";

const changes = (before: unknown, after: unknown): string[] => [...changedPaths(before, after)].toSorted();

it("finds nothing in what is equal", () => {
  expect(changes({ a: [1, { b: null }] }, { a: [1, { b: null }] })).toEqual([]);
});

it("marks what is other with everything above it", () => {
  expect(changes({ a: [{ b: 1, c: 2 }], d: 1 }, { a: [{ b: 1, c: 3 }], d: 1 })).toEqual([
    "",
    "/a",
    "/a/0",
    "/a/0/c",
  ]);
});

it("marks what is new as one, and what it was put into", () => {
  expect(changes({ a: [] }, { a: [{ b: { c: 1 } }] })).toEqual(["", "/a", "/a/0"]);
});

it("marks what something was taken out of", () => {
  expect(changes({ a: { b: 1 }, c: [1, 2] }, { a: {}, c: [1] })).toEqual(["", "/a", "/c"]);
});

it("takes another kind of value as a change", () => {
  expect(changes({ a: null }, { a: [] })).toEqual(["", "/a"]);
  expect(changes({ a: [] }, { a: {} })).toEqual(["", "/a"]);
  expect(changes(null, { a: 1 })).toEqual([""]);
});

it("names keys with slashes and tildes as pointers do", () => {
  expect(pointer("", "a/b~c")).toBe("/a~1b~0c");
  expect(changes({ "x/y": 1 }, { "x/y": 2 })).toEqual(["", "/x~1y"]);
});

it("is not led astray by names that objects have by themselves", () => {
  expect(changes({}, JSON.parse(`{"__proto__":{"a":1},"toString":1}`))).toEqual([
    "",
    "/__proto__",
    "/toString",
  ]);
});
