// `npm run site` builds the site of the documentation into site/dist: the pages of docs/ and the generated ones.
// `npm ci --prefix site` installs what it needs.

import { spawnSync } from "node:child_process";
import { cpSync, existsSync, globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { withSiteLinks } from "./links.ts";
import { problemsOf, withoutInlineScripts } from "./built-pages.ts";
import { clientPages } from "./reference/client.ts";
import { commandLinePage } from "./reference/command-line.ts";
import { httpPage, readOpenApi } from "./reference/http.ts";
import { TREE } from "./tree.ts";

const SITE = import.meta.dirname;
const ROOT = join(SITE, "..");
const DOCS = join(ROOT, "docs");
const PAGES = join(SITE, "pages");
const BUILT = join(SITE, "dist");
const VITEPRESS = join(SITE, "node_modules/vitepress/bin/vitepress.js");

if (!existsSync(VITEPRESS)) fail(["VitePress is not installed. Run: npm ci --prefix site"]);
rmSync(PAGES, { recursive: true, force: true });
rmSync(BUILT, { recursive: true, force: true });
writePages(await generatedPages());
const { status } = spawnSync(process.execPath, [VITEPRESS, "build", SITE], { stdio: "inherit" });
if (status !== 0) fail(["VitePress cannot build the site."]);
withoutInlineScripts(BUILT);
const problems = problemsOf(BUILT);
if (problems.length > 0) fail(problems);

async function generatedPages(): Promise<ReadonlyMap<string, string>> {
  const [openApi, { client, react }] = await Promise.all([readOpenApi(), clientPages()]);
  return new Map([
    ["reference/http.md", httpPage(openApi)],
    ["reference/command-line.md", commandLinePage()],
    ["reference/client.md", client],
    ["reference/react.md", react],
  ]);
}

function writePages(generated: ReadonlyMap<string, string>): void {
  const { repository } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8")) as {
    readonly repository: { readonly url: string };
  };
  const files = TREE.flatMap(({ pages }) => pages.map(({ file }) => file));
  const url = repository.url.replace(/^git\+/, "").replace(/\.git$/, "");
  for (const file of files) {
    const text = generated.get(file) ?? readFileSync(join(DOCS, file), "utf8");
    const page = join(PAGES, file);
    mkdirSync(dirname(page), { recursive: true });
    writeFileSync(page, withSiteLinks(text, file, { pages: new Set(files), repository: url }));
  }
  cpSync(join(ROOT, "packages/console/src/design/favicon.svg"), join(PAGES, "public/favicon.svg"));
  for (const picture of globSync("**/*.png", { cwd: DOCS }))
    cpSync(join(DOCS, picture), join(PAGES, picture));
}

function fail(messages: readonly string[]): never {
  process.stderr.write(`${messages.join("\n")}\n`);
  process.exit(1);
}
