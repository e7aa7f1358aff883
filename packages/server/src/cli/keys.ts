import type { AdminKey, IssuedAdminKey } from "@colloquy/protocol";
import { type Command, InvalidArgumentError, Option } from "commander";
import type { LocalStore } from "../wiring/local-store.ts";
import { KEY_SCOPES, type KeyScope } from "@colloquy/engine/internal/core/key-scopes";
import { InvalidRequest, NoDatabase } from "@colloquy/engine/internal/core/errors";
import {
  administer,
  CommandFailure,
  type CommandParts,
  configuration,
  printJson,
  parseDuration,
  printLine,
  textTable,
} from "./command.ts";

const JSON_OPTION = ["--json", "print one JSON document"] as const;
const NAME_MAX = 100;
const DAY_MS = 24 * 60 * 60_000;

const EXAMPLES = `
Examples:
  colloquy keys create --app defi --name "web site" --expires 90d
  colloquy keys list
  colloquy keys rotate ID --overlap 24h
  colloquy keys revoke ID

Works beside a running server, which applies changes within five seconds.`;

export function addKeysCommand(program: Command, parts: CommandParts): void {
  const keys = program
    .command("keys")
    .description("manage the keys of Apps and operators")
    .addHelpText("after", EXAMPLES);
  addCreate(keys, parts);
  addList(keys, parts);
  addRotate(keys, parts);
  addRevoke(keys, parts);
}

function addCreate(keys: Command, parts: CommandParts): void {
  keys
    .command("create")
    .description("create a key and print it once")
    .option("--app <name>", "App that the key opens; repeat for several", collect)
    .addOption(
      new Option(
        "--scope <name>",
        "what the key may be used for; repeat for several; without it everything in its Apps",
      )
        .choices(KEY_SCOPES)
        .argParser(collectScope),
    )
    .option("--name <text>", "name of the key", parseName)
    .option("--expires <time>", "lifetime, for example 90d; without it the key does not expire", parseLife)
    .option(...JSON_OPTION)
    .addHelpText(
      "after",
      '\nExamples:\n  colloquy keys create --app defi --app games --name "web site" --expires 90d\n  colloquy keys create --scope admin:read --name "Ada"',
    )
    .action(
      async (options: {
        readonly app?: readonly string[];
        readonly scope?: readonly KeyScope[];
        readonly name?: string;
        readonly expires?: number;
        readonly json?: boolean;
      }) => {
        const { app: apps = [], scope: scopes = [], name = null, expires: expiresInMs = null } = options;
        const configured = Object.keys((await configuration(parts)).apps);
        const work = ({ keys: open, actor }: LocalStore) =>
          open(configured).createKey({ apps, scopes, name, expiresInMs }, actor);
        const issued = administer(parts, "made when absent", work);
        printIssued(parts, await issued.catch(asWrongArgument), options.json);
      },
    );
}

function addList(keys: Command, parts: CommandParts): void {
  keys
    .command("list")
    .description("list all keys, valid or not, oldest first")
    .option(...JSON_OPTION)
    .addHelpText("after", "\nExample:\n  colloquy keys list --json")
    .action(async ({ json }: { readonly json?: boolean }) => {
      const listed = await administer(parts, "existing", ({ keys: open }) => open([]).keys(null)).catch(
        (error: unknown) => {
          if (!(error instanceof NoDatabase)) throw error;
          parts.errors.write(`${error.message}\n`);
          return [];
        },
      );
      if (json === true) return printJson(parts, listed);
      if (listed.length === 0)
        return printLine(parts, "There are no keys. Create one with colloquy keys create.");
      for (const line of asTable(listed)) printLine(parts, line);
    });
}

function addRotate(keys: Command, parts: CommandParts): void {
  keys
    .command("rotate <id>")
    .description("create a key for the same Apps, and let the old one expire later")
    .option("--overlap <time>", "how long the old key stays valid, for example 24h", parseDuration, DAY_MS)
    .option(...JSON_OPTION)
    .addHelpText("after", "\nExample:\n  colloquy keys rotate 4fTzq0LkW1nB7xYc --overlap 24h")
    .action(async (id: string, { overlap, json }: { readonly overlap: number; readonly json?: boolean }) => {
      const work = ({ keys: open, actor }: LocalStore) => open([]).rotateKey(id, overlap, actor);
      printIssued(parts, await administer(parts, "existing", work), json);
    });
}

function addRevoke(keys: Command, parts: CommandParts): void {
  keys
    .command("revoke <id>")
    .description("revoke a key")
    .option(...JSON_OPTION)
    .addHelpText("after", "\nExample:\n  colloquy keys revoke 4fTzq0LkW1nB7xYc")
    .action(async (id: string, { json }: { readonly json?: boolean }) => {
      const revoked = await administer(parts, "existing", ({ keys: open, actor }) =>
        open([]).revokeKey(id, actor),
      );
      if (json === true) printJson(parts, revoked);
      else printLine(parts, `The key ${id} is revoked. Running servers refuse it within five seconds.`);
    });
}

function printIssued(parts: CommandParts, issued: IssuedAdminKey, json = false): void {
  if (json) return printJson(parts, issued);
  const { id, apps, scopes, expires_at: expiresAt } = issued;
  const until = expiresAt === null ? "does not expire" : `expires ${expiresAt}`;
  printLine(parts, issued.key);
  const opened = apps.length === 0 ? "the admin API" : apps.join(", ");
  const header = apps.length === 0 ? "Authorization: Bearer" : "SERVICE-APP-KEY";
  parts.errors.write(
    `\nThis is the key ${id}. It opens ${opened} for ${scopes.join(", ")}, and ${until}.\n` +
      `Save it now: it is shown only once. Clients send it in the header ${header}.\n`,
  );
}

function asTable(listed: readonly AdminKey[]): readonly string[] {
  const rows = [
    ["ID", "STATUS", "APPS", "SCOPES", "CREATED", "EXPIRES", "NAME"],
    ...listed.map(({ id, status, apps, scopes, created_at: createdAt, expires_at: expiresAt, name }) => [
      id,
      status,
      apps.join(","),
      scopes.join(","),
      createdAt,
      expiresAt ?? "never",
      name ?? "",
    ]),
  ];
  return textTable(rows);
}

function collect(value: string, before: readonly string[] = []): readonly string[] {
  return [...before, value];
}

function collectScope(value: string, before: readonly KeyScope[] = []): readonly KeyScope[] {
  const scope = KEY_SCOPES.find((name) => name === value);
  if (scope !== undefined) return [...before, scope];
  throw new InvalidArgumentError(`It must be one of ${KEY_SCOPES.join(", ")}.`);
}

function parseName(text: string): string {
  const name = text.trim();
  if (name !== "" && name.length <= NAME_MAX && !/\p{Cc}/u.test(name)) return name;
  throw new InvalidArgumentError(`It must be 1 to ${NAME_MAX} characters without control characters.`);
}

function parseLife(text: string): number {
  const milliseconds = parseDuration(text);
  if (milliseconds > 0) return milliseconds;
  throw new InvalidArgumentError("It must be longer than zero.");
}

function asWrongArgument(error: unknown): never {
  if (error instanceof InvalidRequest) throw new CommandFailure(`Colloquy: ${error.detail}`, 2);
  throw error;
}
