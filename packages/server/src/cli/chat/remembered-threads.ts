// Remembers the conversations of this machine's command line. Their ids are capabilities, so only the owner can read the
// file. Each change is one appended line, so that several terminals do not overwrite each other.

import { type FileHandle, mkdir, open, readFile, rename, rm, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { z } from "zod";
import type { Environment } from "../../config/secret-variable.ts";
import { CommandFailure } from "../command.ts";
import { pathFailure } from "../../core/path-failure.ts";

const RememberedThread = z.object({
  /** Name of its service. */
  service: z.string(),
  session_id: z.string(),
  title: z.string(),
  app: z.string(),
  /** ISO 8601. */
  at: z.string(),
  forgotten: z.literal(true).optional(),
});
export type RememberedThread = z.infer<typeof RememberedThread>;

const OWNER_ONLY = 0o600;
const OWNER_ONLY_FOLDER = 0o700;
/** Above this number of lines the file is compacted to the latest `KEPT_THREADS` threads. */
const MAX_LINES = 2_000;
const KEPT_THREADS = 500;
/** Age in milliseconds after which a temporary file counts as abandoned. */
const STALE_MS = 60_000;

/** `$XDG_STATE_HOME/colloquy/threads.jsonl` (XDG Base Directory Specification), or under `~/.local/state` if that is not set. */
export function threadsFile(environment: Environment, homeDirectory: string): string {
  const given = environment["XDG_STATE_HOME"] ?? "";
  const state = given.startsWith("/") ? given : join(homeDirectory, ".local", "state");
  return join(state, "colloquy", "threads.jsonl");
}

export class RememberedThreads {
  readonly #path: string;

  constructor(path: string) {
    this.#path = path;
  }

  /** Returns the threads of a service, newest first. Ignores an unreadable file and invalid lines. */
  async list(service: string): Promise<readonly RememberedThread[]> {
    const all = latest(await this.#lines());
    return all.filter((thread) => thread.service === service).toReversed();
  }

  /** Rejects with a `CommandFailure` if the file cannot be written. */
  async remember(thread: RememberedThread): Promise<void> {
    try {
      await mkdir(dirname(this.#path), { recursive: true, mode: OWNER_ONLY_FOLDER });
      await this.#append(asLine(thread));
      await this.#compactIfLong();
    } catch (error) {
      const advice = "Threads cannot be remembered. Choose another directory with XDG_STATE_HOME.";
      throw new CommandFailure(pathFailure(this.#path, error, advice));
    }
  }

  /** Removes a deleted thread. Rejects like `remember`. */
  async forget(service: string, id: string): Promise<void> {
    const thread = (await this.list(service)).find(({ session_id }) => session_id === id);
    if (thread !== undefined) await this.remember({ ...thread, forgotten: true });
  }

  /** Appends again if another process replaced the file meanwhile and may have missed the line. */
  async #append(line: string): Promise<void> {
    let isWritten = false;
    while (!isWritten) {
      const file = await open(this.#path, "a", OWNER_ONLY);
      try {
        await file.chmod(OWNER_ONLY);
        await file.appendFile(line);
        const [written, named] = await Promise.all([file.stat(), stat(this.#path)]);
        isWritten = written.ino === named.ino;
      } finally {
        await file.close();
      }
    }
  }

  async #lines(): Promise<readonly RememberedThread[]> {
    return parsed(await readFile(this.#path, "utf8").catch(() => ""));
  }

  /** The temporary file serves as the lock: only one process at a time compacts. */
  async #compactIfLong(): Promise<void> {
    if ((await this.#lines()).length <= MAX_LINES) return;
    const temporary = `${this.#path}.new`;
    const writing = await openNew(temporary);
    if (writing === null) return;
    try {
      await this.#compact(writing, temporary);
    } catch (error) {
      await rm(temporary, { force: true });
      throw error;
    } finally {
      await writing.close();
    }
  }

  async #compact(writing: FileHandle, temporary: string): Promise<void> {
    const old = await open(this.#path, "r");
    try {
      // Keep the handle: a second read continues where the first one ended.
      const read = await old.readFile("utf8");
      await writing.writeFile(latest(parsed(read)).slice(-KEPT_THREADS).map(asLine).join(""));
      await rename(temporary, this.#path);
      // Carry over lines that others appended before the rename. Later writers notice the new inode.
      const more = await old.readFile("utf8");
      if (more !== "") await this.#append(more);
    } finally {
      await old.close();
    }
  }
}

/** Creates a file exclusively. Returns `null` if it exists, and removes it if it is stale. */
async function openNew(path: string): Promise<FileHandle | null> {
  try {
    return await open(path, "wx", OWNER_ONLY);
  } catch (error) {
    if (!(error instanceof Error && "code" in error && error.code === "EEXIST")) throw error;
  }
  const since = await stat(path).then(({ mtimeMs }) => mtimeMs, Date.now);
  if (Date.now() - since > STALE_MS) await rm(path, { force: true });
  return null;
}

function asLine(thread: RememberedThread): string {
  return `${JSON.stringify(thread)}\n`;
}

function parsed(text: string): readonly RememberedThread[] {
  return text.split("\n").flatMap((line) => {
    const thread = RememberedThread.safeParse(parseJson(line));
    return thread.success ? [thread.data] : [];
  });
}

/** Returns the last line of each thread, in the order of these lines. */
function latest(lines: readonly RememberedThread[]): readonly RememberedThread[] {
  const threads = new Map<string, RememberedThread>();
  for (const thread of lines) {
    const key = `${thread.service} ${thread.session_id}`;
    threads.delete(key);
    if (thread.forgotten === undefined) threads.set(key, thread);
  }
  return [...threads.values()];
}

function parseJson(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return null;
  }
}
