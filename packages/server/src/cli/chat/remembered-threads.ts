// Remembers the conversations of this machine's command line. Their ids are capabilities, so only the owner can read the
// file. Each change is one appended line, so that several terminals do not overwrite each other. The file only grows:
// a thousand conversations take about half a megabyte.

import { mkdir, open, readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { Snapshot } from "@colloquy/protocol";
import { z } from "zod";
import type { Environment } from "@colloquy/engine/internal/config/secret-variable";
import { describeFileError } from "@colloquy/engine/internal/core/file-error";
import { CommandFailure } from "../command.ts";

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
type Conversation = Pick<Snapshot, "session_id" | "title" | "app" | "messages">;

const OWNER_ONLY = 0o600;
const OWNER_ONLY_FOLDER = 0o700;

/** `$XDG_STATE_HOME/colloquy/threads.jsonl` (XDG Base Directory Specification), or under `~/.local/state` if that is not set. */
export function threadsFile(environment: Environment, homeDirectory: string): string {
  const given = environment["XDG_STATE_HOME"] ?? "";
  const state = given.startsWith("/") ? given : join(homeDirectory, ".local", "state");
  return join(state, "colloquy", "threads.jsonl");
}

export class RememberedThreads {
  readonly #path: string;
  readonly #service: string;

  constructor(path: string, service: string) {
    this.#path = path;
    this.#service = service;
  }

  /** Returns the threads of the service, newest first. Ignores an unreadable file and invalid lines. */
  async list(): Promise<readonly RememberedThread[]> {
    const text = await readFile(this.#path, "utf8").catch(() => "");
    return latest(parsed(text))
      .filter(({ service }) => service === this.#service)
      .toReversed();
  }

  /** Adds a conversation under its current title; skips an empty one. Rejects with a `CommandFailure` if the file cannot be written. */
  async remember({ session_id, title, app, messages }: Conversation): Promise<void> {
    if (messages.length === 0) return;
    await this.#append({ service: this.#service, session_id, title, app, at: new Date().toISOString() });
  }

  /** Removes a deleted thread. Rejects like `remember`. */
  async forget(id: string): Promise<void> {
    const thread = (await this.list()).find(({ session_id }) => session_id === id);
    if (thread !== undefined) await this.#append({ ...thread, forgotten: true });
  }

  async #append(thread: RememberedThread): Promise<void> {
    try {
      await mkdir(dirname(this.#path), { recursive: true, mode: OWNER_ONLY_FOLDER });
      const file = await open(this.#path, "a", OWNER_ONLY);
      try {
        await file.chmod(OWNER_ONLY);
        await file.appendFile(`${JSON.stringify(thread)}\n`);
      } finally {
        await file.close();
      }
    } catch (error) {
      const advice = "Threads cannot be remembered. Choose another directory with XDG_STATE_HOME.";
      throw new CommandFailure(describeFileError(this.#path, error, advice));
    }
  }
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
