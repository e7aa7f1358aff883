import { homedir } from "node:os";
import { createClient } from "@colloquy/client";
import { AdminSessionStatus, parseSessionId, SessionIdOrHandle } from "@colloquy/protocol";
import { type Command, InvalidArgumentError, Option } from "commander";
import {
  administer,
  baseUrl,
  CommandFailure,
  type CommandParts,
  configuration,
  type ExitCode,
  printJson,
  printLine,
  readKey,
} from "../command.ts";
import { adminKey, atAdminApi } from "../admin-api.ts";
import { exportWith } from "../export.ts";
import { localServiceName } from "../chat/chat-context.ts";
import { RememberedThreads, threadsFile } from "../chat/remembered-threads.ts";
import { describeSession, sessionTable } from "./session-table.ts";
import { servedSessions, type SessionSource, storedSessions, nullIfNotFound } from "./session-source.ts";

interface SourceOptions {
  readonly url?: string;
  readonly json?: boolean;
}
interface ListOptions extends SourceOptions {
  readonly app?: string;
  readonly status?: AdminSessionStatus;
  readonly limit: number;
}

const URL_OPTION = ["--url <url>", "URL of a remote service; needs COLLOQUY_ADMIN_KEY"] as const;
const JSON_OPTION = ["--json", "print one JSON document"] as const;
const LISTED = 50;
const LISTED_MAX = 10_000;
const ID = "3c9d2f4e-5a61-4b7c-8d90-a1b2c3d4e5f6";

type Finish = (code: ExitCode) => void;

export function addSessionsCommand(program: Command, parts: CommandParts, finish: Finish): void {
  const sessions = program
    .command("sessions")
    .description("list, show, export and delete sessions")
    .addHelpText(
      "after",
      `
Examples:
  colloquy sessions list --status failed
  colloquy sessions show ${ID}
  colloquy sessions export ${ID} --out session.jsonl
  colloquy sessions delete ${ID}

Works beside a running server. With --url it uses a remote service and the key in the environment variable COLLOQUY_ADMIN_KEY.`,
    );
  addList(sessions, parts);
  addShow(sessions, parts);
  addExport(sessions, parts);
  addDelete(sessions, parts, finish);
}

function addList(sessions: Command, parts: CommandParts): void {
  sessions
    .command("list")
    .description("list sessions, most recently used first")
    .option("--app <name>", "only sessions of this App")
    .addOption(
      new Option("--status <status>", "only sessions with this status").choices(AdminSessionStatus.options),
    )
    .option("--limit <count>", "maximum number of sessions", parseLimit, LISTED)
    .option(...URL_OPTION)
    .option(...JSON_OPTION)
    .addHelpText(
      "after",
      "\nExamples:\n  colloquy sessions list --app defi --limit 10\n  colloquy sessions list --status stuck --json",
    )
    .action(async ({ app, status, limit, url, json }: ListOptions) => {
      const query = { app: app ?? null, status: status ?? null, limit };
      const listed = await withSessions(parts, url, (source) => source.list(query));
      if (json === true) return printJson(parts, listed);
      if (listed.length === 0) return printLine(parts, "No sessions match.");
      for (const line of sessionTable(listed, parts.columns)) printLine(parts, line);
    });
}

function addShow(sessions: Command, parts: CommandParts): void {
  sessions
    .command("show")
    .description("print a session and its conversation")
    .argument("<id>", "id of the session, or its handle in the log", parseIdOrHandle)
    .option(...URL_OPTION)
    .option(...JSON_OPTION)
    .addHelpText("after", `\nExample:\n  colloquy sessions show ${ID}`)
    .action(async (id: string, { url, json }: SourceOptions) => {
      const shown = await withSessions(parts, url, (source) => source.show(id));
      if (shown === null) throw new CommandFailure(notFoundMessage(id));
      const { session, records, messages } = shown;
      if (json === true) return printJson(parts, { session, messages: records });
      describeSession(parts, session, messages);
    });
}

