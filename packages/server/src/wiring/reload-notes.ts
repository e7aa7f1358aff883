// A running service records its reloads in a file of its data directory: `colloquy reload` sends SIGHUP and
// reads the outcome there.

import { randomUUID } from "node:crypto";
import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { ConfigProblem } from "../config/problem.ts";
import { isServed } from "../store/sqlite/inspection.ts";
import { readOwner } from "../store/sqlite/lock.ts";
import { OWNER_ONLY, OWNER_ONLY_FOLDER } from "../store/sqlite/private-files.ts";

export type ReloadOutcome =
  | {
      readonly ok: true;
      /** Sentences about added, removed and changed settings. */
      readonly changes: readonly string[];
      readonly warnings: readonly string[];
    }
  | { readonly ok: false; readonly problems: readonly ConfigProblem[] };

interface Note {
  /** Random id that distinguishes this process from an earlier one with the same process id. */
  readonly run: string;
  /** Number of the last reload that began, counted from 1; 0 before the first. */
  readonly begun: number;
  /** Number of the last reload that ended; 0 before the first. */
  readonly finished: number;
  readonly outcome: ReloadOutcome | null;
}

/** The system calls that a reload from another process needs. */
export interface ReloadHost {
  /** Sends a signal; 0 only checks that the process exists. Throws if it does not. */
  kill(pid: number, signal: "SIGHUP" | 0): unknown;
  sleep(ms: number): Promise<unknown>;
}

const POLL_MS = 50;
/** Maximum time for a starting service to write its first note, in milliseconds. */
const START_MS = 10_000;
/**
 * Maximum time for a reload and one before it, in milliseconds. Loading a configuration file takes up to 15
 * s.
 */
const RELOAD_MS = 60_000;

export class ReloadNotes {
  readonly #path: string;
  #note: Note = { run: randomUUID(), begun: 0, finished: 0, outcome: null };

  /** Writes the first note, and removes the notes of processes that have ended. */
  constructor(dataDirectory: string, pid: number, host: Pick<ReloadHost, "kill">) {
    this.#path = fileOf(dataDirectory, pid);
    ignoringErrors(() => {
      mkdirSync(dataDirectory, { recursive: true, mode: OWNER_ONLY_FOLDER });
      for (const name of readdirSync(dataDirectory)) {
        const other = Number(/^reload-(\d+)\.json(?:\.new)?$/.exec(name)?.[1]);
        if (other > 0 && !isAlive(other, host)) rmSync(join(dataDirectory, name), { force: true });
      }
    });
    this.#write();
  }

  begin(reading: number): void {
    this.#note = { ...this.#note, begun: reading };
    this.#write();
  }

  finish(reading: number, outcome: ReloadOutcome): void {
    this.#note = { ...this.#note, finished: reading, outcome };
    this.#write();
  }

  remove(): void {
    ignoringErrors(() => rmSync(this.#path, { force: true }));
  }

  #write(): void {
    // Continue without the note: only `colloquy reload` needs it, to report the outcome.
    ignoringErrors(() => {
      writeFileSync(`${this.#path}.new`, JSON.stringify(this.#note), { mode: OWNER_ONLY });
      renameSync(`${this.#path}.new`, this.#path);
    });
  }
}

/**
 * Makes a running service reload its configuration. Resolves when a reload that began after this call has
 * ended. Rejects with a user-facing message. If `pid` is `null`, the service is the one that owns the SQLite
 * database of the data directory.
 */
export async function reloadRunning(
  { dataDirectory, pid }: { readonly dataDirectory: string; readonly pid: number | null },
  host: ReloadHost,
): Promise<ReloadOutcome> {
  const id = pid ?? ownerOf(dataDirectory);
  let before = readNote(dataDirectory, id);
  // SIGHUP ends programs that do not handle it, so send it only to a service that records its reloads.
  for (let waited = 0; before === null; waited += POLL_MS) {
    if (!isAlive(id, host) || waited >= START_MS || pid !== null)
      throw new Error(notAService(id, dataDirectory));
    await host.sleep(POLL_MS);
    before = readNote(dataDirectory, id);
  }
  if (!isAlive(id, host)) throw new Error(notAService(id, dataDirectory));
  host.kill(id, "SIGHUP");
  for (let waited = 0; waited < RELOAD_MS; waited += POLL_MS) {
    const note = readNote(dataDirectory, id);
    const since = note?.run === before.run ? before.begun : 0;
    if (note !== null && note.finished > since && note.outcome !== null) return note.outcome;
    if (!isAlive(id, host))
      throw new Error(`The service (process ${id}) ended during the reload. Its log says why.`);
    await host.sleep(POLL_MS);
  }
  throw new Error(
    `The service (process ${id}) has not reloaded within ${RELOAD_MS / 1_000} s. Read its log.`,
  );
}

/** Returns the id of the process that serves the data directory. */
function ownerOf(dataDirectory: string): number {
  const owner = isServed(dataDirectory) ? readOwner(dataDirectory) : null;
  if (owner !== null) return owner;
  throw new Error(
    `No service runs on the data directory ${dataDirectory}. Start one with colloquy serve, or name its directory with --data-dir. A service on PostgreSQL is named by its process id: --pid.`,
  );
}

function notAService(pid: number, dataDirectory: string): string {
  return `Process ${pid} is no service that reloads on the data directory ${dataDirectory}. A colloquy chat reads the configuration when it starts; name another service with --data-dir or --pid.`;
}

function readNote(dataDirectory: string, pid: number): Note | null {
  try {
    return JSON.parse(readFileSync(fileOf(dataDirectory, pid), "utf8")) as Note;
  } catch {
    return null;
  }
}

function fileOf(dataDirectory: string, pid: number): string {
  return join(dataDirectory, `reload-${pid}.json`);
}

function isAlive(pid: number, host: Pick<ReloadHost, "kill">): boolean {
  try {
    host.kill(pid, 0);
    return true;
  } catch (error) {
    // The error is EPERM: the process exists, but belongs to another user.
    return error instanceof Error && "code" in error && error.code === "EPERM";
  }
}

function ignoringErrors(work: () => void): void {
  try {
    work();
  } catch {
    // Ignore the error, because notes are only hints.
  }
}
