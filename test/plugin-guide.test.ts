// Compiles and runs every code block of docs/guides/write-a-plugin.md in an empty directory with the packed packages.

import { type ChildProcess, execFile, spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { copyWithModules, PACKING_MS, packAll, SERVER_PACKAGES } from "./packed.ts";

const run = promisify(execFile);
const ROOT = join(import.meta.dirname, "..");

/** Copying the modules and packing takes minutes on a busy machine. */

let folder: string;
let project: string;
let service: Server;
let environment: Record<string, string>;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "colloquy-guide-"));
  project = join(folder, "project");
  const modules = join(project, "node_modules");
  await mkdir(join(modules, "@colloquy"), { recursive: true });
  await copyWithModules(join(folder, "clone"));
  for (const [name, tarball] of await packAll(join(folder, "clone"), folder, [
    ...SERVER_PACKAGES,
    "testing",
  ])) {
    await mkdir(join(modules, "@colloquy", name));
    await run("tar", ["-xzf", tarball, "-C", join(modules, "@colloquy", name), "--strip-components=1"]);
  }
  for (const name of await readdir(join(ROOT, "node_modules")))
    if (name !== "@colloquy") await symlink(join(ROOT, "node_modules", name), join(modules, name));
  await writeFile(join(project, "package.json"), '{ "type": "module" }');
  const page = await readFile(join(ROOT, "docs/guides/write-a-plugin.md"), "utf8");
  for (const [, file = "", code = ""] of page.matchAll(/^```(?:ts|json)\n\/\/ (\S+)\n(.*?)^```/gms))
    await writeFile(join(project, file), code);
  service = createServer(({ url = "", headers }, response) => {
    const isKnown = headers.authorization === "Bearer k-12345678";
    response.statusCode = isKnown ? 200 : 401;
    const { searchParams } = new URL(url, "http://x");
    response.end(
      JSON.stringify({ ...Object.fromEntries(searchParams), sky: "clear", key: headers.authorization }),
    );
  });
  await once(service.listen(0, "127.0.0.1"), "listening");
  const address = `http://127.0.0.1:${(service.address() as AddressInfo).port}`;
  environment = { WEATHER_URL: address, WEATHER_KEY: "k-12345678" };
}, PACKING_MS);
afterAll(async () => {
  service.close();
  await rm(folder, { recursive: true, force: true });
});

/** Runs a program with empty standard input. */
async function node(parameters: readonly string[], more: Record<string, string> = {}) {
  const running = run(process.execPath, [...parameters], { cwd: project, env: { ...environment, ...more } });
  running.child.stdin?.end();
  return await running;
}
const colloquy = (command: readonly string[], config: string) =>
  node([join(project, "node_modules/@colloquy/server/bin/colloquy.js"), ...command], {
    COLLOQUY_CONFIG: config,
  });

it("compiles against the published declarations", async () => {
  const options = {
    compilerOptions: {
      strict: true,
      noEmit: true,
      target: "esnext",
      lib: ["esnext"],
      module: "nodenext",
      allowImportingTsExtensions: true,
      types: ["node"],
      typeRoots: [join(ROOT, "node_modules/@types")],
      skipLibCheck: true,
    },
    include: ["*.ts"],
  };
  await writeFile(join(project, "tsconfig.json"), JSON.stringify(options));
  const compiler = join(ROOT, "node_modules/typescript-compiler/bin/tsc");
  const { stdout } = await node([compiler, "-p", "."]).catch((error: { stdout: string }) => error);
  expect(stdout).toBe("");
});

