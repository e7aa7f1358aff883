// Images cannot be built everywhere, so this test performs each instruction itself.

import { execFile, spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { chmod, copyFile, cp, mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join, matchesGlob, relative } from "node:path";
import { createInterface } from "node:readline";
import { promisify } from "node:util";
import { validate } from "dockerfile-utils";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { installedMegabytes, MOST_MEGABYTES } from "../../../../test/installations.ts";
import { expectSnapshot, newSession, send } from "../black-box/client.ts";
import { findFreePort } from "../../torture/harness/server-process.ts";
import { findProgram, isWithout } from "../programs.ts";
import {
  commandOf,
  dockerfileText,
  OF_PROJECT,
  readStages,
  restsOf,
  ROOT,
  type Instruction,
} from "./dockerfile.ts";

const run = promisify(execFile);
const isRoot = process.getuid?.() === 0;
/** Contained in every Debian image: the C library, and what the package manager is linked to. */
const IN_DEBIAN = ["libc6", "libgcc-s1", "libstdc++6"];

describe("the Dockerfile", async () => {
  let folder: string;
  let image: string;
  let last: readonly Instruction[];
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "colloquy-image-"));
    await chmod(folder, 0o755);
    const stages = await readStages();
    last = stages.at(-1)!;
    // The last stage runs from what it copies from the one before.
    image = join(folder, "opt");
    const made = new Map<string, Promise<string>>();
    const make = async (stage: readonly Instruction[], own: string): Promise<string> => {
      await mkdir(own);
      for (const instruction of stage) await perform(instruction, own, made);
      return own;
    };
    // Concurrently, as Docker does: a stage waits for another one only when it copies from it.
    for (const stage of stages.slice(0, -1)) {
      const name = restsOf(stage, "FROM")[0]!.split(" AS ")[1]!;
      made.set(name, make(stage, name === "build" ? image : join(folder, name)));
    }
    await Promise.all(made.values());
  }, 600_000);
  afterAll(() => rm(folder, { recursive: true, force: true }));

  it.each([undefined, OF_PROJECT])("passes its linter (%s)", async (file) => {
    expect(validate(await dockerfileText(file))).toEqual([]);
  });

  it("makes an image with all that the service needs, run by a user who owns nothing in it", async () => {
    const port = await findFreePort();
    const environment = { ...environmentOf(last, folder), PORT: String(port), HOST: "127.0.0.1" };
    const user = isRoot ? userOf(last) : null;
    const data = join(folder, "data");
    await mkdir(data, { mode: 0o700 });
    if (user !== null) await run("chown", [`${user.uid}:${user.gid}`, data]);
    const isAlive = () => runHealthCheck(last, image, environment);
    expect(await isAlive()).toBe(false);
    const [program = "", ...parameters] = commandOf(restsOf(last, "CMD")[0]!);
    const child = spawn(program, parameters, {
      cwd: image,
      env: environment,
      stdio: ["ignore", "pipe", "inherit"],
      ...user,
    });
    try {
      await listening(child);
      expect(await isAlive()).toBe(true);
      const session = newSession();
      const answer = await send(`http://127.0.0.1:${port}`, "POST", "/api/chat?message=what%20is%206*7", {
        session,
        headers: { Prefer: "wait=20" },
      });
      expect(expectSnapshot(answer, session).messages.at(-1)?.content).toContain("42");
      const page = await send(`http://127.0.0.1:${port}`, "GET", "/");
      expect([page.status, page.text]).toEqual([200, expect.stringContaining("<title>Colloquy</title>")]);
    } finally {
      const ended = once(child, "exit");
      child.kill("SIGTERM");
      expect(await ended).toEqual([0, null]);
    }
    expect(await isAlive()).toBe(false);
  });

  it.skipIf(!isRoot || (await isWithout("tini", "unshare", "setpriv")))(
    "reaps ended children of MCP servers, hides its environment from them, and stops on SIGTERM",
    async () => {
      const place = join(folder, "process-one");
      await mkdir(place);
      const { uid, gid } = userOf(last);
      await run("chown", [`${uid}:${gid}`, place]);
      const init = join(place, "bin");
      await mkdir(init);
      await copyFile((await findProgram("tini"))!, join(init, "tini"));
      const [, mode = "755"] = /chmod (\d+) \/usr\/bin\/tini/.exec(restsOf(last, "RUN").join(" ")) ?? [];
      await chmod(join(init, "tini"), Number.parseInt(mode, 8));
      await writeFile(join(place, "spy.cjs"), SPY);
      const spy = { command: "node", args: [join(place, "spy.cjs"), place] };
      const apps = { default: { models: ["demo/assistant"], mcp: { spy } } };
      await writeFile(join(place, "colloquy.config.json"), JSON.stringify({ apps }));

      const environment = environmentOf(last, folder);
      // Like some runtimes, setpriv leaves the first program capabilities, and the kernel takes them at the next.
      const command = [...commandOf(restsOf(last, "ENTRYPOINT")[0]!), ...commandOf(restsOf(last, "CMD")[0]!)];
      const child = spawn(
        (await findProgram("unshare"))!,
        ["--pid", "--fork", "--mount-proc", "setpriv"].concat(
          [`--reuid=${uid}`, `--regid=${gid}`, "--clear-groups"],
          command,
        ),
        {
          cwd: image,
          env: {
            ...environment,
            PATH: `${init}:${environment["PATH"]}`,
            HOST: "127.0.0.1",
            PORT: "0",
            COLLOQUY_DATA_DIR: place,
            COLLOQUY_CONFIG: join(place, "colloquy.config.json"),
            COLLOQUY_ADMIN_KEY: SECRET,
          },
          stdio: ["ignore", "pipe", "inherit"],
        },
      );
      const ended = once(child, "exit");
      const processOne = async () =>
        Number(await readFile(`/proc/${child.pid}/task/${child.pid}/children`, "utf8"));
      try {
        await send(await listening(child), "POST", "/api/chat?message=hello", { session: newSession() });
        const seen = async () => JSON.parse(await readFile(join(place, "seen"), "utf8")) as unknown;
        await expect.poll(() => seen().catch(() => null)).not.toBeNull();
        // Process 1 is tini, process 2 the service, process 3 the tool server, which was given nothing.
        expect(await seen()).toEqual({ 1: "EACCES", 2: "nothing", own: "nothing" });
        const isReaped = async () => await readFile(join(place, "reaped"), "utf8").catch(() => null);
        await expect.poll(isReaped).toBe("the orphan");
        process.kill(await processOne(), "SIGTERM");
        expect(await ended).toEqual([0, null]);
      } finally {
        if (child.exitCode === null) process.kill(await processOne(), "SIGKILL");
        await ended;
      }
    },
    60_000,
  );

  it("leaves tests and their dependencies out of the image", async () => {
    const { stdout } = await run("find", [image, "-name", "vitest", "-o", "-name", "*.test.ts"]);
    expect(stdout.split("\n").filter((path) => /\/vitest$|\/packages\//.test(path))).toEqual([]);
  });

  it("installs at most 200 MB for a service, beside Node", async () => {
    expect(await installedMegabytes(image)).toBeLessThanOrEqual(MOST_MEGABYTES["npm ci --omit=dev"]);
  });

  it.skipIf(process.platform !== "linux")("makes an image no larger than documented", async () => {
    const operations = await readFile(join(ROOT, "docs/operations.md"), "utf8");
    const told = Number(/an image: (\d+) MB beside Debian's own/.exec(operations)?.[1]);
    const { stdout } = await run("du", ["-sk", image]);
    const megabytes = (Number.parseInt(stdout) * 1024) / 1e6;
    expect(megabytes).toBeGreaterThan(told * 0.9);
    expect(megabytes).toBeLessThan(told * 1.1);
  });

  it.skipIf(process.platform !== "linux")("installs the libraries that Node is linked to", async () => {
    const { stdout } = await run("ldd", [join(image, "node_modules/.bin/node")]);
    const libraries = [...stdout.matchAll(/^\s*(lib\S+) => (\/\S+)/gm)].map(([, name = ""]) => name);
    expect(libraries).toContain("libc.so.6");
    const installed = restsOf(last, "RUN").join(" ");
    const missing = libraries.filter((name) => {
      const debian = PACKAGES[name] ?? `(the package of ${name})`;
      return !IN_DEBIAN.includes(debian) && !installed.includes(` ${debian} `);
    });
    expect(missing).toEqual([]);
  });
});

const SECRET = "the-admins-key-0123456789abcdef";

/**
 * Notes which environments contain the secret. Then leaves a process without its parent, and notes when that one
 * is gone from the process table.
 */
const SPY = `
  const { existsSync, readFileSync, renameSync, writeFileSync } = require("node:fs");
  const { execFileSync } = require("node:child_process");
  const place = process.argv[2] + "/";
  const look = (pid) => {
    try {
      return readFileSync("/proc/" + pid + "/environ", "latin1").includes(${JSON.stringify(SECRET)}) ? "secret" : "nothing";
    } catch (error) {
      return error.code;
    }
  };
  const note = (name, text) => {
    writeFileSync(place + name + ".new", text);
    renameSync(place + name + ".new", place + name);
  };
  note("seen", JSON.stringify({ 1: look(1), [process.ppid]: look(process.ppid), own: look("self") }));
  const orphan = execFileSync("sh", ["-c", "true >/dev/null & echo $!"], { encoding: "latin1" }).trim();
  const timer = setInterval(() => {
    if (existsSync("/proc/" + orphan)) return;
    clearInterval(timer);
    note("reaped", "the orphan");
  }, 10);
  process.stdin.resume();
`;

/** Debian packages of libraries that Node may be linked to. */
const PACKAGES: Readonly<Record<string, string>> = {
  "libc.so.6": "libc6",
  "libdl.so.2": "libc6",
  "libm.so.6": "libc6",
  "libpthread.so.0": "libc6",
  "libgcc_s.so.1": "libgcc-s1",
  "libstdc++.so.6": "libstdc++6",
  "libatomic.so.1": "libatomic1",
};

/**
 * Performs an instruction in `image`, the working directory of its stage. `made` are the folders of all
 * finished stages.
 */
async function perform(
  { word, rest }: Instruction,
  image: string,
  made: ReadonlyMap<string, Promise<string>>,
): Promise<void> {
  const [, stage, from, to] = /^--from=(\S+) \/opt\/colloquy\/(\S+) (\S+)$/.exec(rest) ?? [];
  if (word === "COPY" && stage !== undefined) {
    await cp(join(await made.get(stage)!, from!), join(image, to!), { recursive: true });
  } else if (word === "COPY") {
    const isSent = await sentToBuilder();
    const words = rest.split(" ");
    const to = join(image, words.at(-1)!);
    for (const from of words.slice(0, -1)) {
      const isFolder = rest.endsWith("/");
      await cp(join(ROOT, from), isFolder ? join(to, basename(from)) : to, {
        recursive: true,
        filter: (path) => isSent(relative(ROOT, path)),
      });
    }
  } else if (word === "RUN") {
    // The same packages were just installed in the clone, so use npm's cache and skip its audit.
    const npm = { npm_config_prefer_offline: "true", npm_config_audit: "false" };
    await run("sh", ["-c", rest], { cwd: image, env: { ...process.env, ...npm } });
  } else if (word !== "FROM" && word !== "WORKDIR") {
    throw new Error(`This test does not support the instruction ${word}`);
  }
}

/**
 * Returns a predicate for paths that Docker receives, by `Dockerfile.dockerignore`, in which later lines win.
 */
async function sentToBuilder(): Promise<(path: string) => boolean> {
  const text = await readFile(join(ROOT, "deploy/Dockerfile.dockerignore"), "utf8");
  const lines = text.split("\n").filter((line) => line !== "" && !line.startsWith("#"));
  return (path) => {
    const decisive = lines.findLast((line) => {
      const pattern = line.replace("!", "");
      return matchesGlob(path, pattern) || matchesGlob(path, `${pattern}/**`);
    });
    return decisive?.startsWith("!") ?? true;
  };
}

function environmentOf(stage: readonly Instruction[], folder: string): Record<string, string> {
  const pairs = restsOf(stage, "ENV").map((rest) => [
    rest.slice(0, rest.indexOf("=")),
    rest.slice(rest.indexOf("=") + 1),
  ]);
  const environment = Object.fromEntries(pairs) as Record<string, string>;
  return {
    ...environment,
    PATH: environment["PATH"]!.replace("/opt/colloquy/", `${folder}/opt/`),
    COLLOQUY_DATA_DIR: `${folder}${environment["COLLOQUY_DATA_DIR"]}`,
  };
}

function userOf(stage: readonly Instruction[]): { readonly uid: number; readonly gid: number } {
  const [uid, gid] = restsOf(stage, "USER")[0]!.split(":").map(Number);
  return { uid: uid!, gid: gid! };
}

async function runHealthCheck(
  stage: readonly Instruction[],
  cwd: string,
  env: Record<string, string>,
): Promise<boolean> {
  const [program = "", ...parameters] = commandOf(restsOf(stage, "HEALTHCHECK")[0]!);
  return run(program, parameters, { cwd, env }).then(
    () => true,
    () => false,
  );
}

/** Resolves with the address of the service when it accepts requests. */
async function listening(child: ChildProcess): Promise<string> {
  let address = "";
  for await (const line of createInterface(child.stdout!)) {
    address = /"address":"([^"]+)"/.exec(line)?.[1] ?? "";
    if (address !== "") break;
  }
  child.stdout!.resume();
  return address;
}
