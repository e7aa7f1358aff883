// Settings of VitePress. site/build.ts writes the pages and calls it.

import { BASE } from "../built-pages.ts";
import { anchorOf } from "../links.ts";
import { TREE } from "../tree.ts";

interface Renderer {
  readonly rules: Record<string, ((...parameters: unknown[]) => string) | undefined>;
}

const linkOf = (file: string): string => `/${file.replace(/(?:index)?\.md$/, "")}`;

export default {
  title: "Colloquy",
  description: "A service that holds conversations between people and assistants",
  lang: "en",
  base: BASE,
  srcDir: "pages",
  outDir: "dist",
  cacheDir: "node_modules/.cache/vitepress",
  cleanUrls: true,
  head: [["link", { rel: "icon", type: "image/svg+xml", href: `${BASE}favicon.svg` }]],
  // Disabling them needs an inline style, which the server's policy refuses.
  appearance: { disableTransition: false },
  markdown: { anchor: { slugify: anchorOf }, config: withoutTemplates },
  themeConfig: {
    outline: [2, 3],
    search: { provider: "local" },
    sidebar: TREE.map(({ text, pages }) => ({
      text,
      items: pages.map((page) => ({ text: page.text, link: linkOf(page.file) })),
    })),
  },
};

/** Pages are Markdown only: `{{secret.NAME}}` is a text, not a Vue template. */
function withoutTemplates({ renderer }: { readonly renderer: Renderer }): void {
  for (const name of ["text", "code_inline"]) {
    const rule = renderer.rules[name];
    renderer.rules[name] = (...parameters) => rule?.(...parameters).replaceAll("{{", "&#123;&#123;") ?? "";
  }
}
