import { type FileHandle, link, open, rm } from "node:fs/promises";
import type { Command } from "commander";
import { parseSessionId } from "@colloquy/protocol";
import { pathFailure } from "../core/path-failure.ts";
import { parsePublicKey } from "../core/wallet.ts";
import { administer, CommandFailure, type CommandParts } from "./command.ts";

interface ExportOptions {
  readonly session?: string;
  readonly wallet?: string;
  readonly out?: string;
}

/** Characters that are written at once. */
const CHUNK = 65_536;
const OWNER_ONLY = 0o600;

export function addExportCommand(program: Command, parts: CommandParts): void {
  program
    .command("export")
    .description("write a session, or all of a wallet, as JSON Lines")
    .option("--session <id>", "the session with this id")
    .option("--wallet <key>", "all sessions that are bound to this wallet")
    .option("--out <file>", "a new file, readable for its owner alone; without it the standard output")
    .addHelpText(
      "after",
      `
Examples:
  colloquy export --session 3c9d2f4e-5a61-4b7c-8d90-a1b2c3d4e5f6 --out session.jsonl
  colloquy export --wallet 0x12ab34cd > wallet.jsonl

Works beside a running server. docs/moving.md explains the lines. Keys and secrets of Apps are never in an export.`,
    )
    .action((options: ExportOptions) => exportWith(parts, options));
}

/** Writes what the options name. */
export async function exportWith(parts: CommandParts, options: ExportOptions): Promise<void> {
  const { what, where } = selectionOf(options);
  const { exportSessions } = await import("../moving/export.ts");
  const out = options.out === undefined ? outputOf(parts) : await fileOf(options.out);
  try {
    const { sessions, lines } = await administer(parts, "existing", (administration) =>
      administration.withTables("beside", (store) => exportSessions(store, where, Date.now(), out.write)),
    );
    if (sessions === 0) throw new CommandFailure(`Colloquy: There is no session ${what}.`);
    await out.end();
    if (options.out !== undefined) {
      parts.errors.write(
        `${sessions === 1 ? "1 session" : `${sessions} sessions`}, ${lines} lines: ${options.out}\n`,
      );
    }
  } finally {
    await out.close();
  }
}

function selectionOf({ session, wallet }: ExportOptions) {
  if ((session === undefined) === (wallet === undefined)) {
    throw new CommandFailure("Colloquy: Say what to export: either --session ID or --wallet KEY.", 2);
  }
  if (session !== undefined) {
    const id = parseSessionId(session);
    if (id === null) throw new CommandFailure(`Colloquy: --session: ${session} is no session id.`, 2);
    return { what: `with the id ${id}`, where: { column: "id", value: id } } as const;
  }
  const key = parsePublicKey(wallet ?? "");
  if (key === null) throw new CommandFailure("Colloquy: --wallet: That is no wallet address.", 2);
  return { what: `bound to the wallet ${key}`, where: { column: "public_key", value: key } } as const;
}

interface Out {
  write(text: string): Promise<void>;
  /** All was written. */
  end(): Promise<void>;
  /** Whether it came to its end or not. */
  close(): Promise<void>;
}

function outputOf({ output }: CommandParts): Out {
  return {
    write: async (text) => {
      output.write(text);
      await Promise.resolve();
    },
    end: () => Promise.resolve(),
    close: () => Promise.resolve(),
  };
}

async function newFile(path: string): Promise<FileHandle> {
  await rm(path, { force: true });
  return await open(path, "wx", OWNER_ONLY);
}

/** A file that is there when all of it is. */
async function fileOf(path: string): Promise<Out> {
  const draft = `${path}.part`;
  const file = await newFile(draft).catch((error: unknown) => {
    const advice = "Name a file in a directory that is there, and that you may write to.";
    throw new CommandFailure(`Colloquy: --out: ${pathFailure(path, error, advice)}`);
  });
  let waiting = "";
  const flush = async (): Promise<void> => {
    await file.writeFile(waiting);
    waiting = "";
  };
  return {
    write: async (text) => {
      waiting += text;
      if (waiting.length >= CHUNK) await flush();
    },
    end: async () => {
      await flush();
      await file.sync();
      try {
        // Unlike a renaming, a link never takes the place of a file that is there.
        await link(draft, path);
      } catch (error) {
        const isThere = error instanceof Error && "code" in error && error.code === "EEXIST";
        if (!isThere) throw error;
        throw new CommandFailure(`Colloquy: ${path} exists. Remove it, or choose another name.`);
      }
    },
    close: async () => {
      await file.close();
      await rm(draft, { force: true });
    },
  };
}
