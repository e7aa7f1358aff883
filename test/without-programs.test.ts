// The programs that scripts/without-programs hides.

import { execFile } from "node:child_process";
import { chmod, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { promisify } from "node:util";
import { afterEach, beforeEach, expect, it } from "vitest";

const run = promisify(execFile);
const SCRIPT = join(import.meta.dirname, "../scripts/without-programs");
const HIDDEN =
  "psql pg_isready pg_dump chromium nats-server pgbouncer nginx strace tini zsh fish tmux docker wget systemd-analyze promtool";

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "colloquy-without-"));
  // Create some programs, so that there are programs to hide on every machine.
  for (const name of ["nginx", "psql", "kept-program"]) await program(name, "exit 0");
});
afterEach(() => rm(folder, { recursive: true }));

/** Prints the paths of the programs that are visible, then COLLOQUY_TEST_WITHOUT. */
const LOOK = `for name in ${HIDDEN} kept-program; do command -v $name; done
test -z "$(ls -A /usr/lib/postgresql 2>/dev/null)" || echo postgresql
echo asked: $COLLOQUY_TEST_WITHOUT`;

it("hides the programs from the command, or lists them all in COLLOQUY_TEST_WITHOUT", async () => {
  const lines = await seen();
  const asked = lines.pop()!;
  if (asked === "asked:") expect(lines).toEqual([join(folder, "kept-program")]);
  else expect(asked.split(" ")).toEqual(expect.arrayContaining(HIDDEN.split(" ")));
});

it("lists the programs in COLLOQUY_TEST_WITHOUT if namespaces are unavailable", async () => {
  await program("unshare", "exit 1");
  const lines = await seen();
  expect(lines.at(-1)!.split(" ")).toEqual(expect.arrayContaining(["initdb", ...HIDDEN.split(" ")]));
  expect(lines).toContain(join(folder, "nginx"));
});

it("ends with the exit code of the command", async () => {
  await expect(run(SCRIPT, ["sh", "-c", "exit 7"])).rejects.toMatchObject({ code: 7 });
});

async function seen(): Promise<string[]> {
  const env = {
    ...process.env,
    PATH: `${folder}${delimiter}${process.env["PATH"]}`,
    COLLOQUY_TEST_WITHOUT: "",
  };
  const { stdout } = await run(SCRIPT, ["sh", "-c", LOOK], { env });
  return stdout.trimEnd().split("\n");
}

async function program(name: string, does: string): Promise<void> {
  await writeFile(join(folder, name), `#!/bin/sh\n${does}\n`);
  await chmod(join(folder, name), 0o755);
}
