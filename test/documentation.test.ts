// Checks the documentation against the code: its codes, links, headings and files.

import { existsSync, globSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, it } from "vitest";

const ROOT = join(import.meta.dirname, "..");
const PAGES = globSync(["*.md", "docs/**/*.md", "packages/*/README.md", "examples/*/README.md"], {
  cwd: ROOT,
});
const CODE = textOf("");

/** Returns the sources of a folder of the packages with problem codes, without tests. */
function textOf(folder: string): string {
  const files = globSync(join("packages/{engine,server,ai-sdk,ag-ui,aomi}/src", folder, "**/*.ts"), {
    cwd: ROOT,
  });
  return files
    .filter((file) => !/\.(?:test|suite)\.ts$|\/testing\//.test(file))
    .map(read)
    .join("\n");
}

function read(file: string): string {
  return readFileSync(join(ROOT, file), "utf8");
}

/** Returns the first group of every match, sorted and without duplicates. */
function found(pattern: RegExp, text: string): string[] {
  return [...new Set([...text.matchAll(pattern)].map(([, group = ""]) => group))].toSorted();
}

it("lists exactly the problem codes of the code in docs/api.md", () => {
  const errors = found(
    /(?:new (?:InvalidRequest|NotFound|Conflict|Unavailable|OutcomeUnknown|ServiceError)|super)\(\s*(?:\d+,\s*)?"([a-z_]+)"/g,
    CODE,
  );
  const rejections = found(
    /"([a-z_]+)"/g,
    [...CODE.matchAll(/type (?:Chat|Replace)Rejection =([^;]+);/g)].join(),
  );
  const texts = found(/"((?:json|text)_[a-z_]+)"/g, read("packages/server/src/http/json-text.ts"));
  const tokens = found(/"?((?:token|siwe)_[a-z_]+)"?[:,]/g, textOf("{apps/users,http}"));
  // Fields of an issuer's discovery document.
  const foreign = ["token_endpoint", "token_signing_alg_values_supported"];
  const codes = [...new Set([...errors, ...rejections, ...texts, ...tokens])]
    .filter((code) => !foreign.includes(code))
    .toSorted();
  const page = read("docs/api.md");
  const rows = page
    .split("\n")
    .filter((line) => /^\| \d{3}[\d, ]* \|/.test(line))
    .map((line) => line.split("|")[2] ?? "");
  const [ofAdmin = ""] = /^The \[admin API\]\(#the-admin-api\) adds .*$/m.exec(page) ?? [];
  expect(codes.length).toBeGreaterThan(30);
  expect(found(/`([a-z_]+)`/g, [...rows, ofAdmin].join())).toEqual(codes);
});

it("lists the notice codes of the code in docs/api.md", () => {
  const codes = [
    ...found(/(?:#fail\(|code: )"([a-z_]+)"/g, textOf("{turns,bus,core/decisions}")),
    ...found(/notify\(\s*"[a-z]+",\s*"([a-z_]+)"/g, CODE),
    ...found(/\| "(model_[a-z_]+)"/g, read("packages/engine/src/models/provider-errors.ts")),
  ];
  expect(codes.length).toBeGreaterThan(12);
  const page = read("docs/api.md");
  const [, table = ""] = /\nCodes of `system_notice`:\n\n((?:\|.*\n)+)/.exec(page) ?? [];
  const [, ...rows] = table.split("\n");
  const listed = [...rows.join("\n").matchAll(/`([a-z_]+)`/g)].map(([, code = ""]) => code);
  expect(codes.filter((code) => !listed.includes(code))).toEqual([]);
  expect(listed, "each code has one level").toEqual([...new Set(listed)]);
});

/** Returns the anchors of a page's headings, as GitHub makes them. */
function anchorsOf(page: string): readonly string[] {
  const headings = [...page.matchAll(/^#{1,6} (.+)$/gm)].map(([, heading = ""]) => heading);
  return headings.map((heading) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N} _-]/gu, "")
      .replaceAll(" ", "-"),
  );
}

it.each(PAGES)("%s links to existing headings", (page) => {
  const links = [...read(page).matchAll(/\]\((?!https?:)([^)#]*)#([^)]+)\)/g)];
  const broken = links.filter(([, file = "", anchor = ""]) => {
    const target = file === "" ? page : join(dirname(page), file);
    return !anchorsOf(read(target)).includes(anchor);
  });
  expect(broken.map(([link]) => link)).toEqual([]);
});

it.each(PAGES)("%s links to existing files", (page) => {
  const links = found(/\]\((?!https?:)([^)#]+)(?:#[^)]*)?\)/g, read(page));
  expect(links.filter((link) => !existsSync(join(ROOT, dirname(page), link)))).toEqual([]);
});

it.each(PAGES)("%s names existing files", (page) => {
  const named = found(
    /`((?:deploy|packages|test|scripts|core|http|sessions|turns|models|tools|apps|store|bus|config)\/[\w./-]*)`/g,
    read(page),
  );
  const bases = ["", "packages/engine/src", "packages/server/src"];
  const missing = named.filter((path) => !bases.some((base) => existsSync(join(ROOT, base, path))));
  expect(missing).toEqual([]);
});

it.each(globSync("deploy/*", { cwd: ROOT }))("%s names existing tests", (file) => {
  const named = found(/([\w-]+\.test\.ts)/g, read(file));
  const tests = globSync("**/*.test.ts", { cwd: join(ROOT, "packages/server/test/deploy") });
  expect(named.filter((name) => !tests.includes(name))).toEqual([]);
});
