// Starts the examples of docs/guides/your-server.md as processes in front of a real service.

import { execFile, spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { readFile, writeFile } from "node:fs/promises";
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
  /** Command in the README. Express reads its address from `HOST`, the others from an argument. */
  readonly command: Command;
  /** Command for production. Defaults to `command`. */
  readonly production?: Command;
  /** Build command, which runs once before the first start in production. */
  readonly build?: readonly string[];
  /** Environment variable that enables production mode if set to `production`. */
  readonly marker: "NODE_ENV" | "ENVIRONMENT";
  readonly isMissing: boolean;
}

type Command = (port: string, host?: string) => readonly [program: string, ...parameters: string[]];

const NEXT = join(EXAMPLES, "next/node_modules/next/dist/bin/next");
const NEXT_SCRIPTS = (
  JSON.parse(await readFile(join(EXAMPLES, "next/package.json"), "utf8")) as {
    readonly scripts: Readonly<Record<"dev" | "start", string>>;
  }
).scripts;
/** Runs a script of examples/next without npm. */
const next =
  (script: "dev" | "start"): Command =>
  (port, host) => {
    const [, ...words] = NEXT_SCRIPTS[script].split(" ");
    return [
      process.execPath,
      NEXT,
      ...words,
      "--port",
      port,
      ...(host === undefined ? [] : ["--hostname", host]),
    ];
  };
/** The system's Python: other installations lack the packages that apt installs. */
const PYTHON = "/usr/bin/python3";

export const EXPRESS: Example = {
  name: "express",
  command: () => [process.execPath, "server.ts"],
  marker: "NODE_ENV",
  isMissing: false,
};
export const ALL: readonly Example[] = [
  EXPRESS,
  {
    name: "next",
    command: next("dev"),
    production: next("start"),
    build: [process.execPath, NEXT, "build"],
    marker: "NODE_ENV",
    isMissing: !existsSync(NEXT),
  },
  {
    name: "fastapi",
    // Suppresses stack traces of connections that tests break.
    command: (port, host = "127.0.0.1") => [
      PYTHON,
      "-m",
      "uvicorn",
      "server:app",
      "--host",
      host,
      "--port",
      port,
      "--log-level",
      "critical",
    ],
    marker: "ENVIRONMENT",
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
  const scopes = ["chat", "read", "act_as"].flatMap((scope) => ["--scope", scope]);
  const create = [MAIN, "keys", "create", "--app", "support", "--json", ...scopes];
  const { stdout } = await run(process.execPath, create, {
    cwd: program.directory,
    env: { ...BARE_ENVIRONMENT, ...program.environment },
  });
  return { program, key: (JSON.parse(stdout) as { key: string }).key };
}

/** Writes a `users.json` whose users are not marked as demo users. Returns its path. */
export async function writeOwnUsers(directory: string): Promise<string> {
  const demo = await readFile(join(EXAMPLES, "express/users.json"), "utf8");
  const users = JSON.parse(demo) as Record<string, object>;
  const own = Object.entries(users).map(([name, user]) => [name, { ...user, demo: undefined }]);
  const path = join(directory, "own-users.json");
  await writeFile(path, JSON.stringify(Object.fromEntries(own)));
  return path;
}

export interface Start {
  /** True to build the example first, and to run it in production mode. */
  readonly isProduction?: boolean;
  readonly host?: string;
  readonly environment?: Readonly<Record<string, string>>;
}

/** Runs an example in front of the service. */
export class YourServer {
  readonly url: string;
  static readonly #built = new Set<Example>();
  readonly #process: ChildProcess;

  private constructor(url: string, child: ChildProcess) {
    this.url = url;
    this.#process = child;
  }

  static async start(
    example: Example,
    colloquy: Program,
    key: string,
    { isProduction = false, host, environment }: Start = {},
  ): Promise<YourServer> {
    const port = String(await findFreePort());
    const cwd = join(EXAMPLES, example.name);
    const env = {
      ...BARE_ENVIRONMENT,
      COLLOQUY_URL: colloquy.url,
      COLLOQUY_KEY: key,
      SESSION_SECRET,
      NEXT_TELEMETRY_DISABLED: "1",
      PORT: port,
      ...(host !== undefined && { HOST: host }),
      ...(isProduction && { [example.marker]: "production" }),
      ...environment,
    };
    const [builder, ...steps] = isProduction ? (example.build ?? []) : [];
    if (builder !== undefined && !YourServer.#built.has(example)) {
      await run(builder, steps, { cwd, env });
      YourServer.#built.add(example);
    }
    const command = (isProduction && example.production) || example.command;
    const [program, ...parameters] = command(port, host);
    const child = spawn(program, parameters, {
      cwd,
      env,
      stdio: ["ignore", "ignore", "inherit"],
      detached: true,
    });
    const server = new YourServer(`http://${host ?? "127.0.0.1"}:${port}`, child);
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
    // Kill the process group: Next's development server is a child process.
    if (this.#process.pid !== undefined) process.kill(-this.#process.pid, "SIGKILL");
    await ended;
  }
}
