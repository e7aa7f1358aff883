import { expect, it } from "vitest";
import { formulaOf, markFormulas } from "./mathematics.ts";

/** Marks inline formulas as «…» and display formulas as «« … »». */
const read = (text: string): string =>
  markFormulas(text).replaceAll(/`([\uE010-\uE019][^`]*)`/g, (_code, inner: string) => {
    const formula = formulaOf(inner);
    return formula?.isDisplay === true ? `««${formula.tex}»»` : `«${formula?.tex}»`;
  });

it.each([
  ["Let $x^2$ be", "Let «x^2» be"],
  ["so $E=mc^2$.", "so «E=mc^2»."],
  ["\\(a_1 + b_1\\) and \\[c\\]", "«a_1 + b_1» and ««c»»"],
  ["$$\na\n- b % why\n= c\n$$", "««a - b  = c»»"],
  ["> $$\n> a\n> $$", "> ««a»»"],
  ["$10^3$ times $5x$", "«10^3» times «5x»"],
  ["价格为$x$元", "价格为«x»元"],
  [
    "so\n\n\\begin{align*}\n1 &= \\det I\n\\end{align*}",
    "so\n\n««\\begin{align*} 1 &= \\det I \\end{align*}»»",
  ], // mdmath#60
  ["若$a>b$，则$c$。", "若«a>b»，则«c»。"],
])("finds the formulas of %j", (text, expected) => {
  expect(read(text)).toBe(expected);
});

it.each([
  "$5 and $10, or 5$ and 10$",
  "It costs $5, not $6.",
  "(~$1.50) or (~$2)",
  "US$5 and US$6",
  "from $20k-$30k",
  "between $5-10, tax free$",
  "set $HOME and $PATH",
  "`$x$` and ``\\(a\\)``",
  "```sh\necho $a$b \\(x\\)\n```",
  "- a\n  ```sh\n  $x$\n  ```",
  "~~~\n$x$\n~~~",
  "```sh\necho $x$",
  "an escaped \\$x\\$",
  "\\\\(a\\\\)",
  "$$\na\n\nb\n$$",
  "$a$b",
  "$/PR is down but $/session is up", // omnigent#5013
  "paid **$1.50** for kale, her **Marginal Revenue (MR)**. She makes $1.50.", // lobehub#8553
  "$80 + $50 = $130, but A only has $100.", // opencode#30712
  '"$990/mo". The timeline is the design. Pro: the "$1,500 freebie"', // nimbalyst#1385
  "$25 is more than $24", // bobrchat#114
  "the $2k cohort and the $25-50k tier", // wayland#704
  "export PATH=$HOME/bin:$PATH", // octo-web#1090
  "a $20,000 and $30,000 range", // octo-web#1090
  "价格是 $100 到 $200", // octo-web#1090
  "https://matrix.to/#/!a:b/$abc https://matrix.to/#/!a:b/$-def", // element-web#15846
])("does not change %j", (text) => {
  expect(read(text)).toBe(text);
});

it.each(["$", "\\(", "`$", "$a", "$$ ", "$1 a ", "```$ ", "https://$ ", "\\begin{align}"])(
  "takes linear time for 200 KB of %j",
  (part) => {
    const text = part.repeat(200_000 / part.length);
    const started = process.cpuUsage();
    markFormulas(text);
    const { user, system } = process.cpuUsage(started);
    expect(user + system).toBeLessThan(3_000_000);
  },
);
