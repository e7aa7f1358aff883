// PgBouncer in front of a test's PostgreSQL, on a free loopback port.

import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { chown, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { findFreePort } from "../../torture/harness/server-process.ts";
import { unprivileged } from "../postgres-server.ts";
import { findProgram } from "../programs.ts";

export class PgBouncer {
  readonly port: number;
  readonly #folder: string;
  readonly #process: ChildProcess;

  private constructor(port: number, folder: string, process: ChildProcess) {
    this.port = port;
    this.#folder = folder;
    this.#process = process;
  }

  /** Starts it in front of the server at `serverPort`. `settings` are those of its section `[pgbouncer]`. */
  static async start(
    serverPort: number,
    settings: Readonly<Record<string, string | number>>,
  ): Promise<PgBouncer> {
    const program = await findProgram("pgbouncer");
    if (program === null) throw new Error("There is no PgBouncer here: apt-get install pgbouncer");
    const [folder, port, user] = [
      await mkdtemp(join(tmpdir(), "colloquy-pgbouncer-")),
      await findFreePort(),
      await unprivileged(),
    ];
    const lines = Object.entries({
      listen_addr: "127.0.0.1",
      listen_port: port,
      unix_socket_dir: "",
      auth_type: "trust",
      auth_file: join(folder, "users.txt"),
      ...settings,
    }).map(([name, value]) => `${name} = ${value}`);
    const file = join(folder, "pgbouncer.ini");
    await writeFile(
      file,
      `[databases]\n* = host=127.0.0.1 port=${serverPort}\n[pgbouncer]\n${lines.join("\n")}\n`,
    );
    await writeFile(join(folder, "users.txt"), '"colloquy" ""\n');
    if (user !== null) await chown(folder, user.uid, user.gid);
    const child = spawn(program, [file], { stdio: ["ignore", "ignore", "pipe"], ...user });
    const end = (): void => void child.kill("SIGKILL");
    process.once("exit", end);
    child.once("exit", () => process.off("exit", end));
    const said: string[] = [];
    for await (const line of createInterface(child.stderr)) {
      said.push(line);
      if (line.includes("process up")) break;
    }
    // Drain the output so that it never blocks on it.
    child.stderr.resume();
    if (child.exitCode !== null) throw new Error(`PgBouncer did not start:\n${said.join("\n")}`);
    return new PgBouncer(port, folder, child);
  }

  async stop(): Promise<void> {
    if (this.#process.exitCode === null) {
      const ended = once(this.#process, "exit");
      this.#process.kill("SIGKILL");
      await ended;
    }
    await rm(this.#folder, { recursive: true, force: true });
  }
}
