import { link, open, rm } from "node:fs/promises";
import type { Command } from "commander";
import { parseSessionId } from "@colloquy/protocol";
import { describeFileError } from "@colloquy/engine/internal/core/file-error";
import { parsePublicKey } from "@colloquy/engine/internal/core/user-state";
import { administer, CommandFailure, type CommandParts } from "./command.ts";

interface ExportOptions {
  readonly session?: string;
  readonly wallet?: string;
  readonly out?: string;
}

/** Characters buffered before a write. */
const CHUNK = 65_536;
const OWNER_ONLY = 0o600;

export function addExportCommand(program: Command, parts: CommandParts): void {
  program
    .command("export")
    .description("export a session, or all sessions of a wallet, as JSON Lines")
    .option("--session <id>", "the session with this id")
    .option("--wallet <key>", "all sessions that are bound to this wallet")
    .option("--out <file>", "write to a new file that only its owner can read, instead of standard output")
    .addHelpText(
      "after",
      `
Examples:
  colloquy export --session 3c9d2f4e-5a61-4b7c-8d90-a1b2c3d4e5f6 --out session.jsonl
  colloquy export --wallet 0x12ab34cd > wallet.jsonl

Works beside a running server. docs/moving.md explains the format. Exports never contain keys or secrets of Apps.`,
    )
    .action((options: ExportOptions) => exportWith(parts, options));
}

/** Exports the sessions that the options select. */
export async function exportWith(parts: CommandParts, options: ExportOptions): Promise<void> {
  const { what, where } = selectionOf(options);
  const { exportSessions } = await import("../moving/export.ts");
  const out = await outOf(parts, options.out);
  try {
    const { sessions, lines } = await administer(parts, "existing", (local) =>
      local.withFiles((files) =>
        local.withTables("beside", (store) =>
          exportSessions(store, where, Date.now(), { files, write: out.write }),
        ),
      ),
    );
    if (sessions === 0) throw new CommandFailure(`Colloquy: There is no session ${what}.`);
    await out.end?.();
    if (options.out !== undefined) {
      parts.errors.write(
        `${sessions === 1 ? "1 session" : `${sessions} sessions`}, ${lines} lines: ${options.out}\n`,
      );
    }
  } finally {
    await out.close?.();
  }
}

function selectionOf({ session, wallet }: ExportOptions) {
  if ((session === undefined) === (wallet === undefined)) {
    throw new CommandFailure("Colloquy: Choose what to export: either --session ID or --wallet KEY.", 2);
  }
  if (session !== undefined) {
    const id = parseSessionId(session);
    if (id === null) throw new CommandFailure(`Colloquy: --session: ${session} is not a session id.`, 2);
    return { what: `with the id ${id}`, where: { column: "id", value: id } } as const;
  }
  const key = parsePublicKey(wallet ?? "");
  if (key === null) throw new CommandFailure("Colloquy: --wallet: That is not a wallet address.", 2);
  return { what: `bound to the wallet ${key}`, where: { column: "public_key", value: key } } as const;
}

/** Opens a new file, or standard output without a path. */
export async function outOf({ output }: CommandParts, path: string | undefined): Promise<Out> {
  if (path !== undefined) return await fileOf(path);
  return {
    write: (text) => {
      output.write(text);
      return Promise.resolve();
    },
  };
}

interface Out {
  write(text: string): Promise<void>;
  /** Completes the output. */
  end?(): Promise<void>;
  /** Releases resources; called whether or not the export succeeded. */
  close?(): Promise<void>;
}

/** Opens a file that appears under its name only when it is complete. */
async function fileOf(path: string): Promise<Out> {
  const temporary = `${path}.part`;
  const removed = rm(temporary, { force: true });
  const opened = removed.then(() => open(temporary, "wx", OWNER_ONLY));
  const file = await opened.catch((error: unknown) => {
    const advice = "Name a file in an existing directory that you can write to.";
    throw new CommandFailure(`Colloquy: --out: ${describeFileError(path, error, advice)}`);
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
        // Unlike rename, link never replaces an existing file.
        await link(temporary, path);
      } catch (error) {
        const exists = error instanceof Error && "code" in error && error.code === "EEXIST";
        if (!exists) throw error;
        throw new CommandFailure(`Colloquy: ${path} exists. Remove it, or choose another name.`);
      }
    },
    close: async () => {
      await file.close();
      await rm(temporary, { force: true });
    },
  };
}
