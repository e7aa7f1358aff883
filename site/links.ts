// Links of a page in the site: to its pages, or to the repository for everything else.

import { posix } from "node:path";

/** What a link needs to know of the site: its pages by path below docs/, and where the repository is. */
export interface Targets {
  readonly pages: ReadonlySet<string>;
  /** Such as `https://github.com/colloquy/colloquy`. */
  readonly repository: string;
}

const LINK = /(?<!!)\]\((?![a-z]+:|#)([^)#\s]+)(#[^)]*)?\)/g;

/** Returns the Markdown of the page `file`, in which links out of the site lead to the repository. */
export function withSiteLinks(text: string, file: string, { pages, repository }: Targets): string {
  return text.replaceAll(LINK, (link, to: string, anchor = "") => {
    const target = posix.join(posix.dirname(file), to);
    if (pages.has(target)) return link;
    const path = posix.join("docs", target).replace(/\/$/, "");
    const isFolder = to.endsWith("/") || posix.extname(path) === "";
    return `](${repository}/${isFolder ? "tree" : "blob"}/main/${path}${anchor})`;
  });
}

/** Returns the anchor of a heading, as GitHub makes it, so that links work in both. */
export function anchorOf(heading: string): string {
  return heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N} _-]/gu, "")
    .replaceAll(" ", "-");
}
