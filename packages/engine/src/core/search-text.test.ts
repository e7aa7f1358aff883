import { describe, expect, it } from "vitest";
import { PART_CHARACTERS, parseSearch, partsOf, snippetOf, wordsIn } from "./search-text.ts";

/** Returns true if the query matches the text, both in the index and in the text itself. */
function finds(query: string, text: string): boolean {
  const search = parseSearch(query);
  if (search === null) return false;
  const own = wordsIn(text);
  const isIndexed = search.words.every(({ word, isPrefix }) =>
    own.some((one) => one === word || (isPrefix && one.startsWith(word))),
  );
  return isIndexed && snippetOf(text, search) !== null;
}

/** Returns the snippet with its matches between asterisks. */
function snippet(query: string, text: string): string | undefined {
  return snippetOf(text, parseSearch(query)!)
    ?.map(({ text: piece, match }) => (match ? `*${piece}*` : piece))
    .join("");
}

describe("a query", () => {
  // Each row names the public report of its text and query.
  it.each([
    ["RocketChat#713", "汉字", "我们写汉字吗"],
    ["tdlib#1004", "想要", "我好想要中文搜尋"],
    ["tdlib#1004", "搜尋", "我好想要中文搜尋"],
    ["mattermost#22345", "上海", "我家在上海东边。"],
    ["mattermost#3775", "具体情况", "具体情况就需要分析了，之前抓的严，大家都会去执行"],
    ["meilisearch#2687", "灯", "打开大灯"],
    ["meilisearch#2687, inside", "大", "打开大灯"],
    ["mattermost#2159", "検索", "日本語を検索する"],
    ["half-width kana", "ガイド", "ｶﾞｲﾄﾞ"],
    ["Korean with a particle", "한국어", "저는 한국어를 배웁니다"],
    ["Korean in decomposed form", "한국어", "한국어".normalize("NFD")],
    ["Raneto#243", "ภาษา", "ฉันเรียนภาษาไทย"],
    ["Thai with a decomposed vowel", "น้ำ", "น\u0e49\u0e4d\u0e32"],
    ["Lao", "ພາສາ", "ຂ້ອຍຮຽນພາສາລາວ"],
    ["Japanese with a variation selector", "葛城", "葛\u{e0100}城"],
    ["mattermost#1180", "привет", "Привет, мир"],
    ["mattermost#37360", "t-shirt", "A blue T-shirt."],
    ["mattermost docs#351", "10.100.200.101", "ping 10.100.200.101 now"],
    ["mcp_agent_mail#67", "POL-358", "See POL-358."],
    ["yetisearch#30", "BENCH-100821", "Order BENCH-100821"],
    ["ccrecall#29", "don't use agents", "We don’t use agents"],
    ["peewee#2955", "who's on \"first", "Who's on first?"],
    ["docs-mcp-server#262", '"--error-on-warnings"', "run tool --error-on-warnings"],
    ["datasette#651", "park.", "the park is closed"],
    ["tatoeba#1595", "الشعب", "الشّعب"],
    ["bibletime#255", "اكل", "أكل"],
    ["bibletime#255, points", "كتب", "كَتَبَ"],
    ["quranic-universal-library#749", "کتاب", "كتاب"],
    ["quranic-universal-library#749, yeh", "الذی", "الذي"],
    ["quranic-universal-library#749, heh", "اللہ", "الله"],
    ["quranic-universal-library#749, teh marbuta", "رحمۃ", "رحمة"],
    ["Vajehdan#19", "براي", "برای"],
    ["Arabic digits", "2024", "سنة ٢٠٢٤"],
    ["Persian digits", "٢٠٢٤", "سال ۲۰۲۴"],
    ["Hebrew points", "שלום", "שָׁלוֹם"],
    ["sumatrapdf#933", "strasse", "Die Straße"],
    ["sumatrapdf#933, the other way", "GROß", "gross"],
    ["sumatrapdf#933, capital", "Straße", "HAUPTSTRAẞE, STRAẞE"],
    ["Nominatim#2569", "п'ять", "пʼять"],
    ["koreader#10366", "зʼява", "з’ява"],
    ["Hawaiian", "hawai'i", "Hawaiʻi"],
    ["Afrikaans", "'n", "ŉ Voël"],
    ["gemSpecPages#10", "Prufungsnachweis", "Prüfungsnachweis"],
    ["Turkish", "istanbul", "İSTANBUL"],
    ["Turkish, dotless", "ISPARTA", "ısparta"],
    ["Greek final sigma", "ΟΔΟΣ", "οδός"],
    ["Vietnamese", "tieng viet", "Tiếng Việt"],
    ["Scandinavian", "smorrebrod", "smørrebrød"],
    ["Polish", "lodz", "Łódź"],
    ["ligature", "file", "ﬁle"],
    ["full width", "ABC", "ＡＢＣ"],
    ["Signal#12634", "✅", "done ✅"],
    ["Signal#12634, arrow", "➡️", "this ➡ that"],
    ["Signal#13672", "🎵", "🐽🎵"],
    ["telegram#30125", "⭐️👁️", "⭐️👁️ Lorem ipsum"],
    ["flag", "🇩🇪", "from 🇩🇪"],
    ["C++", "C++", "written in C++"],
    ["C#", "c#", "C# or F#"],
    ["C++17", "C++17", "needs C++17 now"],
    ["code", "snake_case", "const snake_case = 1"],
    ["code, a part", "case", "const snake_case = 1"],
    ["e-mail", "john.doe@example.com", "Write to John.Doe@example.com!"],
    ["e-mail, begun", "john.doe@exa", "Write to john.doe@example.com"],
    ["address", "https://example.com/a?b=c", "See https://example.com/a?b=c#d"],
    ["soft hyphen", "Donaudampf", "Donau\u00addampf"],
    ["zero width space", "zerowidth", "zero\u200bwidth"],
    ["words of operators", "NOT AND", "This is not you and me"],
    ["a prefix", "bridg", "the bridge"],
    ["any order", "fee bridge", "the bridge has a fee"],
    ["a phrase", '"the bridge"', "over the bridge"],
    ["curly quotes", "“the bridge”", "over the bridge"],
    ["Hindi", "हिन्दी", "मैं हिन्दी बोलता हूँ"],
    ["a long word", "x".repeat(300), `a ${"x".repeat(300)} b`],
  ])("matches: %s", (_report, query, text) => {
    expect(finds(query, text)).toBe(true);
  });

  it.each([
    ["meilisearch#2390", "本田", "本地的田"],
    ["pairs that do not follow each other", "東京都", "京都と東京"],
    ["C", '"c"', "C++ is fun"],
    ["C++", "C++", "vitamin C"],
    ["T-shirt", "t-shirt", "a shirt, size T"],
    ["a missing word", "bridge toll", "the bridge has a fee"],
    ["a beginning that is not last", "bridg fee", "the bridge has a fee"],
    ["a beginning in quotes", '"bridg"', "the bridge"],
    ["another order of a phrase", '"bridge the"', "over the bridge"],
    ["one letter", "b", "the bridge"],
    ["Hindi vowels", "का", "की"],
    ["another emoji", "🎵", "🐽"],
  ])("does not match: %s", (_report, query, text) => {
    expect(finds(query, text)).toBe(false);
  });

  it.each(["", "   ", "*", '"', '""', "--", "=", "…", "\u200b", "؟", "+ #"])("has no words: %j", (query) => {
    expect(parseSearch(query)).toBeNull();
  });

  it("contains no spaces, quotes, underscores or backslashes in its words", () => {
    const all = Array.from({ length: 0xd7ff }, (_, code) => String.fromCodePoint(code)).join("");
    const emoji = Array.from({ length: 0x1ffff - 0x10000 }, (_, code) =>
      String.fromCodePoint(code + 0x10000),
    ).join("");
    for (const word of [...wordsIn(all), ...wordsIn(Array.from(all).join(" ")), ...wordsIn(emoji)])
      expect(word).toMatch(/^[^\s_'"\\&|:*()]+$/u);
  });

  it("truncates words to 64 characters, which PostgreSQL accepts", () => {
    const words = wordsIn(`${"é".repeat(500)} ${"\u{10400}".repeat(500)}`);
    expect(words.map(({ length }) => length)).toEqual([64, 64]);
    expect(words.every((word) => word.isWellFormed())).toBe(true);
  });
});

describe("partsOf", () => {
  it("splits long texts into overlapping parts, counted in Unicode characters", () => {
    const text = `${"😀 word ".repeat(9_000)}end`;
    const parts = [...partsOf(text)];
    expect(parts.length).toBeGreaterThan(2);
    const characters = Array.from(text);
    for (const { start, length } of parts) {
      const part = characters.slice(start, start + length).join("");
      expect(part.length).toBeLessThanOrEqual(PART_CHARACTERS);
      expect(part.isWellFormed()).toBe(true);
    }
    const last = parts.at(-1)!;
    expect(last.start + last.length).toBe(characters.length);
    for (const [index, { start, length }] of parts.slice(0, -1).entries())
      expect(start + length - parts[index + 1]!.start).toBeGreaterThan(100);
  });

  it("omits parts without words", () => {
    expect([...partsOf("")]).toEqual([]);
    expect([...partsOf("… ?!")]).toEqual([]);
    expect([...partsOf(`${".".repeat(PART_CHARACTERS)}word`)]).toMatchObject([{ words: ["word"] }]);
  });

  it("indexes 1 MB of base64 (discourse#15716) in words of at most 64 characters", () => {
    const parts = [...partsOf(Buffer.alloc(700_000, "colloquy!").toString("base64"))];
    expect(parts.every(({ words }) => words.join(" ").length < 1024 * 1024)).toBe(true);
  });
});

describe("a snippet", () => {
  it("marks matches, and truncates the text between words", () => {
    const text = `${"Lorem ipsum dolor sit amet. ".repeat(10)}The bridge to Arbitrum\n  has a small fee. ${"More words follow here. ".repeat(10)}`;
    const found = snippet("bridge arb", text)!;
    expect(found).toMatch(/^…[a-z. A-Z]+ The \*bridge\* to \*Arbitrum\* has a small fee\. .+…$/);
    expect(found.length).toBeLessThan(260);
  });

  it("contains the whole of a short text", () => {
    expect(snippet("fee", "A fee.")).toBe("A *fee*.");
    expect(snippet("fee", "fee")).toBe("*fee*");
  });

  it("shows the range with the most terms", () => {
    const text = `bridge ${"x ".repeat(300)}the bridge fee`;
    expect(snippet("fee bridge", text)).toMatch(/^…(x )+the \*bridge\* \*fee\*$/);
  });

  it("marks characters of scripts without spaces, and whole words that match a prefix", () => {
    expect(snippet("上海", "我家在上海东边。")).toBe("我家在*上海*东边。");
    expect(snippet("brid", "bridges")).toBe("*bridges*");
  });

  it("truncates a long word without splitting a character", () => {
    const found = snippet("😀", `${"a".repeat(300)}😀`)!;
    expect(found.isWellFormed()).toBe(true);
    expect(found).toContain("*😀*");
    const long = snippet("y".repeat(64), `see ${"y".repeat(5_000)} end`)!;
    expect(long.length).toBeLessThan(260);
  });

  it("leaves markup in the text unchanged", () => {
    expect(snippetOf("<b>bold</b>", parseSearch("bold")!)).toEqual([
      { text: "<b>" },
      { text: "bold", match: true },
      { text: "</b>" },
    ]);
  });
});
