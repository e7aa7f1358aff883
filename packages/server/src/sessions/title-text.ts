import { cleanText } from "../core/text.ts";

const MAX_GENERATED = 60;

/** A title made from the first message itself: its first line, cut at a word. */
export function plainTitle(message: string): string {
  const line = oneLine(message.trim().split(/[\r\n]/, 1)[0] ?? "");
  if (line.length <= MAX_GENERATED) return line;
  const cut = cleanText(line.slice(0, MAX_GENERATED)).replace(/\uFFFD$/u, "");
  const atWord = cut.slice(0, Math.max(cut.lastIndexOf(" "), MAX_GENERATED / 2));
  return `${atWord.trimEnd()}…`;
}

/** What a model answered as a title: one line without quotes and final full stop; `null` when nothing is left of it. */
export function cleanTitle(answer: string): string | null {
  const line = oneLine(
    cleanText(answer)
      .trim()
      .split(/[\r\n]/, 1)[0] ?? "",
  );
  const bare = line.replace(/^["'“”«*#\s]+|["'“”»*.\s]+$/gu, "");
  return bare === "" ? null : plainTitle(bare);
}

function oneLine(text: string): string {
  return text.replace(/[\s\p{Cc}]+/gu, " ").trim();
}
