// The packages as users get them: published to a registry, installed into an empty directory, and started there.

import { execFile, spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { globSync } from "node:fs";
import { appendFile, readFile, chmod, cp, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { commandOf, readStages, restsOf } from "../packages/server/test/deploy/dockerfile.ts";
import { isWithoutChromium, launchChromium, type LaunchedChromium } from "./browser/chromium.ts";
import { output, pinAssistantUi, startRegistry, VERDACCIO } from "./local-registry.ts";
import { findFreePort } from "../packages/server/torture/harness/server-process.ts";
import { copyWithModules, PACKING_MS, packAll } from "./packed.ts";

const run = promisify(execFile);
const [NODE_24] = globSync("node24/node_modules/node-linux-*/bin/node", { cwd: import.meta.dirname });
const TYPES = join(import.meta.dirname, "../node_modules/@types");
/** Most megabytes of an installation. */
const MOST_MEGABYTES = 150;
const CONFIG = `
  import { defineConfig } from "@colloquy/server/config";
  import { tool } from "ai";
  import { z } from "zod";
  const weather = tool({
    description: "Returns the weather",
    inputSchema: z.object({ city: z.string() }),
    execute: ({ city }) => "It is sunny in " + city,
  });
  export default defineConfig({ apps: { default: { tools: { weather } } } });
`;
const TYPED = CONFIG.replace("({ city }) =>", "({ city }: { city: string }): string =>");

let folder: string;
let project: string;
let environment: Record<string, string>;
const started: ChildProcess[] = [];

/** Starts a command in a process group of its own, which ends with the test. Without a port it chooses its own. */
function start(directory: string, [program = "", ...words]: readonly string[], port = "0"): ChildProcess {
  const env = port === "" ? environment : { ...environment, PORT: port };
  const child = spawn(program, words, { cwd: directory, env, detached: true, stdio: ["ignore", "pipe", 2] });
  started.push(child);
  return child;
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null || child.pid === undefined) return;
  const ended = once(child, "exit");
  process.kill(-child.pid, "SIGKILL");
  await ended;
}

/** Starts a service and returns its address. */
const serve = (directory: string, command: readonly string[]): Promise<string> =>
  output(start(directory, command), /"address":"([^"]+)"/);

async function ask(url: string, message: string): Promise<string> {
  const response = await fetch(`${url}/api/chat?message=${encodeURIComponent(message)}`, {
    method: "POST",
    headers: { "X-Session-Id": crypto.randomUUID(), Prefer: "wait=20" },
  });
  return response.text();
}

/** Creates a directory that has what `project` installed. */
async function emptyProject(name: string, manifest: object): Promise<string> {
  const directory = join(folder, name);
  await mkdir(directory);
  await writeFile(join(directory, "package.json"), JSON.stringify(manifest));
  await run("cp", ["-al", join(project, "node_modules"), directory]);
  return directory;
}

beforeAll(async () => {
  if (VERDACCIO === null) return;
  folder = await mkdtemp(join(tmpdir(), "colloquy-published-"));
  project = join(folder, "project");
  // npm's certificates and proxies are in the environment of the tests.
  const inherited = Object.entries(process.env).filter(
    ([name]) => !/^(?:COLLOQUY|VITEST|HOST$|PORT$|npm_)/.test(name),
  );
  environment = {
    ...(Object.fromEntries(inherited) as Record<string, string>),
    HOME: folder,
    // Colours would split the addresses that this test reads from the output.
    NO_COLOR: "1",
  };
  await mkdir(project);
  const registry = await startRegistry(folder, start);
  await copyWithModules(join(folder, "clone"));
  for (const tarball of (await packAll(join(folder, "clone"), folder)).values()) {
    const options = ["--registry", registry, "--provenance=false"];
    await run("npm", ["publish", tarball, ...options], { cwd: folder, env: environment });
  }
  const { stdout } = await run("npm", ["config", "get", "registry"]);
  environment = { ...environment, npm_config_registry: stdout.trim(), npm_config_audit: "false" };
  await run("npm", ["install", "@colloquy/server", "ai", "zod"], { cwd: project, env: environment });
}, 2 * PACKING_MS);
afterEach(async () => {
  // The first is the registry.
  await Promise.all(started.splice(1).map(end));
});
afterAll(async () => {
  await Promise.all(started.map(end));
  if (VERDACCIO !== null) await rm(folder, { recursive: true });
});