function addExport(sessions: Command, parts: CommandParts): void {
  sessions
    .command("export")
    .description("export a session as JSON Lines, like colloquy export --session")
    .argument("<id>", "id of the session", parseId)
    .option("--out <file>", "write to a new file that only its owner can read, instead of standard output")
    .addHelpText("after", `\nExample:\n  colloquy sessions export ${ID} --out session.jsonl`)
    .action((id: string, options: { readonly out?: string }) =>
      exportWith(parts, { session: id, ...options }),
    );
}

function addDelete(sessions: Command, parts: CommandParts, finish: Finish): void {
  sessions
    .command("delete")
    .description("permanently delete sessions and their messages")
    .argument("<id...>", "ids of the sessions", parseIds)
    .option(...URL_OPTION)
    .option("--json", "print one JSON document: { deleted, absent }")
    .addHelpText(
      "after",
      `
Example:
  colloquy sessions delete ${ID}

If a server runs on this configuration, that server deletes them, because it has them in memory. The request uses COLLOQUY_ADMIN_KEY if
set, otherwise COLLOQUY_APP_KEY for Apps that need a key. Exits with 1 if a session did not exist.`,
    )
    .action(async (ids: readonly string[], { url, json }: SourceOptions) => {
      const [deleted, missing]: [string[], string[]] = [[], []];
      await withRemoval(parts, url, async (remove) => {
        for (const id of ids) ((await remove(id)) ? deleted : missing).push(id);
      });
      if (json === true) printJson(parts, { deleted, absent: missing });
      else for (const id of deleted) printLine(parts, `${id} is deleted.`);
      for (const id of missing) parts.errors.write(`${notFoundMessage(id)}\n`);
      finish(missing.length === 0 ? 0 : 1);
      const service = url === undefined ? localServiceName(await configuration(parts)) : baseUrl(url);
      const threads = new RememberedThreads(threadsFile(parts.environment, homedir()), service);
      for (const id of ids) await threads.forget(id);
    });
}

async function withSessions<Result>(
  parts: CommandParts,
  url: string | undefined,
  work: (source: SessionSource) => Promise<Result>,
): Promise<Result> {
  if (url !== undefined)
    return await atAdminApi(parts, baseUrl(url), (client) => work(servedSessions(client)));
  const { limits } = await configuration(parts);
  return await administer(parts, "existing", (local) => work(storedSessions(local, limits)));
}

/**
 * A single-node server does not notice changes by other processes, so it must delete its sessions itself. Nodes that
 * share a database notice.
 */
async function withRemoval(
  parts: CommandParts,
  url: string | undefined,
  work: (remove: (id: string) => Promise<boolean>) => Promise<void>,
): Promise<void> {
  if (url !== undefined)
    return await atAdminApi(parts, baseUrl(url), (client) => work(servedSessions(client).remove));
  const config = await configuration(parts);
  const isShared = config.backend.plugin.nodes !== undefined;
  const running = isShared ? null : await (await parts.localServices()).findRunning(config);
  if (running === null) {
    return await administer(parts, "existing", (local) => work(storedSessions(local, config.limits).remove));
  }
  if (adminKey(parts) !== "")
    return await atAdminApi(parts, running, (client) => work(servedSessions(client).remove));
  const key = readKey(parts, "COLLOQUY_APP_KEY");
  const client = createClient({ baseUrl: running, ...(key !== "" && { key }) });
  return await work(
    async (id) => (await nullIfNotFound(async () => [await client.deleteThread(id)])) !== null,
  );
}

function notFoundMessage(id: string): string {
  return `Colloquy: There is no session with the id or handle ${id}.`;
}

function parseId(text: string): string {
  const id = parseSessionId(text);
  if (id === null) throw new InvalidArgumentError("It is not a session id.");
  return id;
}

function parseIdOrHandle(text: string): string {
  const named = SessionIdOrHandle.safeParse(text).data;
  if (named === undefined)
    throw new InvalidArgumentError("It is neither the id nor the handle of a session.");
  return named;
}

function parseIds(text: string, before: readonly string[] = []): readonly string[] {
  return [...before, parseId(text)];
}

function parseLimit(text: string): number {
  const limit = Number(text);
  if (/^\d{1,5}$/.test(text) && limit >= 1 && limit <= LISTED_MAX) return limit;
  throw new InvalidArgumentError(`It must be a number from 1 to ${LISTED_MAX}.`);
}
