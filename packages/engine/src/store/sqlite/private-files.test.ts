import { spawnSync } from "node:child_process";
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { tightenData } from "./private-files.ts";

let folder = "";
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "colloquy-private-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const modeOf = (path: string): number => statSync(path).mode & 0o7777;

/** Opens a store in a process with this umask, and prints the permissions of all files while it is open. */
const OPENING = `
  const { openSqliteStore } = await import(process.argv[2]);
  const { lockFile } = await import(process.argv[2].replace("open.ts", "lock.ts"));
  const { readdirSync, statSync } = await import("node:fs");
  process.umask(Number(process.argv[4]));
  const directory = process.argv[3];
  const clock = { now: () => Date.now() };
  const store = await openSqliteStore({ directory, processId: process.pid, clock, onFatal: (error) => { throw error; } });
  await store.probe();
  lockFile(directory + "/secrets.lock").release();
  const mode = (path) => (statSync(path).mode & 0o777).toString(8);
  const files = readdirSync(directory).map((name) => [name, mode(directory + "/" + name)]);
  console.log(JSON.stringify({ directory: mode(directory), files: Object.fromEntries(files) }));
  await store.close();
`;

describe("the data directory of a store", () => {
  it.each([0o000, 0o022, 0o077])("is accessible to its owner only under the umask %o", (umask) => {
    const data = join(folder, "made", "data");
    const main = join(import.meta.dirname, "open.ts");
    const program = join(folder, "opening.mjs");
    writeFileSync(program, OPENING);
    const { stdout, stderr } = spawnSync(process.execPath, [program, main, data, String(umask)], {
      encoding: "utf8",
    });
    expect(stderr).toBe("");
    const { directory, files } = JSON.parse(stdout) as {
      readonly directory: string;
      readonly files: Readonly<Record<string, string>>;
    };
    expect(directory).toBe("700");
    expect(modeOf(join(folder, "made"))).toBe(0o700);
    expect(Object.keys(files)).toEqual(
      expect.arrayContaining([
        "colloquy.db",
        "colloquy.db-wal",
        "colloquy.db-shm",
        "server.lock",
        "server.pid",
      ]),
    );
    expect(new Set(Object.values(files))).toEqual(new Set(["600"]));
  });
});

describe("data files that others can access", () => {
  it("are restricted to their owner, and reported once", () => {
    const data = join(folder, "data");
    mkdirSync(data);
    chmodSync(data, 0o2755);
    for (const name of ["colloquy.db", "colloquy.db-wal", "somebody-elses.txt"]) {
      writeFileSync(join(data, name), "");
      chmodSync(join(data, name), 0o644);
    }
    expect(tightenData(data)).toEqual([
      { path: data, mode: "755", isTight: true },
      { path: join(data, "colloquy.db"), mode: "644", isTight: true },
      { path: join(data, "colloquy.db-wal"), mode: "644", isTight: true },
    ]);
    expect(modeOf(data)).toBe(0o2700);
    expect(modeOf(join(data, "colloquy.db"))).toBe(0o600);
    expect(modeOf(join(data, "somebody-elses.txt"))).toBe(0o644);
    expect(tightenData(data)).toEqual([]);
    expect(readdirSync(data)).toHaveLength(3);
  });

  it("are ignored if they do not exist yet", () => {
    expect(tightenData(join(folder, "none"))).toEqual([]);
  });

  it("are left unchanged if the path is not a directory", () => {
    const file = join(folder, "somebody-elses.txt");
    writeFileSync(file, "");
    chmodSync(file, 0o666);
    expect(tightenData(file)).toEqual([]);
    expect(modeOf(file)).toBe(0o666);
  });

  it("are reported but unchanged in a shared directory, and on a volume that rejects chmod", () => {
    const shared = join(folder, "shared");
    mkdirSync(shared);
    chmodSync(shared, 0o1777);
    expect(tightenData(shared)).toEqual([{ path: shared, mode: "777", isTight: false }]);
    expect(modeOf(shared)).toBe(0o1777);
    // Nobody can change permissions in the kernel's own file systems.
    if (process.platform !== "linux") return;
    const foreign = join(folder, "foreign");
    symlinkSync("/proc/self/fdinfo", foreign);
    expect(tightenData(foreign)).toEqual([{ path: foreign, mode: "555", isTight: false }]);
  });
});
