// The examples of "page → your server → Colloquy" (docs/guides/your-server.md), each as a process in front of a real service.

import { execFile, spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { findFreePort } from "../../torture/harness/server-process.ts";
import { BARE_ENVIRONMENT } from "../bare-environment.ts";
import { Program } from "../black-box/server.ts";

const run = promisify(execFile);
const EXAMPLES = join(import.meta.dirname, "../../../../examples");
const MAIN = join(import.meta.dirname, "../../src/main.ts");
/** Signs the login cookies of all examples. */
export const SESSION_SECRET = "a-secret-of-the-tests-with-32-characters";

export interface Example {
  readonly name: string;
  readonly command: (port: string) => readonly [program: string, ...parameters: string[]];
  /** Runs once, before the first start. */
  readonly build?: readonly string[];
  readonly isMissing: boolean;
}

const NEXT = join(EXAMPLES, "next/node_modules/next/dist/bin/next");
/** Debian's, for which its packages are. */
const PYTHON = "/usr/bin/python3";

export const EXPRESS: Example = {
  name: "express",
  command: () => [process.execPath, "server.ts"],
  isMissing: false,
};
export const ALL: readonly Example[] = [
  EXPRESS,
  {
    name: "next",
    command: (port) => [process.execPath, NEXT, "start", "--port", port],
    build: [process.execPath, NEXT, "build"],
    isMissing: !existsSync(NEXT),
  },
  {
    name: "fastapi",
    // Without the stack traces of connections that a test breaks.
    command: (port) => [PYTHON, "-m", "uvicorn", "server:app", "--port", port, "--log-level", "critical"],
    isMissing: await run(PYTHON, ["-c", "import fastapi, uvicorn, httpx"]).then(
      () => false,
      () => true,
    ),
  },
];

/** Starts the service that the guide configures, public, with approvals. */
export async function startColloquy(): Promise<{ readonly program: Program; readonly key: string }> {
  const support = {
    models: ["demo/assistant"],
    tools: ["calculator"],
    approvals: { calculator: "always" },
    requireKey: "all",
  };
  const program = await Program.start({ apps: { support } }, { COLLOQUY_TRUSTED_PROXIES: "127.0.0.1" });
  const { stdout } = await run(process.execPath, [MAIN, "keys", "create", "--app", "support", "--json"], {
    cwd: program.directory,
    env: { ...BARE_ENVIRONMENT, ...program.environment },
  });
  return { program, key: (JSON.parse(stdout) as { key: string }).key };
}

/** Runs an example in front of the service. */
export class YourServer {
  readonly url: string;
  readonly #process: ChildProcess;

  private constructor(url: string, child: ChildProcess) {
    this.url = url;
    this.#process = child;
  }

  static async start(example: Example, colloquy: Program, key: string): Promise<YourServer> {
    const port = String(await findFreePort());
    const cwd = join(EXAMPLES, example.name);
    const env = {
      ...BARE_ENVIRONMENT,
      COLLOQUY_URL: colloquy.url,
      COLLOQUY_KEY: key,
      SESSION_SECRET,
      NEXT_TELEMETRY_DISABLED: "1",
      CONVERSATIONS_FILE: join(colloquy.directory, `${example.name}.db`),
      PORT: port,
    };
    const [builder, ...steps] = example.build ?? [];
    if (builder !== undefined) await run(builder, steps, { cwd, env });
    const [program, ...parameters] = example.command(port);
    const child = spawn(program, parameters, { cwd, env, stdio: ["ignore", "ignore", "inherit"] });
    const server = new YourServer(`http://127.0.0.1:${port}`, child);
    while (!(await server.#isReady())) {
      if (child.exitCode !== null) throw new Error(`examples/${example.name} ended with ${child.exitCode}`);
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    return server;
  }

  async #isReady(): Promise<boolean> {
    return await fetch(`${this.url}/api/sessions`).then(
      ({ status }) => status === 401,
      () => false,
    );
  }

  async stop(): Promise<void> {
    if (this.#process.exitCode !== null || this.#process.signalCode !== null) return;
    const ended = once(this.#process, "exit");
    this.#process.kill("SIGKILL");
    await ended;
  }
}
