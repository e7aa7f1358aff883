// The commands migrate, export and import.

import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { access, mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { BARE_ENVIRONMENT } from "../../test/bare-environment.ts";
import { ManualClock } from "../../test/manual-clock.ts";
import { openLocalStore } from "../wiring/local-store.ts";
import type { Store } from "@colloquy/engine/internal/core/ports/driven/store";
import { type Filled, fillStore, WALLET } from "../moving/testing/filled-store.ts";
import { openSqliteStore } from "@colloquy/engine/internal/store/sqlite/open";
import { createProgress } from "./migrate.ts";
import { recordedParts, recordedRun } from "./testing/recorded-run.ts";

let root = "";
let filled: Filled;
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), "colloquy-cli-moving-"));
  filled = await withServer("data", fillStore);
});
afterEach(() => rm(root, { recursive: true }));

/** Opens the store as a server on this directory would. */
async function withServer<Result>(name: string, work: (store: Store) => Promise<Result>): Promise<Result> {
  const onFatal = (error: Error): never => {
    throw error;
  };
  const store = await openSqliteStore({ directory: join(root, name), clock: new ManualClock(), onFatal });
  try {
    return await work(store);
  } finally {
    await store.close();
  }
}

const run = (parameters: readonly string[], name = "data", columns: number | null = null) =>
  recordedRun(parameters, {
    columns,
    openLocalStore: (need) => openLocalStore({ dataDirectory: join(root, name), secretKey: null }, need),
  });

