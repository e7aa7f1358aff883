import { expect, it } from "vitest";
import { changedPaths, pointer } from "./changed-paths.ts";

const changes = (before: unknown, after: unknown): string[] => [...changedPaths(before, after)].toSorted();

it("finds nothing between equal values", () => {
  expect(changes({ a: [1, { b: null }] }, { a: [1, { b: null }] })).toEqual([]);
});

it("marks a changed value and everything above it", () => {
  expect(changes({ a: [{ b: 1, c: 2 }], d: 1 }, { a: [{ b: 1, c: 3 }], d: 1 })).toEqual([
    "",
    "/a",
    "/a/0",
    "/a/0/c",
  ]);
});

it("marks a new value once, and its container", () => {
  expect(changes({ a: [] }, { a: [{ b: { c: 1 } }] })).toEqual(["", "/a", "/a/0"]);
});

it("marks the container of a removed value", () => {
  expect(changes({ a: { b: 1 }, c: [1, 2] }, { a: {}, c: [1] })).toEqual(["", "/a", "/c"]);
});

it("treats another type as a change", () => {
  expect(changes({ a: null }, { a: [] })).toEqual(["", "/a"]);
  expect(changes({ a: [] }, { a: {} })).toEqual(["", "/a"]);
  expect(changes(null, { a: 1 })).toEqual([""]);
});

it("escapes slashes and tildes in keys, like JSON pointers", () => {
  expect(pointer("", "a/b~c")).toBe("/a~1b~0c");
  expect(changes({ "x/y": 1 }, { "x/y": 2 })).toEqual(["", "/x~1y"]);
});

it("handles keys that are names of object methods", () => {
  expect(changes({}, JSON.parse(`{"__proto__":{"a":1},"toString":1}`))).toEqual([
    "",
    "/__proto__",
    "/toString",
  ]);
});
