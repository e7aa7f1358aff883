// `colloquy dev`: runs the service in a process of its own, and starts it again when its files change. A new
// process reads modules anew, and takes up the conversations where the old one left them.

import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { relative } from "node:path";
import { changedFiles, type FileStamps, stampOf } from "@colloquy/engine/internal/config/file-stamps";

/** Interval of the polls. File-system events are lost on network volumes, and when an editor replaces a file. */
const POLL_MS = 200;
/** Exit code of a service whose configuration is invalid. */
const INVALID = 2;

/** Message of the service to the process that watches: the files that it has read, with their stamps. */
export interface ReadFiles {
  readonly files: readonly (readonly [path: string, stamp: string])[];
}

export interface DevelopmentOptions {
  /** Starts the service, which sends `ReadFiles` once it has read them, unless only the environment is wrong. */
  readonly start: () => ChildProcess;
  readonly workingDirectory: string;
  readonly environmentFile: string;
  /** Calls `stop` for each signal that ends the program. */
  readonly onSignals: (stop: (signal: NodeJS.Signals) => void) => void;
  readonly sleep: (ms: number) => Promise<unknown>;
  readonly say: (text: string) => void;
}

/** Runs until a signal, or until the service ends by itself. Returns the exit code. */
export async function runOnChanges(options: DevelopmentOptions): Promise<number> {
  const { start, workingDirectory, environmentFile, onSignals, sleep, say } = options;
  let isStopping = false;
  let child: ChildProcess;
  onSignals((signal) => {
    isStopping = true;
    child.kill(signal);
  });
  let files: FileStamps = new Map();
  for (;;) {
    // A file that could not be read has not named its imports: watch those of before too.
    const before = [environmentFile, ...files.keys()].map((path) => [path, stampOf(path)] as const);
    let isRead = false;
    child = start().on("message", (message: ReadFiles) => {
      isRead = true;
      files = new Map([...before, ...message.files]);
    });
    const ended = once(child, "exit") as Promise<[number | null]>;
    /** Resolves with `null` when the service has ended, and no change can mend it. */
    const nextChange = async (): Promise<readonly string[] | null> => {
      for (let earlier = ""; ; ) {
        await sleep(POLL_MS);
        const hasEnded = child.exitCode !== null || child.signalCode !== null;
        if (hasEnded && (isStopping || !isRead || child.exitCode !== INVALID)) return null;
        const changed = isRead ? changedFiles(files) : [];
        const now = changed.map((path) => `${path} ${stampOf(path)}`).join("\n");
        // Wait until no program writes to them any more.
        if (changed.length > 0 && now === earlier) return changed;
        earlier = now;
      }
    };
    const changed = await nextChange();
    if (changed === null) return (await ended)[0] ?? 1;
    say(`${changed.map((path) => relative(workingDirectory, path)).join(", ")} changed.`);
    child.kill("SIGTERM");
    await ended;
    if (isStopping) return 0;
  }
}