describe.skipIf(VERDACCIO === null)("the published server", () => {
  it(`installs at most ${MOST_MEGABYTES} MB`, async () => {
    const { stdout } = await run("du", ["-sm", "node_modules"], { cwd: project });
    expect(Number.parseInt(stdout)).toBeLessThanOrEqual(MOST_MEGABYTES);
  });

  it("serves a chat and the console with npx in an empty directory", async () => {
    const directory = join(folder, "empty");
    await mkdir(directory);
    const url = await serve(directory, ["npx", "--yes", "@colloquy/server"]);
    expect(await ask(url, "what is 6*7")).toContain("42");
    const page = await (await fetch(url, { headers: { Accept: "text/html" } })).text();
    const script = /src="\.\/(assets\/[^"]+)"/.exec(page)?.[1];
    expect((await fetch(`${url}/${script}`)).status).toBe(200);
  });

  it.each([
    ["ts", "module", TYPED],
    ["mts", "commonjs", TYPED],
    ["js", "module", CONFIG],
    ["mjs", "commonjs", CONFIG],
  ])("reads a tool from colloquy.config.%s in a project of type %s", async (extension, type, text) => {
    const directory = await emptyProject(`${extension}-${type}`, { type });
    await writeFile(join(directory, `colloquy.config.${extension}`), text);
    const url = await serve(directory, ["npx", "colloquy"]);
    expect(await ask(url, 'call weather {"city": "Oslo"}')).toContain("It is sunny in Oslo");
  });

  it("reads colloquy.config.json", async () => {
    const directory = await emptyProject("json", {});
    const config = { apps: { default: { tools: ["current_time"] } } };
    await writeFile(join(directory, "colloquy.config.json"), JSON.stringify(config));
    const url = await serve(directory, ["npx", "colloquy", "serve"]);
    expect(await ask(url, "what is 6*7")).toContain("not among the tools");
  });

  it("says how to write a module in a CommonJS project", async () => {
    const directory = await emptyProject("commonjs", { type: "commonjs" });
    await writeFile(join(directory, "colloquy.config.ts"), TYPED);
    const options = { cwd: directory, env: environment };
    const failure = await run("npx", ["colloquy", "check"], options).catch(
      (error: { stderr: string; code: number }) => error,
    );
    expect(failure).toMatchObject({ code: 2, stderr: expect.stringContaining("colloquy.config.mts") });
  });

  it("asks for viem only where an App has a wallet", async () => {
    const directory = await emptyProject("wallet", { type: "module" });
    const chains = { 1: { name: "Ethereum", rpcURL: "https://rpc.test" } };
    const config = { chains, apps: { default: { wallet: true } } };
    await writeFile(join(directory, "colloquy.config.json"), JSON.stringify(config));
    const options = { cwd: directory, env: environment };
    const failure = await run("npx", ["colloquy", "check"], options).catch(
      (error: { stderr: string; code: number }) => error,
    );
    expect(failure).toMatchObject({ code: 2, stderr: expect.stringContaining("npm install viem") });
  });

  it.skipIf(NODE_24 === undefined)("runs on Node 24", async () => {
    const directory = await emptyProject("node24", { type: "module" });
    await writeFile(join(directory, "colloquy.config.ts"), TYPED);
    const node = join(import.meta.dirname, NODE_24 ?? "");
    const url = await serve(directory, [node, "node_modules/.bin/colloquy"]);
    expect(await ask(url, 'call weather {"city": "Oslo"}')).toContain("It is sunny in Oslo");
  });

  it("has types for a configuration file", async () => {
    const directory = await emptyProject("types", { type: "module" });
    await writeFile(join(directory, "colloquy.config.ts"), TYPED);
    await writeFile(
      join(directory, "wrong.ts"),
      'import { defineConfig } from "@colloquy/server";\nexport default defineConfig({ apps: { default: { models: 5 } } });\n',
    );
    const compilerOptions = {
      strict: true,
      noEmit: true,
      module: "nodenext",
      types: ["node"],
      typeRoots: [TYPES],
    };
    const files = ["colloquy.config.ts", "wrong.ts"];
    await writeFile(join(directory, "tsconfig.json"), JSON.stringify({ compilerOptions, files }));
    const compiler = join(import.meta.dirname, "../node_modules/typescript-compiler/bin/tsc");
    const found = await run(process.execPath, [compiler, "-p", directory], { cwd: directory }).catch(
      (error: { stdout: string }) => error,
    );
    expect(found.stdout.split("\n").filter((line) => line.includes(": error"))).toEqual([
      expect.stringMatching(/^wrong\.ts\(2,\d+\): error TS/),
    ]);
  });
});

