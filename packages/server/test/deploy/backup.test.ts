// The backup and restore commands of docs/operations.md, run under load: everything acknowledged before the
// backup started is in it, once, and every session is usable.

import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdtemp, readFile, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { promisify } from "node:util";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { findFreePort, ServerProcess } from "../../torture/harness/server-process.ts";
import { chat, newSession, state } from "../black-box/client.ts";
import { installedPostgres } from "../postgres-programs.ts";
import { PostgresServer } from "../postgres-server.ts";
import { ROOT } from "./dockerfile.ts";

const run = promisify(execFile);
const MAIN = join(ROOT, "packages/server/src/main.ts");
const PAGE = await readFile(join(ROOT, "docs/operations.md"), "utf8");
const programs = await installedPostgres();
/** pg_dump, which npm does not provide, must match the server's version. */
const isWithoutDump = programs === null || !existsSync(join(programs, "pg_dump"));
const SESSIONS = 8;

describe("a backup made under load", () => {
  let directory: string;
  const servers: ServerProcess[] = [];
  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), "colloquy-backup-"));
  });
  afterEach(async () => {
    for (const server of servers.splice(0)) await server.end("SIGKILL");
    await rm(directory, { recursive: true, force: true });
  });

  it("has what SQLite contained at its start", async () => {
    await enlarge();
    const said = await whileUsed({}, () => shell(commands("backup of SQLite"), {}));
    expect((await stat(join(directory, "backup.db"))).mode & 0o777).toBe(0o600);
    await shell(commands("restore of SQLite"), {});
    await expectKept(said, {});
  });

  it.skipIf(isWithoutDump)(
    "has what PostgreSQL contained at its start",
    async () => {
      const server = await PostgresServer.start({}, programs);
      try {
        const before = { COLLOQUY_DATABASE_URL: server.url(await server.createDatabase()) };
        const said = await whileUsed(before, () => shell(commands("backup of PostgreSQL"), before));
        expect((await stat(join(directory, "colloquy.dump"))).mode & 0o777).toBe(0o600);
        const here = `--host=127.0.0.1 --port=${server.port}`;
        const restoring = commands("restore of PostgreSQL").map((line) =>
          line.replace("--host=db.internal", here),
        );
        const after = { COLLOQUY_DATABASE_URL: server.url("colloquy") };
        await shell(restoring, after);
        await expectKept(said, after);
      } finally {
        for (const node of servers.splice(0)) await node.end("SIGKILL");
        await server.stop();
      }
    },
    90_000,
  );

  /**
   * Sends messages, makes the backup while more arrive, and kills the service. Returns the earlier messages
   * by session.
   */
  async function whileUsed(
    environment: Readonly<Record<string, string>>,
    copy: () => Promise<void>,
  ): Promise<ReadonlyMap<string, readonly string[]>> {
    const { url, server } = await start(environment);
    const said = new Map(Array.from({ length: SESSIONS }, () => [newSession(), [] as string[]]));
    const say = async (session: string, text: string) => {
      await chat(url, session, text);
      await state(url, session, { headers: { Prefer: "wait=20" } });
    };
    await Promise.all(
      [...said].map(async ([session, texts]) => {
        for (const text of ["before-1", "before-2"]) {
          await say(session, `${session} ${text}`);
          texts.push(`${session} ${text}`);
        }
      }),
    );
    let isCopied = false;
    const going = [...said.keys()].map(async (session) => {
      while (!isCopied) await say(session, `${session} meanwhile`);
    });
    await copy();
    isCopied = true;
    await Promise.all(going);
    await server.end("SIGKILL");
    return said;
  }

  /** Makes the database so large that messages are stored while it is copied. */
  async function enlarge(): Promise<void> {
    const { server } = await start({});
    await server.end("SIGTERM");
    using database = new DatabaseSync(join(directory, "data/colloquy.db"));
    database.exec(`CREATE TABLE filler AS WITH RECURSIVE rows (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM rows WHERE n < 25000)
      SELECT n, randomblob(4000) FROM rows`);
  }

  async function expectKept(
    said: ReadonlyMap<string, readonly string[]>,
    environment: Readonly<Record<string, string>>,
  ): Promise<void> {
    const { url } = await start(environment);
    for (const [session, texts] of said) {
      const { messages } = await state(url, session, { headers: { Prefer: "wait=20" } });
      const kept = messages.filter(
        ({ sender, content }) => sender === "user" && content.includes(" before-"),
      );
      expect(kept.map(({ content }) => content)).toEqual(texts);
      await chat(url, session, "afterwards");
    }
  }

  async function start(
    environment: Readonly<Record<string, string>>,
  ): Promise<{ readonly url: string; readonly server: ServerProcess }> {
    const port = await findFreePort();
    const server = new ServerProcess({ main: MAIN, directory, port, environment });
    servers.push(server);
    await server.ready();
    return { url: `http://127.0.0.1:${port}`, server };
  }

  async function shell(
    lines: readonly string[],
    environment: Readonly<Record<string, string>>,
  ): Promise<void> {
    const PATH = [dirname(process.execPath), programs, process.env["PATH"]].join(":");
    await run("sh", ["-euc", lines.join("\n")], { cwd: directory, env: { ...environment, PATH } });
  }
});

/** Returns the lines of the command block after `<!-- name -->` in docs/operations.md. */
function commands(name: string): readonly string[] {
  const block = PAGE.split(`<!-- ${name} -->`)[1]?.split("```")[1];
  if (block === undefined) throw new Error(`docs/operations.md has no commands for the ${name}`);
  return block
    .split("\n")
    .slice(1)
    .filter((line) => line !== "");
}
