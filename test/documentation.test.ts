// What the documentation says about the code, as far as a program can tell: codes, links and files.

import { existsSync, globSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, it } from "vitest";

const ROOT = join(import.meta.dirname, "..");
const PAGES = globSync(["*.md", "docs/**/*.md", "packages/*/README.md", "examples/*/README.md"], {
  cwd: ROOT,
});
const CODE = textOf("");

/** Everything that stands in a folder of the server, without tests. */
function textOf(folder: string): string {
  const files = globSync(join("packages/server/src", folder, "**/*.ts"), { cwd: ROOT });
  return files
    .filter((file) => !/\.(?:test|suite)\.ts$|\/testing\//.test(file))
    .map(read)
    .join("\n");
}

function read(file: string): string {
  return readFileSync(join(ROOT, file), "utf8");
}

/** The first group of every match, without doubles. */
function found(pattern: RegExp, text: string): string[] {
  return [...new Set([...text.matchAll(pattern)].map(([, group = ""]) => group))].toSorted();
}

it("docs/api.md has every code that a problem can have, and no other", () => {
  const errors = found(
    /(?:new (?:InvalidRequest|NotFound|Conflict|Unavailable|OutcomeUnknown|ServiceError)|super)\(\s*(?:\d+,\s*)?"([a-z_]+)"/g,
    CODE,
  );
  const rejections = found(/"([a-z_]+)"/g, /type ChatRejection =([^;]+);/.exec(CODE)?.[1] ?? "");
  const texts = found(/"((?:json|text)_[a-z_]+)"/g, read("packages/server/src/http/json-text.ts"));
  const codes = [...new Set([...errors, ...rejections, ...texts])].toSorted();
  const rows = read("docs/api.md")
    .split("\n")
    .filter((line) => /^\| \d{3} \|/.test(line))
    .map((line) => line.split("|")[2] ?? "");
  expect(codes.length).toBeGreaterThan(30);
  expect(found(/`([a-z_]+)`/g, rows.join())).toEqual(codes);
});

it("docs/api.md has every code that a notice can have", () => {
  const codes = [
    ...found(/(?:#fail\(|code: )"([a-z_]+)"/g, textOf("{turns,bus,core/decisions}")),
    ...found(/notify\(\s*"[a-z]+",\s*"([a-z_]+)"/g, CODE),
    ...found(/\| "(model_[a-z_]+)"/g, read("packages/server/src/models/provider-errors.ts")),
  ];
  expect(codes.length).toBeGreaterThan(12);
  const page = read("docs/api.md");
  expect(codes.filter((code) => !page.includes(`\n| \`${code}\` |`))).toEqual([]);
  const notices = /\nCodes of `system_notice`:\n\n((?:\|.*\n)+)/.exec(page)?.[1] ?? "";
  const rows = [...notices.matchAll(/^\| `([a-z_]+)` \|/gm)].map(([, code]) => code);
  expect(rows.length).toBeGreaterThanOrEqual(codes.length);
  expect(rows, "each code means one thing").toEqual([...new Set(rows)]);
});

it.each(PAGES)("what %s links to is there", (page) => {
  const links = found(/\]\((?!https?:)([^)#]+)(?:#[^)]*)?\)/g, read(page));
  expect(links.filter((link) => !existsSync(join(ROOT, dirname(page), link)))).toEqual([]);
});

it.each(PAGES)("files that %s names are there", (page) => {
  const named = found(
    /`((?:deploy|packages|test|scripts|core|http|sessions|turns|models|tools|apps|store|bus|config)\/[\w./-]*)`/g,
    read(page),
  );
  const missing = named.filter(
    (path) => !existsSync(join(ROOT, path)) && !existsSync(join(ROOT, "packages/server/src", path)),
  );
  expect(missing).toEqual([]);
});

it.each(globSync("deploy/*", { cwd: ROOT }))("tests that %s names are there", (file) => {
  const named = found(/([\w-]+\.test\.ts)/g, read(file));
  const tests = globSync("**/*.test.ts", { cwd: join(ROOT, "packages/server/test/deploy") });
  expect(named.filter((name) => !tests.includes(name))).toEqual([]);
});
