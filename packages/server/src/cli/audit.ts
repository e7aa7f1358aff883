import { AuditAction, type AuditEntry } from "@colloquy/protocol";
import { type Command, InvalidArgumentError, Option } from "commander";
import { administer, type CommandParts, parseDuration, printJson, printLine, textTable } from "./command.ts";

const LISTED = 50;
const LISTED_MAX = 200;

interface AuditOptions {
  readonly action?: AuditAction;
  readonly actor?: string;
  readonly app?: string;
  readonly target?: string;
  readonly since?: number;
  readonly limit: number;
  readonly json?: boolean;
}

export function addAuditCommand(program: Command, parts: CommandParts): void {
  program
    .command("audit")
    .description(
      "list the audit trail: changes of keys, owners and secrets, decisions, and reads by operators",
    )
    .addOption(new Option("--action <action>", "only this action").choices(AuditAction.options))
    .option("--actor <id>", "only what this key, operator or account did, by id or name")
    .option("--app <name>", "only in this App")
    .option("--target <id>", "only about this session or key; a session by its id, or its handle in the log")
    .option("--since <time>", "how far back, for example 24h", parseDuration)
    .option("--limit <count>", "maximum number of entries", parseLimit, LISTED)
    .option("--json", "print one JSON document")
    .addHelpText(
      "after",
      "\nExamples:\n  colloquy audit --since 24h\n  colloquy audit --action key_created --json\n\nNewest first. Works beside a running server.",
    )
    .action(async ({ since, limit, json, ...filter }: AuditOptions) => {
      const { action = null, actor = null, app = null, target = null } = filter;
      const { entries } = await administer(parts, "existing", async ({ audit, handles, now }) => {
        const from = since === undefined ? null : now() - since;
        const id = target === null ? null : (await handles()).idOf(target);
        return await audit.list({ action, actor, app, target: id, from, to: null, limit, cursor: null });
      });
      if (json === true) return printJson(parts, entries);
      if (entries.length === 0) return printLine(parts, "No entries match.");
      for (const line of tableOf(entries)) printLine(parts, line);
    });
}

function tableOf(entries: readonly AuditEntry[]): readonly string[] {
  return textTable([
    ["TIME", "ACTION", "BY", "APP", "TARGET", "DETAILS"],
    ...entries.map(({ at, action, actor, app, target, details }) => [
      at,
      action,
      [actor.kind, actor.name ?? actor.id ?? actor.address ?? ""].join(" ").trim(),
      app ?? "",
      target ?? "",
      Object.keys(details).length === 0 ? "" : JSON.stringify(details),
    ]),
  ]);
}

function parseLimit(text: string): number {
  const limit = Number(text);
  if (/^\d+$/.test(text) && limit >= 1 && limit <= LISTED_MAX) return limit;
  throw new InvalidArgumentError(`It must be a whole number from 1 to ${LISTED_MAX}.`);
}
