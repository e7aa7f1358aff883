// Terminals and pipes for the tests of a file, each test with its own list of conversations.

import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach } from "vitest";
import { BARE_ENVIRONMENT } from "../bare-environment.ts";
import { MAIN, type TerminalOptions, TerminalUser } from "./terminal.ts";

/** The prompt for a message. */
export const PROMPT = /\n>$|^>$/;

export interface Ended {
  readonly code: number;
  readonly output: string;
  readonly errors: string;
}

/** Where the program starts, and with which environment. */
export interface Place {
  readonly directory: string;
  readonly environment: Readonly<Record<string, string>>;
}

export interface Seats {
  /** Starts the program at a terminal. */
  openTerminal(parameters: readonly string[], options?: Partial<TerminalOptions>): TerminalUser;
  /** Runs the program without a terminal. */
  run(parameters: readonly string[], input?: string): Promise<Ended>;
  /** The file with the conversations of this test. */
  threadsFile(): string;
  /** Returns their ids, the newest last. */
  remembered(): Promise<readonly string[]>;
  lastId(): Promise<string>;
}

export function useSeats(place: () => Place): Seats {
  let state = "";
  let users: TerminalUser[] = [];
  beforeEach(async () => void (state = await mkdtemp(join(tmpdir(), "colloquy-state-"))));
  afterEach(async () => {
    for (const user of users) user.kill();
    users = [];
    await rm(state, { recursive: true, force: true, maxRetries: 5 });
  });
  const threadsFile = (): string => join(state, "colloquy/threads.jsonl");
  const remembered = async (): Promise<readonly string[]> => {
    const text = await readFile(threadsFile(), "utf8");
    const ids = text.split("\n").flatMap((line) => /"session_id":"([^"]+)"/.exec(line)?.[1] ?? []);
    return [...new Set(ids)];
  };
  return {
    openTerminal(parameters, options = {}) {
      const { directory, environment } = place();
      const all = { ...environment, ...options.environment };
      const user = new TerminalUser(parameters, { directory, state, ...options, environment: all });
      users.push(user);
      return user;
    },
    run(parameters, input = "") {
      const { directory, environment } = place();
      const env = { ...BARE_ENVIRONMENT, XDG_STATE_HOME: state, ...environment };
      const { promise, resolve } = Promise.withResolvers<Ended>();
      const child = execFile(
        process.execPath,
        [MAIN, ...parameters],
        { cwd: directory, env },
        (error, output, errors) => resolve({ code: error === null ? 0 : Number(error.code), output, errors }),
      );
      child.stdin?.end(input);
      return promise;
    },
    threadsFile,
    remembered,
    lastId: async () => (await remembered()).at(-1) ?? "",
  };
}
