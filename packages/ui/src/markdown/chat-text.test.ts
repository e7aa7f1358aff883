import remarkCjkFriendly from "remark-cjk-friendly";
import remarkGfm from "remark-gfm";
import remarkParse from "remark-parse";
import remarkRehype from "remark-rehype";
import { unified } from "unified";
import { expect, it } from "vitest";
import { PLUGINS } from "./plugins.ts";

type Node = {
  readonly type: string;
  readonly value?: string;
  readonly tagName?: string;
  readonly properties?: { readonly href?: string; readonly start?: number };
  readonly children?: readonly Node[];
};

/** Renders Markdown as abbreviated HTML without paragraph tags. */
function render(markdown: string, plugins: typeof PLUGINS = PLUGINS): string {
  const reader = unified().use(remarkParse).use(plugins).use(remarkRehype);
  return written(reader.runSync(reader.parse(markdown), markdown) as Node).trim();
}

function written({ value, tagName, properties, children = [] }: Node): string {
  if (value !== undefined) return value;
  const inner = children.map(written).join("");
  if (tagName === undefined || tagName === "p") return inner;
  return `<${tagName}${properties?.href === undefined ? "" : ` ${properties.href}`}>${inner}</${tagName}>`;
}

it.each([
  // Ranges and approximations.
  ["5~7U 保证金 × 100~200倍", "5~7U 保证金 × 100~200倍"],
  ["Between ~1.34 and ~5.4", "Between ~1.34 and ~5.4"],
  ["Check ~/dev/a and ~/dev/b", "Check ~/dev/a and ~/dev/b"],
  ["(~$1.50) or (~$2)", "(~$1.50) or (~$2)"],
  ["20~25°C。20~25°C", "20~25°C。20~25°C"],
  ["~~gone~~ and ~~25~30~~", "<del>gone</del> and <del>25~30</del>"],
  // Names and products.
  ["snake_case_name and a_b_c", "snake_case_name and a_b_c"],
  ["2*3*4 = 24", "2*3*4 = 24"],
  ["a*b*c and 2**3**4", "a*b*c and 2**3**4"],
  ["(1+2)*3*(4)", "(1+2)*3*(4)"],
  ["un*believ*able, *so* and **so**", "un<em>believ</em>able, <em>so</em> and <strong>so</strong>"],
  ["`2*3*4` and 这是*重点*内容", "<code>2*3*4</code> and 这是<em>重点</em>内容"],
  // Numbers and years.
  ["#1 is the best", "#1 is the best"],
  ["2024. A good year.", "2024. A good year."],
  ["Prices: $5 and $10, or 5$ and 10$", "Prices: $5 and $10, or 5$ and 10$"],
  // Addresses.
  ["Write to a_b@example.com.", "Write to <a mailto:a_b@example.com>a_b@example.com</a>."],
  ["见 https://a.example/b，然后继续", "见 <a https://a.example/b>https://a.example/b</a>，然后继续"],
  [
    "链接：https://a.example/a（draft）后续",
    "链接：<a https://a.example/a>https://a.example/a</a>（draft）后续",
  ],
  ["见 www.a.example。", "见 <a http://www.a.example>www.a.example</a>。"],
  ["[中文（说明）](https://a.example/（x）)", "<a https://a.example/%EF%BC%88x%EF%BC%89>中文（说明）</a>"],
  // Emphasis beside full-width punctuation.
  ["**真，**她", "<strong>真，</strong>她"],
  ["含**「重点」**内容", "含<strong>「重点」</strong>内容"],
  ["**注意：**正文", "<strong>注意：</strong>正文"],
  ["この**「例」**です", "この<strong>「例」</strong>です"],
  // KiroCrew#2323
  ["~~删除的文字（带括号）。~~这个句子是正确的。", "<del>删除的文字（带括号）。</del>这个句子是正确的。"],
  ["*这是斜体文字（带括号）。*这句子继续。", "<em>这是斜体文字（带括号）。</em>这句子继续。"],
  // hermes-agent#41093, codegraff#197
  [
    "**PR opened: https://a.example/pull/12345**",
    "<strong>PR opened: <a https://a.example/pull/12345>https://a.example/pull/12345</a></strong>",
  ],
])("renders %j", (markdown, elements) => {
  expect(render(markdown)).toBe(elements);
});

it("renders ordered lists that do not start at 1", () => {
  expect(render("1. a\n2. b")).toContain("<ol>");
  expect(render("7. a")).toContain("<ol>");
  expect(render("1999. a\n2000. b")).toContain("<ol>");
});

it.each(["Map<String, List<Integer>>", "List<String>"])("escapes the generics in %s", (text) => {
  const tree = unified().use(remarkParse).use(PLUGINS).use(remarkRehype, { allowDangerousHtml: true });
  expect(written(tree.runSync(tree.parse(text), text) as Node).trim()).toBe(text);
});

it("uses its own plugins because remark-gfm strikes through text between single tildes", () => {
  expect(render("5~7 和 8~9", [remarkGfm, remarkCjkFriendly])).toContain("<del>");
});
