import { renderToStaticMarkup } from "react-dom/server";
import { expect, it } from "vitest";
import temml from "temml";
import { LIMITS } from "./formula.tsx";
import { Markdown } from "./markdown.tsx";

const html = (text: string): string => renderToStaticMarkup(<Markdown text={text} />);

it("renders <details> with Markdown inside, even before the end tag has arrived", () => {
  const whole = "<details>\n<summary>Why</summary>\n\n- **b**\n\n</details>\n\nAfter";
  expect(html(whole)).toMatch(
    /<details>\s*<summary>Why<\/summary>\s*<ul dir="auto">\s*<li><strong>b<\/strong><\/li>\s*<\/ul>\s*<\/details>\s*<p>After<\/p>/,
  );
  expect(html("<details open><summary>Why</summary>So</details>")).toMatch(
    /<details open="">\s*<summary>Why<\/summary>\s*<p>So<\/p>\s*<\/details>/,
  );
  expect(html("<details>\n<summary>Why</summary>\n\n`a`")).toMatch(
    /<details>\s*<summary>Why<\/summary>\s*<p><code dir="auto">a<\/code><\/p>\s*<\/details>/,
  );
});

it.each(["<script>alert(1)</script>", "<img src=x onerror=alert(1)>", "<iframe src=x></iframe>"])(
  "shows %s as it is written, also inside details",
  (markup) => {
    const written = markup.replaceAll("<", "&lt;").replaceAll(">", "&gt;");
    expect(html(markup)).toContain(written);
    expect(html(`<details>\n<summary>${markup}</summary>\n\n${markup}\n\n</details>`)).not.toContain(markup);
  },
);

it("links footnotes within one message only", () => {
  const [one, other] = renderToStaticMarkup(
    <>
      <Markdown text={"a[^1]\n\n[^1]: b"} />
      <i />
      <Markdown text={"a[^1]\n\n[^1]: c"} />
    </>,
  ).split("<i></i>");
  const idsOf = (text = ""): readonly string[] =>
    [...text.matchAll(/ id="([^"]*fn-1)"/g)].map(([, id = ""]) => id);
  expect(idsOf(one)).toHaveLength(1);
  expect(one).toContain(`href="#${idsOf(one)[0]}"`);
  expect(idsOf(other)).not.toEqual(idsOf(one));
});

it("renders tasks as read-only checkboxes", () => {
  expect(
    html("- [x] a\n- [ ] b").match(
      /<input type="checkbox" disabled=""[^>]* aria-label="(Done|To do)"[^>]*>/g,
    ),
  ).toHaveLength(2);
});

it("shows the source of a formula until it is rendered, and leaves prices unchanged", () => {
  const visible = html("$x^2$ costs $5 or $6");
  expect(visible).toContain("<code>\\(x^2\\)</code>");
  expect(visible).toContain("costs $5 or $6");
});

it("shows the file name of a code block", () => {
  expect(html("```ts src/a.ts\n1\n```")).toContain("<span>src/a.ts</span>");
  expect(html('```ts title="b.ts"\n1\n```')).toContain("<span>b.ts</span>");
  expect(html("```ts\n1\n```")).toContain("<span>ts</span>");
});

it("leaves Python names such as __init__ unchanged", () => {
  expect(html("call __init__ and **so** and __So__")).toContain(
    "call __init__ and <strong>so</strong> and <strong>So</strong>",
  );
});

/** Returns the text of the cells of the first table. */
const cellsOf = (text: string): readonly string[] =>
  [...html(text).matchAll(/<t[hd]>(.*?)<\/t[hd]>/gs)].map(([, cell = ""]) =>
    cell.replaceAll(/<br\/>\n/g, "⏎").replaceAll(/<[^>]+>/g, ""),
  );

it("keeps the bars of formulas in the cells of tables, escaped or not", () => {
  // vscode-markdown#641
  expect(cellsOf("| $f(x)$ | $\\int f(x) dx$ |\n|---|---|\n| $\\frac{1}{x}$ | $\\ln|x| + C$ |")).toEqual([
    "\\(f(x)\\)",
    "\\(\\int f(x) dx\\)",
    "\\(\\frac{1}{x}\\)",
    "\\(\\ln|x| + C\\)",
  ]);
  // markdown-preview-plus#185
  for (const bar of ["|", "\\|"])
    expect(cellsOf(`a | b\n--|--\n$P(A${bar}B)$ | foo`)).toEqual(["a", "b", "\\(P(A|B)\\)", "foo"]);
  // joplin#8020
  expect(cellsOf("||\n|-|\n|$\\text{T} ::= \\text{F | C | V}$|")).toEqual([
    "",
    "\\(\\text{T} ::= \\text{F | C | V}\\)",
  ]);
  expect(html("The norm $\\|x\\|$")).toContain("\\(\\|x\\|\\)");
});