describe.skipIf(VERDACCIO === null).each(["service", "react"])(
  "a project that npm creates from `%s`",
  (template) => {
    let directory: string;
    let port: string;
    beforeAll(async () => {
      directory = join(folder, template);
      const words = ["create", "@colloquy@latest", template, "--yes", "--", "--template", template];
      const { stdout } = await run("npm", words, { cwd: folder, env: environment });
      expect(stdout).toContain(`Created ${template}`);
      await pinAssistantUi(directory);
      await run("npm", ["install"], { cwd: directory, env: environment });
      port = String(await findFreePort());
    }, 300_000);

    it("passes its checks and its tests", async () => {
      const options = { cwd: directory, env: environment };
      expect((await run("npm", ["run", "check"], options)).stdout).toContain("valid");
      expect((await run("npm", ["test"], options)).stdout).toContain("pass 1");
    });

    it("answers a chat with its tool after `npm run dev`", async () => {
      await output(start(directory, ["npm", "run", "dev"], port), /(http:\/\/127\.0\.0\.1:\d+)/);
      expect(await ask(`http://127.0.0.1:${port}`, 'call roll_dice {"count": 3}')).toMatch(/"sum":\d+/);
    });
  },
);

it.skipIf(VERDACCIO === null)(
  "a created server lets a user log in, who then chats with the service behind it",
  async () => {
    const directory = join(folder, "express");
    const options = { cwd: directory, env: environment };
    const words = ["create", "@colloquy@latest", "express", "--yes", "--", "--template", "express"];
    await run("npm", words, { cwd: folder, env: environment });
    await run("npm", ["install"], options);
    expect((await run("npm", ["run", "check"], options)).stdout).toContain("valid");
    const port = await findFreePort();
    const manifest = join(directory, "package.json");
    await writeFile(manifest, (await readFile(manifest, "utf8")).replaceAll("--port 8080", `--port ${port}`));
    await run("npm", ["run", "predev"], options);
    await appendFile(join(directory, "server.env"), `COLLOQUY_URL=http://127.0.0.1:${port}\n`);
    // PORT belongs to the web server: the service must not listen there.
    const own = String(await findFreePort());
    const url = await output(start(directory, ["npm", "run", "dev"], own), /(http:\/\/localhost:\d+)/);
    expect(url).toBe(`http://localhost:${own}`);
    await expect
      .poll(() =>
        fetch(`http://127.0.0.1:${port}/readyz`).then(
          ({ ok }) => ok,
          () => false,
        ),
      )
      .toBe(true);

    const json = { "Content-Type": "application/json" };
    const login = JSON.stringify({ user: "ada", password: "engine-no-1" });
    const { headers } = await fetch(`${url}/login`, { method: "POST", headers: json, body: login });
    const cookie = headers.getSetCookie()[0]?.split(";")[0] ?? "";
    const chat = await fetch(`${url}/api/chat`, {
      method: "POST",
      headers: { ...json, cookie, "X-Session-Id": crypto.randomUUID(), Prefer: "wait=20" },
      body: JSON.stringify({ message: 'call roll_dice {"count": 3}' }),
    });
    expect(await chat.text()).toMatch(/"sum":\d+/);
  },
  300_000,
);

