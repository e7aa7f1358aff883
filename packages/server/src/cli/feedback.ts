import { feedbackCsv } from "@colloquy/engine/internal/core/feedback-csv";
import type { AdminFeedback } from "@colloquy/protocol";
import { type Command, InvalidArgumentError, Option } from "commander";
import { administer, type CommandParts, parseDuration, printJson, printLine, textTable } from "./command.ts";
import { harmlessLine, harmlessText } from "./terminal-text.ts";

/** Default limit of a list. */
const LISTED = 50;
/** Maximum entries per query. */
const PAGE = 1_000;

interface FeedbackOptions {
  readonly app?: string;
  readonly score?: "-1" | "0" | "1";
  readonly since?: number;
  readonly limit?: number;
  readonly json?: boolean;
  readonly csv?: boolean;
}

export function addFeedbackCommand(program: Command, parts: CommandParts): void {
  program
    .command("feedback")
    .description("list the feedback on answers: scores, comments and tags")
    .option("--app <name>", "only for answers of this App")
    .addOption(new Option("--score <score>", "only with this score").choices(["-1", "0", "1"]))
    .option("--since <time>", "how far back, for example 7d", parseDuration)
    .option("--limit <count>", `maximum number of entries (default: ${LISTED}; all with --csv)`, parseLimit)
    .addOption(new Option("--json", "print one JSON document").conflicts("csv"))
    .option("--csv", "print CSV")
    .addHelpText(
      "after",
      "\nExamples:\n  colloquy feedback --score=-1 --since 7d\n  colloquy feedback --csv > feedback.csv\n\nNewest first. Works beside a running server.",
    )
    .action(async ({ csv = false, json = false, limit, ...filter }: FeedbackOptions) => {
      const most = limit ?? (csv ? Number.POSITIVE_INFINITY : LISTED);
      const entries = await entriesOf(parts, filter, most);
      if (json) return printJson(parts, entries);
      if (csv) return parts.output.write(harmlessText(feedbackCsv(entries)));
      if (entries.length === 0) return printLine(parts, "No feedback matches.");
      for (const line of tableOf(entries)) printLine(parts, line);
    });
}

/** Returns the newest entries that match, at most `most`. */
async function entriesOf(
  parts: CommandParts,
  { app, score, since }: Pick<FeedbackOptions, "app" | "score" | "since">,
  most: number,
): Promise<readonly AdminFeedback[]> {
  return await administer(parts, "existing", async ({ feedback, now }) => {
    const from = since === undefined ? null : now() - since;
    const wanted = score === undefined ? null : (Number(score) as AdminFeedback["score"]);
    const filter = { app: app ?? null, score: wanted, from, to: null };
    const entries: AdminFeedback[] = [];
    let cursor: string | null = null;
    do {
      const limit = Math.min(PAGE, most - entries.length);
      const page = await feedback({ ...filter, cursor, limit });
      entries.push(...page.feedback);
      cursor = page.next_cursor;
    } while (cursor !== null && entries.length < most);
    return entries;
  });
}

function tableOf(entries: readonly AdminFeedback[]): readonly string[] {
  return textTable([
    ["TIME", "SCORE", "APP", "SESSION", "TURN", "COMMENT", "TAGS"],
    ...entries.map(({ created_at, score, app, session_id, turn, comment = "", tags = [] }) => [
      created_at,
      String(score),
      app,
      session_id,
      String(turn),
      harmlessLine(comment),
      harmlessLine(tags.join(", ")),
    ]),
  ]);
}

function parseLimit(text: string): number {
  const limit = Number(text);
  if (/^\d{1,9}$/.test(text) && limit >= 1) return limit;
  throw new InvalidArgumentError("It must be a whole number from 1.");
}
