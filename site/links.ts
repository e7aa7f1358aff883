// Links of a page in the site: to its pages, or to the repository for everything else.

import { posix } from "node:path";

/**
 * The facts about the site that links depend on: its pages by path below docs/, and the address of the
 * repository.
 */
export interface Targets {
  readonly pages: ReadonlySet<string>;
  /** URL of the repository, such as `https://github.com/colloquy/colloquy`. */
  readonly repository: string;
}

const LINK = /\]\((?![a-z]+:|#)([^)#\s]+)(#[^)]*)?\)/g;

/** Returns the Markdown of the page `file`, in which links out of the site lead to the repository. */
export function withSiteLinks(text: string, file: string, { pages, repository }: Targets): string {
  return text.replaceAll(LINK, (link, to: string, anchor = "") => {
    const target = posix.join(posix.dirname(file), to);
    if (pages.has(target) || target.endsWith(".png")) return link;
    const path = posix.join("docs", target).replace(/\/$/, "");
    const isFolder = to.endsWith("/") || posix.extname(path) === "";
    return `](${repository}/${isFolder ? "tree" : "blob"}/main/${path}${anchor})`;
  });
}

/** Returns the anchor of a heading as GitHub builds it, so that links work on GitHub and on the site. */
export function anchorOf(heading: string): string {
  return heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N} _-]/gu, "")
    .replaceAll(" ", "-");
}
