// The conversations that were held from this machine's command line, so that they can be found again. Their ids are capabilities: the file
// is for its owner alone. One line a change, appended at once, so that several terminals do not overwrite each other.

import { type FileHandle, mkdir, open, readFile, rename, rm, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { z } from "zod";
import type { Environment } from "../../config/environment.ts";
import { CommandFailure } from "../command.ts";
import { pathFailure } from "../../core/path-failure.ts";

const RememberedThread = z.object({
  /** Which service it is on. */
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
/** Beyond so many lines the file is written anew, with this many threads. */
const LONGEST = 2_000;
const KEPT = 500;
/** Milliseconds after which nobody writes a draft any more. */
const LEFT_BEHIND_MS = 60_000;

/** `$XDG_STATE_HOME/colloquy/threads.jsonl` (XDG Base Directory Specification), `~/.local/state` where that is not set. */
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

  /** Those of a service, the newest first. A file that cannot be read, or lines that make no sense, are no threads. */
  async list(service: string): Promise<readonly RememberedThread[]> {
    const all = latest(await this.#lines());
    return all.filter((thread) => thread.service === service).toReversed();
  }

  /** Rejects with a `CommandFailure` when it cannot be written. */
  async remember(thread: RememberedThread): Promise<void> {
    try {
      await mkdir(dirname(this.#path), { recursive: true, mode: OWNER_ONLY_FOLDER });
      await this.#append(asLine(thread));
      await this.#shorten();
    } catch (error) {
      const advice = "Threads are not remembered without it: choose another directory with XDG_STATE_HOME.";
      throw new CommandFailure(pathFailure(this.#path, error, advice));
    }
  }

  /** It does not exist any more. Rejects like `remember`. */
  async forget(service: string, id: string): Promise<void> {
    const thread = (await this.list(service)).find(({ session_id }) => session_id === id);
    if (thread !== undefined) await this.remember({ ...thread, forgotten: true });
  }

  /** Again where the file was written anew meanwhile, by somebody who may not have seen this. */
  async #append(line: string): Promise<void> {
    let isThere = false;
    while (!isThere) {
      const file = await open(this.#path, "a", OWNER_ONLY);
      try {
        await file.chmod(OWNER_ONLY);
        await file.appendFile(line);
        const [written, named] = await Promise.all([file.stat(), stat(this.#path)]);
        isThere = written.ino === named.ino;
      } finally {
        await file.close();
      }
    }
  }

  async #lines(): Promise<readonly RememberedThread[]> {
    return parsed(await readFile(this.#path, "utf8").catch(() => ""));
  }

  /** The draft is its lock: one process at a time writes the file anew. */
  async #shorten(): Promise<void> {
    if ((await this.#lines()).length <= LONGEST) return;
    const draft = `${this.#path}.new`;
    const writing = await openNew(draft);
    if (writing === null) return;
    try {
      await this.#writeAnew(writing, draft);
    } catch (error) {
      await rm(draft, { force: true });
      throw error;
    } finally {
      await writing.close();
    }
  }

  async #writeAnew(writing: FileHandle, draft: string): Promise<void> {
    const old = await open(this.#path, "r");
    try {
      // By the same handle, which goes on where it has stopped.
      const read = await old.readFile("utf8");
      await writing.writeFile(latest(parsed(read)).slice(-KEPT).map(asLine).join(""));
      await rename(draft, this.#path);
      // What others have added until then; whoever adds later sees that the file is another one.
      const more = await old.readFile("utf8");
      if (more !== "") await this.#append(more);
    } finally {
      await old.close();
    }
  }
}

/** A file that is not there yet; `null` where it is, unless it was left behind long ago. */
async function openNew(path: string): Promise<FileHandle | null> {
  try {
    return await open(path, "wx", OWNER_ONLY);
  } catch (error) {
    if (!(error instanceof Error && "code" in error && error.code === "EEXIST")) throw error;
  }
  const since = await stat(path).then(({ mtimeMs }) => mtimeMs, Date.now);
  if (Date.now() - since > LEFT_BEHIND_MS) await rm(path, { force: true });
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

/** One for each id, in the order of their last change. */
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
