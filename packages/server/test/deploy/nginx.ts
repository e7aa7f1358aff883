// nginx with the configuration file of `deploy/`, with the test's ports, addresses and folders filled in.

import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { chmod, mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { findFreePort } from "../../torture/harness/server-process.ts";
import { leaveUnchecked } from "../documented-traffic.ts";
import { findProgram } from "../programs.ts";

const SETTINGS = join(import.meta.dirname, "../../../../deploy/nginx.conf");
/** Temporary folders of nginx; Debian's belong to root. */
const TEMPORARY = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"];

export class Nginx {
  readonly url: string;
  readonly #folder: string;
  readonly #process: ChildProcess;

  private constructor(url: string, folder: string, child: ChildProcess) {
    this.url = url;
    this.#folder = folder;
    this.#process = child;
  }

  /** Starts it in front of three nodes, given as `host:port`. */
  static async start(nodes: readonly [string, string, string]): Promise<Nginx> {
    const places = nodes.map((node, index) => [`server node-${index + 1}:8080 `, `server ${node} `] as const);
    return Nginx.startWith(await readFile(SETTINGS, "utf8"), places);
  }

  /** Starts it with settings from `deploy/`; `places` maps text in them to its replacement. */
  static async startWith(original: string, places: readonly (readonly [string, string])[]): Promise<Nginx> {
    const program = await findProgram("nginx");
    if (program === null) throw new Error("There is no nginx here: apt-get install nginx");
    const folder = await mkdtemp(join(tmpdir(), "colloquy-nginx-"));
    // nginx's workers do not run as root.
    await chmod(folder, 0o755);
    const logs = join(folder, "log");
    await mkdir(logs);
    const port = await findFreePort();
    const temporary = TEMPORARY.map((kind) => `${kind}_temp_path ${join(folder, kind)};`).join("\n");
    const given: readonly (readonly [string, string])[] = [
      ...places,
      ["listen 80 default_server;", `listen 127.0.0.1:${port} default_server;`],
      ["listen 80;", `listen 127.0.0.1:${port};`],
      ["/var/log/nginx/", `${logs}/`],
      ["/run/nginx.pid", join(folder, "nginx.pid")],
      ["worker_processes auto;", "worker_processes 1;"],
      ["http {", `http {\n${temporary}`],
    ];
    const settings = given.reduce((text, [from, to]) => {
      if (!text.includes(from)) throw new Error(`deploy/nginx.conf does not say "${from}"`);
      return text.replaceAll(from, to);
    }, original);
    await writeFile(join(folder, "nginx.conf"), settings);
    const child = spawn(program, ["-p", folder, "-c", join(folder, "nginx.conf"), "-g", "daemon off;"], {
      stdio: "ignore",
    });
    const end = (): void => void child.kill("SIGKILL");
    process.once("exit", end);
    child.once("exit", () => process.off("exit", end));
    const nginx = new Nginx(`http://127.0.0.1:${port}`, folder, child);
    await nginx.#listening(port);
    // A body that it writes to a file fails: bodies have private messages and files.
    for (const kind of TEMPORARY) await chmod(join(folder, kind), 0o500);
    leaveUnchecked(nginx.url);
    return nginx;
  }

  /** Returns all log output. */
  async logged(): Promise<string> {
    const texts = ["access.log", "error.log"].map((name) =>
      readFile(join(this.#folder, "log", name), "utf8"),
    );
    return (await Promise.all(texts)).join("");
  }

  async stop(): Promise<void> {
    if (this.#process.exitCode === null) {
      const ended = once(this.#process, "exit");
      this.#process.kill("SIGTERM");
      await ended;
    }
    await rm(this.#folder, { recursive: true, force: true });
  }

  async #listening(port: number): Promise<void> {
    while (this.#process.exitCode === null) {
      const socket = connect(port, "127.0.0.1");
      const isOpen = await once(socket, "connect").then(
        () => true,
        () => false,
      );
      socket.destroy();
      if (isOpen) return;
    }
    throw new Error(`nginx ended before it listened, with ${this.#process.exitCode}`);
  }
}
