const FENCE = "```";

/** Sample texts of every kind and writing direction, by title. */
export const TEXTS: Readonly<Record<string, string>> = {
  "text of all kinds": `# Heading

A paragraph with **bold**, *italic*, \`code\`, ~~gone~~, a [link](https://example.com) and ~5 to ~7.

> A quote of two lines,
> which goes on.

- One
- Two
  1. First
  2. Second
- [x] Done
- [ ] Open

A claim[^1], and a picture: ![a cat](https://example.com/cat.png)

---

[^1]: Its source.`,
  code: `${FENCE}ts src/sum.ts
// Adds numbers.
export function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0) || "nothing to add, in a line that is longer than the page is wide, so that it scrolls".length;
}
${FENCE}

${FENCE}diff
- const a = 1;
+ const a = 2;
${FENCE}`,
  "a table": `| City | Degrees | Sky | Wind |
|---|--:|:-:|---|
| Berlin | 21 | clear | weak |
| Rome | 25 | clear | none |
| Łódź | 7 | rain and more rain than anybody has seen in years | strong |`,
  mathematics: `The roots of $ax^2 + bx + c = 0$ are

$$
x = \\frac{-b \\pm \\sqrt{b^2 - 4ac}}{2a}
$$

and \\(e^{i\\pi} + 1 = 0\\). It costs $5, not $6. Broken: $\\frac{1$.`,
  "a disclosure": `<details>
<summary>How it was done</summary>

With **care**.

</details>`,
  "right to left": `## כותרת

זהו טקסט עם \`code\` ועם English בתוכו (2026).

1. ראשון
2. שני

| שם | גיל |
|---|---|
| דנה | 31 |`,
  "both directions": `An answer that begins in English.

- ראשון
- שני

1. First
2. Second

> ציטוט`,
  "a formula out of bounds": "A formula: $x\\kern{-12em}\\text{outside}$",
  "Chinese and Japanese": "**注意：**正文，见 https://a.example/b，然后继续。\n\nこの**「例」**です。",
  "long words": `${"Donaudampfschifffahrt".repeat(20)} https://example.com/${"a".repeat(300)}`,
};
