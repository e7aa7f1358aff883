// The built command: arguments, questions, and what it writes. test/published-packages.test.ts uses its projects.

import { spawn } from "@lydell/node-pty";
import { execFile, spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { cp, mkdir, mkdtemp, readdir, rm, stat, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { buildPackage } from "../build/build-package.ts";

let folder: string;
let command: string;
/** An empty directory of its own for each test. */
let directory: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "colloquy-create-"));
  buildPackage(folder);
  await cp(join(import.meta.dirname, "../bin"), join(folder, "bin"), { recursive: true });
  command = join(folder, "bin/create-colloquy.js");
});
afterAll(() => rm(folder, { recursive: true }));
beforeEach(async () => {
  directory = await mkdtemp(join(folder, "work-"));
});

interface Ended {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs the command without a terminal. */
function create(...words: readonly string[]): Promise<Ended> {
  return new Promise((resolve) => {
    execFile(process.execPath, [command, ...words], { cwd: directory }, (error, stdout, stderr) =>
      resolve({ code: typeof error?.code === "number" ? error.code : 0, stdout, stderr }),
    );
  });
}

/** Runs the command in a terminal, and types each answer after its question. Resolves with what it showed. */
function createInTerminal(
  words: readonly string[],
  answers: readonly (readonly [question: string, answer: string])[],
): Promise<string> {
  const terminal = spawn(process.execPath, [command, ...words], { cwd: directory, cols: 120 });
  const waiting = [...answers];
  let shown = "";
  let answered = 0;
  terminal.onData((text) => {
    shown += text;
    const [question, answer] = waiting[0] ?? [];
    if (question === undefined || !shown.includes(question, answered)) return;
    answered = shown.length;
    waiting.shift();
    terminal.write(answer ?? "");
  });
  return new Promise((resolve) => terminal.onExit(() => resolve(shown)));
}

const manifest = (project: string): Record<string, unknown> =>
  JSON.parse(readFileSync(join(directory, project, "package.json"), "utf8")) as Record<string, unknown>;

describe("npm create @colloquy", () => {
  it("writes a service without a question if it has no terminal, and names the next commands", async () => {
    const { code, stdout } = await create("my-app");
    expect(code).toBe(0);
    expect(stdout).toBe(
      'Created my-app from the template "service". Next:\n\n  cd my-app\n  npm install\n  npm run dev\n\n',
    );
    expect((await readdir(join(directory, "my-app"))).toSorted()).toEqual(
      [
        ".dockerignore",
        ".gitignore",
        "Dockerfile",
        "README.md",
        "colloquy.config.ts",
        "package.json",
        "tools",
        "tsconfig.json",
      ].toSorted(),
    );
    expect(manifest("my-app")).toMatchObject({
      name: "my-app",
      dependencies: { zod: expect.stringMatching(/\d/) },
    });
  });

  it("writes a page too for the template `react`", async () => {
    expect(await create("my-app", "--template", "react")).toMatchObject({ code: 0 });
    for (const file of ["index.html", "src/main.tsx", "vite.config.ts", "tools/roll-dice.ts", ".gitignore"])
      expect(existsSync(join(directory, "my-app", file))).toBe(true);
    expect(readFileSync(join(directory, "my-app/package.json"), "utf8")).not.toContain('"*"');
  });

  it("writes a server with a login too for the template `express`", async () => {
    expect(await create("my-app", "--template", "express")).toMatchObject({ code: 0 });
    for (const file of ["server.ts", "setup.ts", "public/index.html", "users.json", "tools/roll-dice.ts"])
      expect(existsSync(join(directory, "my-app", file))).toBe(true);
    expect(readFileSync(join(directory, "my-app/package.json"), "utf8")).not.toContain('"*"');
  });

  it("writes a server whose secrets only its user can read", async () => {
    await create("my-app", "--template", "express");
    const project = join(directory, "my-app");
    const modules = join(import.meta.dirname, "../../../node_modules");
    await symlink(modules, join(project, "node_modules"));
    const { status, stderr } = spawnSync(process.execPath, ["setup.ts"], {
      cwd: project,
      encoding: "utf8",
      env: { ...process.env, PATH: `${join(modules, ".bin")}:${process.env["PATH"]}` },
    });
    expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
    expect(((await stat(join(project, "server.env"))).mode & 0o777).toString(8)).toBe("600");
    const secrets = readFileSync(join(project, "server.env"), "utf8");
    expect(secrets).toMatch(/^COLLOQUY_KEY=clq_\S+\nSESSION_SECRET=\S{44}\n$/);
  });

  it("writes into the current directory, which may hold a repository", async () => {
    await mkdir(join(directory, ".git"));
    const { stdout } = await create(".");
    expect(stdout).toContain("Created the project");
    expect(stdout).not.toContain("cd ");
    expect(manifest(".")["name"]).toMatch(/^work-/);
  });

  it("names the package after the directory, in characters that npm allows", async () => {
    await create("A new App (2)");
    expect(manifest("A new App (2)")["name"]).toBe("a-new-app-2");
    await create("__");
    expect(manifest("__")["name"]).toBe("my-app");
  });

  it("quotes a directory with a space in the next commands", async () => {
    expect((await create("a b")).stdout).toContain('  cd "a b"\n');
  });

  it("asks for the directory and the template in a terminal", async () => {
    const shown = await createInTerminal(
      [],
      [
        ["Directory (my-app): ", "shop\r"],
        ["Template (1): ", "2\r"],
      ],
    );
    expect(shown).toContain('Created shop from the template "react"');
    expect(existsSync(join(directory, "shop/src/main.tsx"))).toBe(true);
  });

  it("uses the suggested answers if none is typed, and asks again after a wrong one", async () => {
    const shown = await createInTerminal(
      [],
      [
        ["Directory (my-app): ", "\r"],
        ["Template (1): ", "4\r"],
        ["Template (1): ", "\r"],
      ],
    );
    expect(shown).toContain('Created my-app from the template "service"');
  });

  it.each(["\u0003", "\u0004"])("writes nothing when the user quits with %j", async (key) => {
    const shown = await createInTerminal([], [["Directory (my-app): ", key]]);
    expect(shown).toContain("Nothing was written.");
    expect(shown).not.toMatch(/Warning|Error/);
    expect(await readdir(directory)).toEqual([]);
  });

  it("asks nothing if the arguments are complete", async () => {
    const shown = await createInTerminal(["shop", "-t", "service"], []);
    expect(shown).not.toContain("Template (");
    expect(manifest("shop")["name"]).toBe("shop");
  });

  it("shows its usage", async () => {
    const { code, stdout } = await create("--help");
    expect(code).toBe(0);
    expect(stdout).toContain("[--template service|react|express]");
  });

  it.each([
    [[], "Name a directory: npm create @colloquy@latest my-app"],
    [["a", "b"], "Give one directory."],
    [["a", "--template", "vue"], 'There is no template "vue". Use service or react or express.'],
    [["a", "--templat"], "Unknown option '--templat'"],
  ])("refuses the arguments %j", async (words, message) => {
    const { code, stderr } = await create(...words);
    expect(code).toBe(2);
    expect(stderr).toContain(message);
    expect(await readdir(directory)).toEqual([]);
  });

  it("refuses a directory that holds files, and a file", async () => {
    await mkdir(join(directory, "full"));
    await writeFile(join(directory, "full/notes.txt"), "mine");
    expect(await create("full")).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("full is not empty"),
    });
    expect(await readdir(join(directory, "full"))).toEqual(["notes.txt"]);
    expect(await create("full/notes.txt")).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("is a file"),
    });
  });

  it("says when the directory cannot be written", async () => {
    await writeFile(join(directory, "file"), "");
    const { code, stderr } = await create("file/project");
    expect(code).toBe(1);
    expect(stderr).toMatch(/is a file|ENOTDIR/);
    expect(stderr).not.toContain("    at ");
  });
});
