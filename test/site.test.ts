// The site of the documentation: its pages, and how they are made. test/browser/guide.test.ts looks at
// the built site.

import { globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import * as client from "@colloquy/client";
import * as adminClient from "@colloquy/client/admin";
import { problemsOf, withoutInlineScripts } from "../site/built-pages.ts";
import { withSiteLinks } from "../site/links.ts";
import { clientPages } from "../site/reference/client.ts";
import { commandLinePage } from "../site/reference/command-line.ts";
import { httpPage, readOpenApi } from "../site/reference/http.ts";
import { NOT_ON_THE_SITE, TREE } from "../site/tree.ts";

const ROOT = join(import.meta.dirname, "..");

const pages = TREE.flatMap((group) => group.pages.map(({ file }) => file));
const written = pages.filter((file) => !file.startsWith("reference/"));
const read = (file: string): string => readFileSync(join(ROOT, "docs", file), "utf8");

it("has every page of docs/ that is for users", () => {
  const files = globSync("**/*.md", { cwd: join(ROOT, "docs") });
  const expected = files.filter((file) => !NOT_ON_THE_SITE.some((pattern) => pattern.test(file)));
  expect(written.toSorted()).toEqual(expected.toSorted());
});

it("contains no Mermaid diagrams, which VitePress does not render", () => {
  expect(written.filter((file) => read(file).includes("```mermaid"))).toEqual([]);
});

it("links to its own pages, and to the repository for everything else", () => {
  const targets = { pages: new Set(["api.md"]), repository: "https://example.com/r" };
  const text =
    "[1](../api.md#errors) [2](../adr/0003-leases.md) [3](../../examples/express) [4](#here) [5](https://x.test) ![6](../screenshots/a.png)";
  expect(withSiteLinks(text, "guides/page.md", targets)).toBe(
    "[1](../api.md#errors) [2](https://example.com/r/blob/main/docs/adr/0003-leases.md) [3](https://example.com/r/tree/main/examples/express) [4](#here) [5](https://x.test) ![6](../screenshots/a.png)",
  );
});

it("describes every command with its options", () => {
  const page = commandLinePage();
  const commands = ["serve", "dev", "chat", "check", "doctor", "sessions list", "keys rotate", "completion"];
  for (const command of commands) expect(page).toMatch(new RegExp(`^#+ \`colloquy ${command}\`$`, "m"));
  expect(page).toContain(
    "| `--data-dir <directory>` | directory of the database (overrides COLLOQUY_DATA_DIR) |",
  );
});

it("describes every operation and schema of the OpenAPI document", async () => {
  const document = await readOpenApi();
  const page = httpPage(document);
  for (const [path, methods] of Object.entries(document.paths))
    for (const method of Object.keys(methods))
      expect(page).toContain(`\`\`\`http\n${method.toUpperCase()} ${path}\n`);
  for (const name of Object.keys(document.components.schemas)) expect(page).toContain(`### ${name}\n`);
  expect(page).toContain("POST /api/admin/keys\n");
});

it("describes everything that the client exports, and the types it mentions", async () => {
  const { client: page, react } = await clientPages();
  const exported = [...Object.keys(client), ...Object.keys(adminClient)];
  expect(exported).toEqual(expect.arrayContaining(["createClient", "createAdminClient"]));
  for (const name of exported) expect(page).toContain(`### \`${name}\`\n`);
  for (const name of ["Snapshot", "LiveSession", "ConversationOperations", "AdminOverview"])
    expect(page).toContain(`### \`${name}\`\n`);
  expect(page).toContain('  send(text: string, options?: Omit<SendOptions, "messages">): Promise<Snapshot>;');
  expect(page).not.toMatch(/### `Transport`|^ *#?private/m);
  for (const name of ["useSession", "ColloquyProvider", "useColloquyRuntime"])
    expect(react).toContain(`### \`${name}\`\n`);
});

describe("a built page", () => {
  function built(pages: Readonly<Record<string, string>>): string {
    const directory = mkdtempSync(join(tmpdir(), "colloquy-site-"));
    mkdirSync(join(directory, "assets"));
    for (const [file, text] of Object.entries(pages)) writeFileSync(join(directory, file), text);
    return directory;
  }

  it("may not link to a page or heading that does not exist", () => {
    const links = '<a href="/guide/api#errors"></a><a href="/guide/api#no"></a><a href="/guide/no"></a>';
    const directory = built({
      "index.html": `<h1>A</h1>${links}`,
      "api.html": '<h1>B</h1><h2 id="errors"></h2>',
    });
    expect(problemsOf(directory)).toEqual([
      "index.html: the link /guide/api#no leads nowhere",
      "index.html: the link /guide/no leads nowhere",
    ]);
    rmSync(directory, { recursive: true });
  });

  it("has its scripts in files", () => {
    const directory = built({ "index.html": '<h1>A</h1><script id="dark-mode">dark()</script>' });
    expect(problemsOf(directory)).toEqual(["index.html: the page has an inline script"]);
    withoutInlineScripts(directory);
    expect(problemsOf(directory)).toEqual([]);
    const [, name = ""] =
      /<script src="\/guide\/(assets\/inline\.\w+\.js)">/.exec(
        readFileSync(join(directory, "index.html"), "utf8"),
      ) ?? [];
    expect(readFileSync(join(directory, name), "utf8")).toBe("dark()");
    rmSync(directory, { recursive: true });
  });
});
