import { homedir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { enteredPath } from "./attached-file.ts";

it.each([
  ["notes.md", "notes.md"],
  ["'/tmp/my notes.md'", "/tmp/my notes.md"],
  ['"/tmp/it\'s.md"', "/tmp/it's.md"],
  [String.raw`/tmp/my\ notes\ \(1\).md`, "/tmp/my notes (1).md"],
  ["~/notes.md", join(homedir(), "notes.md")],
  ["~notes.md", "~notes.md"],
])("reads the path %s", (entry, path) => expect(enteredPath(entry)).toBe(path));