describe("migrate", () => {
  const between = (from: string, to: string) => {
    const [source, target] = [from, to].map((name) => `sqlite:${join(root, name)}`);
    return ["migrate", "--from", String(source), "--to", String(target)];
  };

  it("prints progress and a summary of every table", async () => {
    const { code, output, errors } = await run(between("data", "new"));
    expect({ code, output }).toEqual({
      code: 0,
      output: expect.stringContaining("All rows are copied") as string,
    });
    expect(output).toMatch(/\nmessages +\d+ rows +[0-9a-f]{16}\n/);
    expect(output).toContain("COLLOQUY_SECRET_KEY");
    expect(errors).toMatch(/^Copying +: \d+ of \d+ rows\n/);
    expect(errors).toMatch(/\nComparing: \d+ of \d+ rows\n/);
    await withServer("new", async (store) => expect(await store.sessions.find(filled.done)).not.toBeNull());
  });

  it("resumes after its process was killed", async () => {
    const main = join(import.meta.dirname, "../main.ts");
    const environment = {
      cwd: root,
      env: { ...BARE_ENVIRONMENT, COLLOQUY_DATA_DIR: join(root, "new") },
    };
    const killed = spawn(process.execPath, [main, ...between("data", "new")], environment);
    await once(killed.stderr, "data");
    killed.kill("SIGKILL");
    await once(killed, "close");
    const { stdout } = await promisify(execFile)(
      process.execPath,
      [main, ...between("data", "new")],
      environment,
    );
    expect(stdout).toMatch(/All rows are copied|The move was already complete/);
    const doctor = await promisify(execFile)(process.execPath, [main, "doctor"], environment).catch(
      (error: { stdout: string }) => error,
    );
    expect(doctor.stdout).toMatch(/ok {7}database {8}SQLite in .*new: schema version/);
  });

  it.each(["data", "data/", "data/colloquy.db", "link"])(
    "refuses to move a database to itself: %s",
    async (to) => {
      await symlink(join(root, "data"), join(root, "link"));
      expect(await run(between("data", to))).toEqual({
        code: 1,
        output: "",
        errors: expect.stringMatching(/^Colloquy: --from and --to name the same database.*\n$/) as string,
      });
    },
  );

  it("draws a progress bar on a terminal", async () => {
    const { code, output, errors } = await run(between("data", "new"), "data", 100);
    expect({ code, errors }).toEqual({ code: 0, errors: "" });
    expect(output).toMatch(/Copying +\[[#-]+\] \d+% \| \d+ of \d+ rows/);
    expect(output).toMatch(/Comparing \[#+\] 100% \|/);
  });

  it("prints one document with --json", async () => {
    const { code, output } = await run([...between("data", "new"), "--json"], "data", 100);
    expect(code).toBe(0);
    expect(JSON.parse(output)).toMatchObject({
      from: `sqlite:${join(root, "data")}`,
      outcome: "moved",
      tables: expect.arrayContaining([
        { table: "sessions", rows: 7, sha256: expect.stringMatching(/^[0-9a-f]{64}$/) as string },
      ]) as unknown[],
    });
  });

  it.each([
    [["--from", "data", "--to", "sqlite:x"], 2, /--from: It must be sqlite:PATH/],
    [["--from", "sqlite:data", "--to", "mysql://x"], 2, /--to: It must be sqlite:PATH/],
    [
      ["--from", "sqlite:/nowhere/at/all", "--to", "sqlite:/nowhere/else"],
      1,
      /no Colloquy database in \/nowhere\/at\/all/,
    ],
    [["--to", "sqlite:x"], 2, /required option '--from <database>'/],
  ])("prints a reason for %j and exits with %i", async (parameters, code, why) => {
    expect(await run(["migrate", ...parameters])).toMatchObject({
      code,
      output: "",
      errors: expect.stringMatching(why) as string,
    });
  });
});

describe("progress", () => {
  it("prints a line for each phase, and then one every five seconds", () => {
    const { parts, written } = recordedParts({});
    let now = 0;
    const progress = createProgress(parts, () => now);
    for (let done = 0; done < 12; done += 1) {
      progress.show("Copying", done, 12);
      now += 1000;
    }
    for (const done of [12, 12, 12]) progress.show("Copying", done, 12);
    progress.show("Comparing", 1, 12);
    expect(written.errors.split("\n")).toEqual([
      "Copying: 0 of 12 rows",
      "Copying: 5 of 12 rows",
      "Copying: 10 of 12 rows",
      "Copying: 12 of 12 rows",
      "Comparing: 1 of 12 rows",
      "",
    ]);
  });
});

describe("export and import", () => {
  it("copy a session between stores through a file, beside a running server", async () => {
    const file = join(root, "session.jsonl");
    await withServer("data", async () => {
      const { code, output, errors } = await run(["export", "--session", filled.done, "--out", file]);
      expect({ code, output, errors }).toEqual({
        code: 0,
        output: "",
        errors: expect.stringMatching(/^1 session, \d+ lines: .*session\.jsonl\n$/) as string,
      });
    });
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    await withServer("new", async (store) => {
      expect(await run(["import", file], "new")).toEqual({
        code: 0,
        output: `${filled.done} imported\n`,
        errors: "",
      });
      expect(await store.sessions.find(filled.done)).not.toBeNull();
    });
  });

  it("write the same to standard output, and all sessions of a wallet", async () => {
    const { output } = await run(["export", "--wallet", WALLET.toUpperCase().replace("0X", "0x")]);
    const ids = output
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line) as { kind?: string; id: string })
      .filter(({ kind }) => kind === "session");
    expect(ids.map(({ id }) => id).toSorted()).toEqual([filled.done, filled.running].toSorted());
  });

  it("exit with 1 and the line number if a session is refused", async () => {
    const { output } = await run(["export", "--session", filled.done]);
    const file = join(root, "broken.jsonl");
    await writeFile(file, output.replace('"role":"user"', '"role":"stranger"'));
    const { code, output: said, errors } = await run(["import", file], "new");
    expect({ code, said }).toEqual({ code: 1, said: "" });
    expect(errors).toMatch(
      new RegExp(`^Line 3 role: .*Session ${filled.done} was skipped.\nColloquy: 1 of 1 were refused`),
    );
    const json = await run(["import", "--json", file], "new");
    expect(JSON.parse(json.output)).toEqual([
      { session_id: filled.done, line: 3, outcome: "refused", problem: expect.any(String) as string },
    ]);
  });

  it("replace a session only if no server has it in memory", async () => {
    const file = join(root, "session.jsonl");
    await run(["export", "--session", filled.done, "--out", file]);
    expect(await run(["import", file])).toMatchObject({
      code: 1,
      errors: expect.stringContaining("--replace") as string,
    });
    await withServer("data", async () => {
      const { code, errors } = await run(["import", "--replace", file]);
      expect({ code, errors }).toEqual({
        code: 1,
        errors: expect.stringContaining("in use by a Colloquy server") as string,
      });
    });
    expect(await run(["import", "--replace", file])).toMatchObject({
      code: 0,
      output: `${filled.done} replaced\n`,
    });
  });

  it("do not create a data directory for an export", async () => {
    const file = join(root, "none.jsonl");
    expect(await run(["export", "--session", filled.done, "--out", file], "elsewhere")).toEqual({
      code: 1,
      output: "",
      errors: expect.stringMatching(
        /^Colloquy: There is no Colloquy database in \S+elsewhere yet\. /,
      ) as string,
    });
    expect(await readdir(root)).toEqual(["data"]);
  });

  it("leave no file if nothing was exported, and never overwrite one", async () => {
    const file = join(root, "none.jsonl");
    const unknown = "00000000-0000-4000-8000-000000000001";
    expect(await run(["export", "--session", unknown, "--out", file])).toMatchObject({ code: 1 });
    for (const path of [file, `${file}.part`]) await expect(access(path)).rejects.toThrow(/ENOENT/);
    await writeFile(file, "mine");
    expect(await run(["export", "--session", filled.done, "--out", file])).toMatchObject({
      code: 1,
      errors: expect.stringContaining("exists") as string,
    });
    expect(await readFile(file, "utf8")).toBe("mine");
  });

  it.each([
    [["export"], 2, /either --session ID or --wallet KEY/],
    [["export", "--session", "x", "--wallet", "y"], 2, /either --session ID or --wallet KEY/],
    [["export", "--session", "nobody"], 2, /is not a session id/],
    [["export", "--wallet", "a b"], 2, /not a wallet address/],
    [
      ["import", "/nowhere/at/all"],
      1,
      /\/at\/all cannot be used: there is no such file or directory\. Name a file/,
    ],
    [
      ["export", "--wallet", WALLET, "--out", "/nowhere/x"],
      1,
      /--out: \/nowhere\/x cannot be used: there is no such file or directory\. Name a file/,
    ],
    [["import"], 2, /missing required argument 'file'/],
  ])("print a reason for %j and exit with %i", async (parameters, code, why) => {
    expect(await run(parameters)).toMatchObject({
      code,
      output: "",
      errors: expect.stringMatching(why) as string,
    });
  });
});
