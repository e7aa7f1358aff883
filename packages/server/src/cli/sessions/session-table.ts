import type { Message } from "@colloquy/protocol";
import { Screen } from "../chat/screen.ts";
import { Transcript } from "../chat/transcript.ts";
import { type CommandParts, printLine } from "../command.ts";
import { harmlessLine } from "../harmless-text.ts";
import { fitted, textWidth } from "../text-width.ts";
import type { ListedSession } from "./session-source.ts";

/** What is left for a title has to be worth reading. */
const SHORTEST_TITLE = 16;
const GAP = 2;

interface Column {
  readonly head: string;
  readonly of: (session: ListedSession) => string;
}

const TITLE: Column = { head: "TITLE", of: ({ title }) => title };
/** The last ones give way first where a terminal is narrow. */
const COLUMNS: readonly Column[] = [
  { head: "ID", of: ({ session_id }) => session_id },
  { head: "STATUS", of: ({ status }) => status },
  { head: "USED", of: ({ used_at }) => used_at.slice(0, 16).replace("T", " ") },
  { head: "APP", of: ({ app }) => app },
  { head: "MESSAGES", of: ({ message_count: count }) => String(count) },
];

/** Lines that fit so many columns; `null` where nothing has to fit. */
export function sessionTable(sessions: readonly ListedSession[], columns: number | null): readonly string[] {
  const rows = COLUMNS.map(({ head, of }) => [head, ...sessions.map((session) => harmlessLine(of(session)))]);
  const widths = rows.map((cells) => Math.max(...cells.map(textWidth)));
  const titles = [TITLE.head, ...sessions.map((session) => harmlessLine(TITLE.of(session)))];
  let shown = widths.length;
  const left = (): number =>
    (columns ?? 0) - widths.slice(0, shown).reduce((sum, width) => sum + width + GAP, 0);
  while (columns !== null && shown > 1 && left() < SHORTEST_TITLE) shown -= 1;
  if (columns !== null && left() < SHORTEST_TITLE) return blocks(sessions, columns);
  return titles.map((title, row) => {
    const cells = rows.slice(0, shown).map((column, index) => padded(column[row] ?? "", widths[index] ?? 0));
    return [...cells, columns === null ? title : fitted(title, left())].join(" ".repeat(GAP)).trimEnd();
  });
}

/** Where not even an id and a title stand in one line. */
function blocks(sessions: readonly ListedSession[], columns: number): readonly string[] {
  return sessions.flatMap((session) => [
    harmlessLine(session.session_id),
    fitted(`  ${harmlessLine(`${session.status}, ${session.title}`)}`, columns),
  ]);
}

export function describeSession(
  parts: CommandParts,
  session: ListedSession,
  messages: readonly Message[],
): void {
  const facts: readonly (readonly [string, string | null])[] = [
    ["Session", session.session_id],
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
