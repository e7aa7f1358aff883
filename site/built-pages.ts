// Finishes and checks the built pages.

import { createHash } from "node:crypto";
import { globSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

export const BASE = "/guide/";

/**
 * Moves inline scripts into separate files, because the server's policy allows only scripts from its own
 * files.
 */
export function withoutInlineScripts(directory: string): void {
  for (const file of globSync("**/*.html", { cwd: directory })) {
    const path = join(directory, file);
    const page = readFileSync(path, "utf8");
    const finished = page.replaceAll(/<script(?: id="[\w-]+")?>([^<]+)<\/script>/g, (_, script: string) => {
      const name = `assets/inline.${createHash("sha256").update(script).digest("hex").slice(0, 8)}.js`;
      writeFileSync(join(directory, name), script);
      return `<script src="${BASE}${name}"></script>`;
    });
    writeFileSync(path, finished);
  }
}

/** Returns what is wrong with the pages: links that lead nowhere in the site, and pages without a heading. */
export function problemsOf(directory: string): readonly string[] {
  const files = globSync("**/*.html", { cwd: directory }).filter((file) => file !== "404.html");
  const pages = new Map(files.map((file) => [file, readFileSync(join(directory, file), "utf8")]));
  return [...pages].flatMap(([file, page]) => {
    const anchors = [...page.matchAll(/href="([^"]*)"/g)].map(([, href = ""]) => href);
    const broken = anchors.filter((href) => isBroken(href, file, pages));
    const problems = broken.map((href) => `${file}: the link ${href} leads nowhere`);
    if (!/<h1[^>]*>/.test(page))
      problems.push(`${file}: the page has no heading; VitePress could not render it`);
    if (/<script(?![^>]*src=)[^>]*>[^<]/.test(page)) problems.push(`${file}: the page has an inline script`);
    return [...new Set(problems)];
  });
}

function isBroken(href: string, from: string, pages: ReadonlyMap<string, string>): boolean {
  const { pathname, hash, origin } = new URL(href, `http://site${BASE}${from}`);
  if (origin !== "http://site") return false;
  const path = pathname.slice(BASE.length);
  if (/\.(?!html$)\w+$/.test(path)) return false;
  const file =
    path === "" || path.endsWith("/") ? `${path}index.html` : `${path.replace(/\.html$/, "")}.html`;
  const page = pages.get(file);
  return page === undefined || (hash !== "" && !page.includes(`id="${decodeURIComponent(hash.slice(1))}"`));
}
