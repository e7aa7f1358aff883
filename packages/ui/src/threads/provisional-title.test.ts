import { expect, it } from "vitest";
import { provisionalTitle } from "./provisional-title.ts";

it.each([
  ["Hello", "Hello"],
  ["\n## Title\nMore", "Title"],
  ["**Which** [guide](https://a.example) says `npm ci`?", "Which guide says npm ci?"],
  ["2. of __init__", "2. of __init__"],
  ["****", "****"],
  ["x".repeat(70), "x".repeat(60)],
])("titles a conversation that begins with %j as %j", (message, title) =>
  expect(provisionalTitle(message)).toBe(title),
);
