import type { AdminFeedback } from "@colloquy/protocol";

const COLUMNS = [
  "created_at",
  "app",
  "session_id",
  "message_id",
  "turn",
  "score",
  "comment",
  "tags",
] as const;

/** Returns feedback as CSV (RFC 4180) with a byte order mark, without which Excel does not read UTF-8. */
export function feedbackCsv(feedback: readonly AdminFeedback[]): string {
  const rows = feedback.map((entry) => COLUMNS.map((name) => cellOf(entry[name])));
  return `\uFEFF${[COLUMNS, ...rows].map((cells) => `${cells.join(",")}\r\n`).join("")}`;
}

function cellOf(value: string | number | readonly string[] | undefined): string {
  if (typeof value === "number") return String(value);
  const text = typeof value === "string" ? value : (value ?? []).join(", ");
  // Prevent spreadsheets from evaluating text as a formula (OWASP, "CSV Injection").
  const safe = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
