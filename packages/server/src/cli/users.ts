import type { Person } from "@colloquy/client/admin";
import { type Command } from "commander";
import { serviceUrl, atAdminApi } from "./admin-api.ts";
import { CommandFailure, type CommandParts, printJson, printLine } from "./command.ts";
import { addEraseAgain } from "./erase-again.ts";
import { outOf } from "./export.ts";

interface PersonOptions {
  readonly issuer?: string;
  readonly subject?: string;
  readonly wallet?: string;
  readonly app?: string;
  readonly url?: string;
}

const EXAMPLE = "--issuer https://login.example.com --subject alice";
/** Maximum length of the last line of an export. */
const LAST_LINE = 200;

export function addUsersCommand(program: Command, parts: CommandParts): void {
  const users = program
    .command("users")
    .description("export or erase the data of a user or a wallet")
    .addHelpText(
      "after",
      `
Examples:
  colloquy users export ${EXAMPLE} --out alice.jsonl
  colloquy users erase --wallet 0x52908400098527886e0f7030069857d2e4169ee7

Asks the running service, with the key in the environment variable COLLOQUY_ADMIN_KEY.`,
    );
  withPerson(users.command("export").description("export conversations as JSON Lines"))
    .option("--out <file>", "write to a new file that only its owner can read, instead of standard output")
    .addHelpText("after", `\nExample:\n  colloquy users export ${EXAMPLE} --out alice.jsonl`)
    .action((options: PersonOptions & { readonly out?: string }) => exportPerson(parts, options));
  withPerson(users.command("erase").description("permanently delete conversations and secrets"))
    .option("--json", "print one JSON document: { sessions, messages, secrets }")
    .addHelpText("after", `\nExample:\n  colloquy users erase ${EXAMPLE} --app shop`)
    .action(async ({ json, ...options }: PersonOptions & { readonly json?: boolean }) => {
      const who = personOf(options);
      const erased = await atAdminApi(parts, await serviceUrl(parts, options.url), (client) =>
        client.eraseUser(who),
      );
      if (json === true) return printJson(parts, erased);
      const { sessions, messages, secrets } = erased;
      printLine(parts, `Erased: ${sessions} sessions with ${messages} messages, and ${secrets} secrets.`);
    });
  addEraseAgain(users, parts);
}

function withPerson(command: Command): Command {
  return command
    .option("--issuer <url>", "issuer of the user's tokens (iss), with --subject")
    .option("--subject <id>", "subject of the user's tokens (sub)")
    .option("--wallet <address>", "wallet address, in place of --issuer and --subject")
    .option("--app <name>", "only in this App; in all without it")
    .option("--url <url>", "URL of a remote service, in place of the one that runs here");
}

async function exportPerson(parts: CommandParts, options: PersonOptions & { readonly out?: string }) {
  const who = personOf(options);
  const url = await serviceUrl(parts, options.url);
  const out = await outOf(parts, options.out);
  try {
    await atAdminApi(parts, url, async (client) => {
      const body = await client.exportUser(who);
      const decoder = new TextDecoder();
      let end = "";
      for await (const bytes of body ?? []) {
        const text = decoder.decode(bytes, { stream: true });
        end = (end + text).slice(-LAST_LINE);
        await out.write(text);
      }
      if (!end.trimEnd().split("\n").at(-1)?.startsWith('{"kind":"done"'))
        throw new CommandFailure("Colloquy: The export was cut off. Run the command again.");
    });
    await out.end?.();
  } finally {
    await out.close?.();
  }
}

function personOf({ issuer, subject, wallet, app }: PersonOptions): Person {
  const where = app === undefined ? {} : { app };
  if (wallet !== undefined && issuer === undefined && subject === undefined)
    return { ...where, publicKey: wallet };
  if (wallet === undefined && issuer !== undefined && subject !== undefined)
    return { ...where, issuer, subject };
  throw new CommandFailure(
    "Colloquy: Name the user or wallet: --issuer URL with --subject ID, or --wallet ADDRESS.",
    2,
  );
}
