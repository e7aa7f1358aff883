// `colloquy users erase-again`: repeats erasures after a restore. A backup contains users who were erased
// after it was taken; the log names them.

import { createReadStream } from "node:fs";
import { createInterface } from "node:readline";
import type { Person } from "@colloquy/client/admin";
import { type Command } from "commander";
import { z } from "zod";
import { describeFileError } from "@colloquy/engine/internal/core/file-error";
import { serviceUrl, atAdminApi } from "./admin-api.ts";
import { CommandFailure, type CommandParts, printLine } from "./command.ts";

/** A log line of an erasure. */
const ErasureLine = z.object({
  erased: z.object({
    at: z.iso.datetime(),
    owner: z.string().nullable(),
    public_key: z.string().nullable(),
    app: z.string().nullable(),
  }),
});

interface EraseAgainOptions {
  readonly since: string;
  readonly url?: string;
}

const EXAMPLE = "colloquy users erase-again colloquy.log --since 2026-11-20T03:00:00Z";

export function addEraseAgain(users: Command, parts: CommandParts): void {
  users
    .command("erase-again")
    .description("after a restore: erase the users whose erasure is in a log")
    .argument(
      "<log>",
      "log of the service, JSON Lines, also with prefixes; lines without an erasure are skipped",
    )
    .requiredOption("--since <time>", "when the backup was taken (ISO 8601)")
    .option("--url <url>", "URL of a remote service, in place of the one that runs here")
    .addHelpText("after", `\nExample:\n  ${EXAMPLE}`)
    .action(async (log: string, options: EraseAgainOptions) => {
      const people = await erasedSince(log, timeOf(options.since));
      const url = await serviceUrl(parts, options.url);
      let sessions = 0;
      await atAdminApi(parts, url, async (client) => {
        for (const person of people) sessions += (await client.eraseUser(person)).sessions;
      });
      printLine(parts, `Erased again: ${people.length} users or wallets, with ${sessions} sessions.`);
    });
}

function timeOf(text: string): number {
  const time = Date.parse(text);
  if (Number.isNaN(time))
    throw new CommandFailure(`Colloquy: --since: ${text} is not a time such as 2026-11-20T03:00:00Z.`, 2);
  return time;
}

/** Returns the users and wallets that the log reports as erased since then, without duplicates. */
async function erasedSince(log: string, since: number): Promise<readonly Person[]> {
  const people = new Map<string, Person>();
  try {
    let number = 0;
    for await (const line of createInterface({
      input: createReadStream(log),
      crlfDelay: Number.POSITIVE_INFINITY,
    })) {
      number += 1;
      if (line.includes('\\"erased\\":'))
        throw new CommandFailure(
          `Colloquy: Line ${number} of ${log} has a line of the service inside JSON. Print the log with docker compose logs or journalctl --output=cat.`,
        );
      if (!line.includes('"erased":')) continue;
      const erased = ErasureLine.safeParse(jsonOf(line, `Line ${number} of ${log}`)).data?.erased;
      if (erased === undefined || Date.parse(erased.at) < since) continue;
      const { at: _at, owner, public_key: publicKey, app } = erased;
      const where = app === null ? {} : { app };
      if (owner !== null) people.set(`${owner} ${app}`, { owner, ...where });
      else if (publicKey !== null) people.set(`${publicKey} ${app}`, { publicKey, ...where });
    }
  } catch (error) {
    if (error instanceof CommandFailure) throw error;
    throw new CommandFailure(`Colloquy: ${describeFileError(log, error, "Name the log of the service.")}`);
  }
  return [...people.values()];
}

/** Parses a line, which may begin with a time or the name of a container. */
function jsonOf(line: string, place: string): unknown {
  try {
    return JSON.parse(line.slice(line.indexOf("{")));
  } catch {
    throw new CommandFailure(
      `Colloquy: ${place} reports an erasure, but is not JSON. Get the log again without truncated lines.`,
    );
  }
}
