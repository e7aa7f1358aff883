// The program as a child process with its output and exit status.

import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { BARE_ENVIRONMENT } from "./bare-environment.ts";

const MAIN = join(import.meta.dirname, "../src/main.ts");

export interface Started {
  readonly child: ChildProcessWithoutNullStreams;
  readonly output: () => string;
  readonly errors: () => string;
  /** Resolves with the first match in the output, after this many characters if given. */
  find(pattern: RegExp, after?: number): Promise<RegExpExecArray>;
  exited(): Promise<{ readonly code: number | null; readonly signal: string | null }>;
}

export interface Listening extends Started {
  readonly address: string;
}

/** Starts the program in this directory. */
export function startIn(
  place: string,
  environment: Readonly<Record<string, string>>,
  ...parameters: readonly string[]
): Started {
  return watch(place, environment, [process.execPath, MAIN, ...parameters]);
}

/** Like `startIn`, with a limit of open files. */
export function startWithFiles(place: string, files: number): Started {
  const limited = `ulimit -n ${files}; exec "$0" "$@"`;
  return watch(place, {}, ["sh", "-c", limited, process.execPath, MAIN]);
}

/** Like `startIn`, with another version's main.ts. */
export function startMain(
  main: string,
  place: string,
  environment: Readonly<Record<string, string>>,
  ...parameters: readonly string[]
): Started {
  return watch(place, environment, [process.execPath, main, ...parameters]);
}

function watch(
  place: string,
  environment: Readonly<Record<string, string>>,
  [program = "", ...parameters]: readonly string[],
): Started {
  const child = spawn(program, parameters, {
    cwd: place,
    env: { ...BARE_ENVIRONMENT, PORT: "0", ...environment },
  });
  let output = "";
  let errors = "";
  child.stdout.on("data", (data) => (output += String(data)));
  child.stderr.on("data", (data) => (errors += String(data)));
  const exit = once(child, "close") as Promise<[number | null, string | null]>;
  return {
    child,
    output: () => output,
    errors: () => errors,
    async find(pattern, after = 0) {
      for (;;) {
        const found = pattern.exec(output.slice(after));
        if (found !== null) return found;
        await Promise.race([
          once(child.stdout, "data"),
          exit.then(() =>
            Promise.reject(new Error(`It ended without ${String(pattern)}:\n${output}${errors}`)),
          ),
        ]);
      }
    },
    exited: () => exit.then(([code, signal]) => ({ code, signal })),
  };
}

/** Resolves when the program accepts requests. */
export async function listening(started: Started): Promise<Listening> {
  const [, address = ""] = await started.find(/"address":"([^"]+)"/);
  return { ...started, address };
}

/** Kills it unless it has ended. */
export async function endProcess({ child }: Started): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  child.kill("SIGKILL");
  await once(child, "exit");
}