it("leaves what is no formula as it was written: indented code, addresses, attributes and names of pictures", () => {
  // cocalc#2807
  expect(html("a\n\n    $x$ and \\(y\\)\n    $$\n    z$$")).toContain(
    "<code>$x$ and \\(y\\)\n$$\n    z$$</code>",
  );
  expect(html('<span class="style-$">This</span><span class="style2-$">styled</span>')).toContain(
    "&lt;span class=&quot;style-$&quot;&gt;This&lt;/span&gt;&lt;span class=&quot;style2-$&quot;&gt;styled",
  );
  // element-web#15846
  expect(html("[a](/q?$a$) [b](https://e.example/$b$) https://e.example/$c$/d")).toContain(
    'href="https://e.example/$b$" target="_blank" rel="noopener noreferrer">b</a> <a href="https://e.example/$c$/d"',
  );
  expect(html("![graph of $x$](https://e.example/a.png)")).toContain("graph of $x$");
});

it("keeps formulas within their list items", () => {
  // hermes-webui#3830
  expect(
    html("1. First\n   $$\n   x = 1\n   $$\n2. Second \\(a\\)\n3. Third\n\n- check").match(/<li>/g),
  ).toHaveLength(4);
});

it("shows a block of the language math as a formula", () => {
  // vscodenpa/testissues#36715, AngouriMath#1404
  expect(html("```math\n\\begin{cases} a \\\\ b \\end{cases}\n```")).toContain(
    "<code>\\[\\begin{cases} a \\\\ b \\end{cases}\\]</code>",
  );
});

it.each([
  "\\href{javascript:alert(1)}{x}", // octo-web#1587
  "\\url{javascript:alert(1)}^2", // octo-web#1587
  "\\htmlClass{x}{y^2}", // octo-web#1587
  "\\class{x}{y}",
  "\\style{position:fixed}{x}",
  "\\includegraphics{https://e.example/a.png}", // octo-web#1587
  "\\unicode{<img src=x onerror=alert(1)>}", // markdown-it-katex#30
  "\\def\\a{\\a\\a}\\a",
])("does not render the formula %s", (tex) => {
  expect(() => temml.renderToString(tex, LIMITS)).toThrow(
    /Unsupported function|is not trusted|Too many expansions/,
  );
});

it("renders markup in formulas as text, and bounds their size", () => {
  // markdown-it-katex#26, octo-web#1587
  expect(temml.renderToString("<img src=a onerror=alert(1)>", LIMITS)).not.toContain("<img");
  expect(temml.renderToString("\\text{<img src=x onerror=alert(1)>}_a", LIMITS)).not.toContain("<img");
  expect(temml.renderToString("\\rule{9999em}{9999em}", LIMITS)).not.toContain("9999");
});

it("keeps single line breaks, and <br> in cells of tables", () => {
  // omnigent#6618
  expect(html("Current task: complete\nNext task: review\n- a\n  b")).toMatch(
    /complete<br\/>\nNext task: review<\/p>\s*<ul dir="auto">\s*<li>a<br\/>\nb<\/li>/,
  );
  // generative-ai-use-cases#1271, pi#3962, aerele/jarvis#557
  expect(cellsOf("| 項目 | 内容 |\n|--|--|\n| 説明 | 手順1<br>手順2<br/>手順3<br />4 |")[3]).toBe(
    "手順1⏎手順2⏎手順3⏎4",
  );
  expect(html("<br onclick=x>")).toContain("&lt;br onclick=x&gt;");
  // A break and a formula of its own line are one break.
  expect(html("a<br>\nb\n$$x$$\nc").match(/<br\/>/g)).toHaveLength(1);
});

