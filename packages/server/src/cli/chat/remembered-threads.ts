// The conversations that were held from this machine's command line, so that they can be found again. Their ids are capabilities: the file
// is for its owner alone. One line a change, appended at once, so that several terminals do not overwrite each other.

import { appendFile, chmod, mkdir, readFile, rename, writeFile } from "node:fs/promises";
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
      await appendFile(this.#path, `${JSON.stringify(thread)}\n`, { mode: OWNER_ONLY });
      await chmod(this.#path, OWNER_ONLY);
      await this.#shorten();
    } catch (error) {
      const advice = "Threads are not remembered without it: choose another directory with XDG_STATE_HOME.";
      throw new CommandFailure(pathFailure(this.#path, error, advice));
    }
  }

  async #lines(): Promise<readonly RememberedThread[]> {
    const text = await readFile(this.#path, "utf8").catch(() => "");
    return text.split("\n").flatMap((line) => {
      const parsed = RememberedThread.safeParse(parseJson(line));
      return parsed.success ? [parsed.data] : [];
    });
  }

  async #shorten(): Promise<void> {
    const lines = await this.#lines();
    if (lines.length <= LONGEST) return;
    const draft = `${this.#path}.new`;
    const kept = latest(lines).slice(-KEPT);
    await writeFile(draft, kept.map((thread) => `${JSON.stringify(thread)}\n`).join(""), {
      mode: OWNER_ONLY,
    });
    await rename(draft, this.#path);
  }
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
