// Processes of the bench: each server and the client are forked from main.ts with a role and controlled over
// Node's IPC channel.

import { fork, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";

/** Handlers of a role, by name. Arguments and results are plain data. */
export type Handlers = Readonly<Record<string, (input: never) => unknown>>;

interface Request {
  readonly id: number;
  readonly name: string;
  readonly input: unknown;
}

interface Reply {
  readonly id: number;
  readonly result?: unknown;
  readonly error?: string;
}

/** A process with a role, seen from its parent. */
export class RoleProcess<Asked extends Handlers> {
  readonly #child: ChildProcess;
  readonly #open = new Map<number, PromiseWithResolvers<unknown>>();
  #last = 0;

  /**
   * `input` is passed to the role at its start. `nodeArguments` are for Node itself, such as `--cpu-prof`.
   */
  constructor(role: string, input: unknown, nodeArguments: readonly string[] = []) {
    this.#child = fork(
      join(import.meta.dirname, "main.ts"),
      ["--role", role, "--input", JSON.stringify(input)],
      {
        execArgv: ["--expose-gc", ...nodeArguments],
        serialization: "advanced",
        stdio: ["ignore", "inherit", "inherit", "ipc"],
      },
    );
    this.#child.on("message", (message) => this.#take(message as Reply));
    this.#child.once("exit", (code) => {
      for (const { reject } of this.#open.values())
        reject(new Error(`The ${role} ended with exit code ${code ?? 0}`));
      this.#open.clear();
    });
  }

  /** Calls a handler; rejects with its error, or when the process ends. */
  async ask<Name extends keyof Asked & string>(
    name: Name,
    ...input: Parameters<Asked[Name]>
  ): Promise<Awaited<ReturnType<Asked[Name]>>> {
    this.#last += 1;
    const answer = Promise.withResolvers<unknown>();
    this.#open.set(this.#last, answer);
    this.#child.send({ id: this.#last, name, input: input[0] } satisfies Request);
    return (await answer.promise) as Awaited<ReturnType<Asked[Name]>>;
  }

  /** Ends the process and waits for its exit. */
  async stop(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const gone = once(this.#child, "exit");
    this.#child.disconnect();
    const timer = setTimeout(() => this.#child.kill("SIGKILL"), 10_000);
    await gone;
    clearTimeout(timer);
  }

  /** Kills the process and waits for its exit. */
  async kill(): Promise<void> {
    const gone = once(this.#child, "exit");
    this.#child.kill("SIGKILL");
    await gone;
  }

  #take({ id, result, error }: Reply): void {
    const answer = this.#open.get(id);
    this.#open.delete(id);
    if (error === undefined) answer?.resolve(result);
    else answer?.reject(new Error(error));
  }
}

/** The child's side: answers calls until the parent disconnects, then calls `onGone` and exits. */
export function serveRole(handlers: Handlers, onGone: () => Promise<void> | void): void {
  process.on("message", (message) => void answer(message as Request, handlers));
  process.once("disconnect", () => {
    void Promise.resolve(onGone()).finally(() => process.exit(0));
  });
}

async function answer({ id, name, input }: Request, handlers: Handlers): Promise<void> {
  try {
    const handler = handlers[name];
    if (handler === undefined) throw new Error(`Unknown request "${name}"`);
    process.send?.({ id, result: await handler(input as never) } satisfies Reply);
  } catch (error) {
    process.send?.({ id, error: error instanceof Error ? (error.stack ?? error.message) : String(error) });
  }
}

/** Returns the memory of this process in bytes after garbage collection. */
export async function memoryAfterGc(): Promise<number> {
  await collectGarbage();
  return process.memoryUsage.rss();
}

/** Returns the bytes of JavaScript objects and buffers in this process after garbage collection. */
export async function heapAfterGc(): Promise<number> {
  await collectGarbage();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

async function collectGarbage(): Promise<void> {
  for (let round = 0; round < 4; round += 1) {
    globalThis.gc?.();
    await new Promise((resolve) => setTimeout(resolve, 150));
  }
}