it("shows a Markdown document with code as one block, also before its end has arrived", () => {
  // filigran-ui#289, chatkit-js#88
  const open = "```markdown\nSome\n\n```jsx\nlog(1)\n```\n\nMore";
  const code = "<code>Some\n\n```jsx\nlog(1)\n```\n\nMore</code>";
  expect(html(open)).toContain(code);
  const whole = html(`Here:\n\n${open}\n\`\`\`\n\nAfter **b**`);
  expect(whole).toContain(code);
  expect(whole).toContain("<p>After <strong>b</strong></p>");
  // agentstack#1110
  expect(html('~~~markdown\nFirst\n```py\nfoo="bar"\n```\nSecond\n~~~\nEnd')).toMatch(
    /Second<\/code><\/pre>\s*<p>End/,
  );
  expect(html("````md\n```js\n````\nEnd")).toMatch(/```js<\/code><\/pre>\s*<p>End/);
  expect(html("```md\n# a\n```\n**b**\n```js\n1\n```")).toContain("<strong>b</strong>");
});

it("ends code at a fence that is the last line, without a line break after it", () => {
  // codeg#555
  expect(html("SHA:\n\n```text\nabc123\n```")).toContain("<code>abc123</code>");
});

it("gives lists, quotes and tables the direction of their own text", () => {
  // t3code#7126
  expect(
    html("English first.\n\n- واحد\n\n> اثنان\n\n|ا|\n|-|").match(
      /<(ul|blockquote|div[^>]*Table[^>]*) dir="auto"/g,
    ),
  ).toHaveLength(3);
});

it("names the heading of footnotes in each message differently, and each reference of a footnote", () => {
  // QueryWeaver#745, zmarkdown#249, marktext#5488
  const all = renderToStaticMarkup(
    <>
      <Markdown text={"a[^1] b[^1]\n\n[^1]: c"} />
      <Markdown text={"a[^1] b[^1]\n\n[^1]: c"} />
    </>,
  );
  const ids = [...all.matchAll(/ id="([^"]*)"/g)].map(([, id]) => id);
  expect(ids).toHaveLength(8);
  expect(new Set(ids).size).toBe(8);
  for (const [, target] of all.matchAll(/(?:href="#|aria-describedby=")([^"]*)"/g))
    expect(ids).toContain(target);
});

it("names the host of a link whose text is another address", () => {
  // element-x-android#4290, element-web#22875
  expect(html("[http://example.com](http://evil.example)")).toContain(
    ">http://example.com (evil.example)</a>",
  );
  expect(html("[**www.example.com**](http://evil.example/www.example.com)")).toContain(
    "</strong> (evil.example)</a>",
  );
  expect(html("[https://Example.com/a](https://example.com/b) [a.b](https://c.example)")).not.toContain(" (");
  expect(html("[www.example.com](https://www.example.com)")).not.toContain(" (");
});

it("goes on with the number of a list after code that interrupts it", () => {
  // markdown-viewer#15
  expect(html("1. a\n\n```\nx\n```\n\n2. b\n3. c")).toContain('<ol start="2"');
});

it("shows the kind of an alert as its title, which has no say in the direction", () => {
  // coder#17660, t3code#7574
  expect(html("> [!NOTE]\n> שלום")).toMatch(/<p><strong dir="ltr">Note<\/strong><br\/>\nשלום<\/p>/);
  expect(html("> [!warning]\n>\n> - a")).toMatch(/<p><strong dir="ltr">Warning<\/strong><\/p>\s*<ul/);
  expect(html("> [!NOTE] of it\n\n> [!OTHER]\n> a")).not.toContain("<strong");
});

it("makes no heading of a text above dashes, which begin a list or separate", () => {
  // anything-llm#5588, markdown-to-jsx#827: what arrives while a list streams
  for (const end of ["\n-", "\n- ", "\n--"])
    expect(html(`연수 일정${end}`)).toMatch(/<p>연수 일정(<br\/>\n-+)?<\/p><\/div>$/);
  // Zettel-Notes-Documentation#120
  expect(html("Text\nText\n---\nmore")).toMatch(/<p>Text<br\/>\nText<\/p>\s*<hr\/>\s*<p>more<\/p>/);
  expect(html("> a\n> ---")).toMatch(/<p>a<\/p>\s*<hr\/>\s*<\/blockquote>/);
  expect(html("## Text\n---")).toMatch(/<h2>Text<\/h2>\s*<hr\/>/);
  expect(html("Text\n===")).toContain("<h2>Text</h2>");
});

it("begins headings below that of the page, and skips no level", () => {
  const levels = (text: string): string =>
    Array.from(html(text).matchAll(/<h(\d)/g), ([, at]) => at).join("");
  expect(levels("## A\n\n#### B\n\n## C\n\n# D\n\n## E")).toBe("23323");
  expect(levels("###### A\n\n> # B")).toBe("22");
});