it.skipIf(VERDACCIO === null)(
  "the image of a created project starts its service, by each of its steps",
  async () => {
    const [stage = []] = await readStages(join(folder, "service/Dockerfile"));
    const image = join(folder, "image");
    const data = join(folder, "data");
    const isRoot = process.getuid?.() === 0;
    await chmod(folder, 0o755);
    await mkdir(image);
    for (const { word, rest } of stage) {
      if (word === "COPY") await copyInto(image, join(folder, "service"), rest.split(" "));
      // Only root can give a directory to another user.
      const command = (isRoot ? rest : rest.replaceAll(/--(?:owner|group)=\S+ /g, "")).replace(
        " /data",
        ` ${data}`,
      );
      if (word === "RUN") await run("sh", ["-c", command], { cwd: image, env: environment });
    }
    const variables = restsOf(stage, "ENV").map((rest) => rest.split("="));
    const port = String(await findFreePort());
    const [uid, gid] = restsOf(stage, "USER")[0]!.split(":").map(Number);
    const child = spawn(commandOf(restsOf(stage, "CMD")[0]!)[0]!, {
      cwd: image,
      env: {
        PATH: process.env["PATH"],
        ...Object.fromEntries(variables),
        HOST: "127.0.0.1",
        PORT: port,
        COLLOQUY_DATA_DIR: data,
      },
      stdio: ["ignore", "pipe", 2],
      detached: true,
      ...(isRoot ? { uid, gid } : {}),
    });
    started.push(child);
    const url = await output(child, /"address":"([^"]+)"/);
    expect(await ask(url, 'call roll_dice {"count": 3}')).toMatch(/"sum":\d+/);
    const health = commandOf(restsOf(stage, "HEALTHCHECK")[0]!);
    await run(health[0]!, health.slice(1), { env: { ...environment, PORT: port } });
  },
);

async function copyInto(image: string, project: string, words: readonly string[]): Promise<void> {
  const to = words.at(-1)!;
  for (const from of words.slice(0, -1))
    await cp(join(project, from), join(image, to.endsWith("/") ? join(to, from) : to), { recursive: true });
}

describe.skipIf(VERDACCIO === null || (await isWithoutChromium()))("the page of a created project", () => {
  let browser: LaunchedChromium;
  beforeAll(async () => {
    browser = await launchChromium();
  });
  afterAll(() => browser.close());

  it("can be built, and shows a call and its result", async () => {
    const directory = join(folder, "react");
    const port = String(await findFreePort());
    environment = { ...environment, VITE_COLLOQUY_URL: `http://127.0.0.1:${port}` };
    await run("npm", ["run", "build"], { cwd: directory, env: environment });
    const url = await output(start(directory, ["npm", "run", "dev"], port), /(http:\/\/localhost:\d+)/);
    const isReady = () =>
      fetch(`http://127.0.0.1:${port}/readyz`).then(
        ({ ok }) => ok,
        () => false,
      );
    await expect.poll(isReady, { timeout: 120_000 }).toBe(true);
    const page = await (await browser.newContext({})).newPage();
    page.setDefaultTimeout(120_000);
    await page.goto(url);
    await page.getByLabel("Message", { exact: true }).fill('call roll_dice {"count": 3}');
    await page.getByRole("button", { name: "Send" }).click();
    await page
      .getByRole("group")
      .filter({ hasText: /roll_dice\s*done/ })
      .waitFor();
    const picture = process.env["COLLOQUY_SCREENSHOTS"];
    if (picture !== undefined) await page.screenshot({ path: join(picture, "created-project.png") });
    expect(browser.outside.take()).toEqual([]);
  });
});