describe("the tool source", () => {
  it("passes `check` and lists its tools in `doctor`", async () => {
    const { stdout } = await colloquy(["check"], "colloquy.config.json");
    expect(stdout).toBe("The configuration is valid: colloquy.config.json.\n");
    const doctor = await colloquy(["doctor"], "colloquy.config.json");
    expect(doctor.stdout).toContain('App "default", weather: it lists its tools (1).');
    const schema = JSON.parse((await colloquy(["schema"], "colloquy.config.json")).stdout) as object;
    expect(schema).toHaveProperty("properties.apps.additionalProperties.properties.weather.required", [
      "url",
      "apiKey",
    ]);
  });

  it("reports problems in its section", async () => {
    environment["WEATHER_KEY"] = "short";
    const { stderr } = await colloquy(["check"], "colloquy.config.json").catch(
      (error: { stderr: string }) => error,
    );
    environment["WEATHER_KEY"] = "k-12345678";
    expect(stderr).toContain(
      "apps.default.weather.apiKey: after filling in the placeholders, must have at least 8",
    );
    expect(stderr).not.toContain("short");
  });

  it("runs in an embedding program", async () => {
    expect((await node(["embedded.ts"])).stdout).not.toBe("");
  });

  it("passes its test with a scripted model", async () => {
    const { stdout } = await node(["--test", "--test-reporter=tap", "weather.test.ts"]);
    expect(stdout).toMatch(/^# pass 1$/m);
  });
});

it("runs a conversation with the model provider", async () => {
  const { stdout } = await colloquy(["chat", "hello there"], "colloquy.config.ts");
  expect(stdout).toBe("HELLO THERE\n");
});

describe.each([
  ["backend", "journal.test.ts", 250],
  ["file store", "blobs.test.ts", 8],
  ["transport", "relay.test.ts", 14],
])("the %s", (_, file, tests) => {
  it("passes its contract under node:test", async () => {
    const { stdout } = await node(["--test", "--test-reporter=tap", file]).catch(
      (error: { readonly stdout: string }) => error,
    );
    expect(stdout.match(/^\s*not ok .*$/gm)).toBeNull();
    expect(Number(/^# pass (\d+)$/m.exec(stdout)?.[1])).toBeGreaterThanOrEqual(tests);
  });
});

it("keeps conversations in the backend", async () => {
  const data = join(folder, "data");
  const environment = { COLLOQUY_CONFIG: "journal.json", COLLOQUY_DATA_DIR: data };
  const program = join(project, "node_modules/@colloquy/server/bin/colloquy.js");
  await node([program, "chat", "What is 6 * 7?"], environment);
  expect(await readFile(join(data, "journal"), "utf8")).toContain("What is 6 * 7?");
  expect(await readdir(data)).toEqual(["journal"]);
  const { stderr } = await node([program, "keys", "list"], environment).catch(
    (error: { readonly stderr: string }) => error,
  );
  expect(stderr).toContain("Only the service opens the journal.");
});

it("names the transport in a configuration for several nodes", async () => {
  const url = { DATABASE_URL: "postgres://127.0.0.1:1/x", COLLOQUY_CONFIG: "several-nodes.json" };
  const program = join(project, "node_modules/@colloquy/server/bin/colloquy.js");
  expect((await node([program, "check"], url)).stdout).toContain("is valid: several-nodes.json");
  await writeFile(
    join(project, "alone.json"),
    '{ "plugins": ["./relay.ts"], "transport": { "kind": "relay", "port": 7070 } }',
  );
  const { stderr } = await node([program, "check"], { COLLOQUY_CONFIG: "alone.json" }).catch(
    (error: { readonly stderr: string }) => error,
  );
  expect(stderr).toContain(
    'alone.json, transport: connects nodes that share a store, but the backend "sqlite" cannot be shared.',
  );
});

it("runs the command", async () => {
  await writeFile(join(project, "greet.json"), '{ "plugins": ["./greet.ts"] }');
  expect((await colloquy(["greet", "Ada", "again"], "greet.json")).stdout).toBe("Hello Ada again!\n");
});

describe("the protocol", () => {
  let serving: ChildProcess;
  let url: string;
  beforeAll(async () => {
    const program = join(project, "node_modules/@colloquy/server/bin/colloquy.js");
    const environment = { COLLOQUY_CONFIG: "lines.config.json", PORT: "0", COLLOQUY_DATA_DIR: "lines-data" };
    serving = spawn(process.execPath, [program, "serve"], {
      cwd: project,
      env: environment,
      stdio: ["ignore", "pipe", "inherit"],
    });
    let log = "";
    for await (const chunk of serving.stdout!) {
      log += String(chunk);
      const found = /http:\/\/127\.0\.0\.1:\d+/.exec(log);
      if (found !== null) {
        url = found[0];
        break;
      }
    }
  });
  afterAll(() => void serving.kill("SIGKILL"));

  const say = async (line: string, headers: Record<string, string> = {}, query = "") =>
    await fetch(`${url}/lines${query}`, {
      method: "POST",
      headers: { "X-Session-Id": randomUUID(), "Content-Type": "text/plain", ...headers },
      body: line,
    });

  it("streams an answer as text", async () => {
    const answer = await say("what is 12 * 7?");
    expect([answer.status, answer.headers.get("content-type")]).toEqual([200, "text/plain; charset=utf-8"]);
    expect(await answer.text()).toMatch(/^assistant: .*84.*\n$/s);
  });

  it("has errors of its own form, and is described in the document", async () => {
    const answer = await say("hello", { "Content-Type": "application/json" });
    expect([answer.status, answer.headers.get("content-type")]).toEqual([415, "text/plain; charset=utf-8"]);
    expect(await answer.text()).toMatch(/^Send the body .*\.\n$/);
    const { paths } = (await (await fetch(`${url}/openapi.json`)).json()) as { paths: object };
    expect(paths).toHaveProperty("/lines.post.operationId", "sendLine");
  });

  it("needs the key of an App, which may come as a bearer", async () => {
    const answer = await say("hello", { Authorization: "Bearer clq_nonsense" }, "?app=other");
    expect([answer.status, await answer.text()]).toEqual([
      401,
      expect.stringMatching(/^This App needs a valid key/),
    ]);
  });

  it("has a section in the configuration", async () => {
    await writeFile(
      join(project, "wrong.json"),
      '{ "plugins": ["./lines.ts"], "protocols": { "lines": { "promt": "" } } }',
    );
    const { stderr } = await colloquy(["check"], "wrong.json").catch((error: { stderr: string }) => error);
    expect(stderr).toContain('protocols.lines.promt: is not a known setting. Did you mean "prompt"?');
  });
});
