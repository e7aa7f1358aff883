import type { Message } from "@colloquy/protocol";
import { Screen } from "../chat/screen.ts";
import { Transcript } from "../chat/transcript.ts";
import { type CommandParts, printLine } from "../command.ts";
import { harmlessLine, textWidth, truncateToWidth } from "../terminal-text.ts";
import type { ListedSession } from "./session-source.ts";

/** Minimum width of a title that is worth showing. */
const MIN_TITLE_WIDTH = 16;
const GAP = 2;

interface Column {
  readonly head: string;
  readonly of: (session: ListedSession) => string;
}

const TITLE: Column = { head: "TITLE", of: ({ title }) => title };
/** On a narrow terminal, the last columns are dropped first. */
const COLUMNS: readonly Column[] = [
  { head: "ID", of: ({ session_id }) => session_id },
  { head: "STATUS", of: ({ status }) => status },
  { head: "USED", of: ({ used_at }) => used_at.slice(0, 16).replace("T", " ") },
  { head: "APP", of: ({ app }) => app },
  { head: "MESSAGES", of: ({ message_count: count }) => String(count) },
  { head: "HANDLE", of: ({ handle }) => handle },
];

/** Returns lines of at most `columns` columns; `null` means no limit. */
export function sessionTable(sessions: readonly ListedSession[], columns: number | null): readonly string[] {
  const rows = COLUMNS.map(({ head, of }) => [head, ...sessions.map((session) => harmlessLine(of(session)))]);
  const widths = rows.map((cells) => Math.max(...cells.map(textWidth)));
  const titles = [TITLE.head, ...sessions.map((session) => harmlessLine(TITLE.of(session)))];
  let shown = widths.length;
  const left = (): number =>
    (columns ?? 0) - widths.slice(0, shown).reduce((sum, width) => sum + width + GAP, 0);
  while (columns !== null && shown > 1 && left() < MIN_TITLE_WIDTH) shown -= 1;
  if (columns !== null && left() < MIN_TITLE_WIDTH) return blocks(sessions, columns);
  return titles.map((title, row) => {
    const cells = rows.slice(0, shown).map((column, index) => padded(column[row] ?? "", widths[index] ?? 0));
    return [...cells, columns === null ? title : truncateToWidth(title, left())]
      .join(" ".repeat(GAP))
      .trimEnd();
  });
}

/** Layout for terminals too narrow for an id and a title in one line. */
function blocks(sessions: readonly ListedSession[], columns: number): readonly string[] {
  return sessions.flatMap((session) => [
    harmlessLine(session.session_id),
    truncateToWidth(`  ${harmlessLine(`${session.status}, ${session.title}`)}`, columns),
  ]);
}

export function describeSession(
  parts: CommandParts,
  session: ListedSession,
  messages: readonly Message[],
): void {
  const facts: readonly (readonly [string, string | null])[] = [
    ["Session", session.session_id],
    ["Handle", session.handle],
    ["Title", session.title],
    ["Status", session.status],
    ["App", session.app],
    ["Model", session.model],
    ["Wallet", session.public_key],
    ["Created", session.created_at],
    ["Changed", session.updated_at],
    ["Used", session.used_at],
  ];
  for (const [name, value] of facts) {
    if (value !== null) printLine(parts, `${name.padEnd(9)}${harmlessLine(value)}`);
  }
  printLine(parts, "");
  const screen = new Screen(parts.host.stdout, parts.output);
  screen.write(new Transcript().replay(messages));
  screen.endLine();
}

function padded(text: string, width: number): string {
  return text + " ".repeat(Math.max(0, width - textWidth(text)));
}
