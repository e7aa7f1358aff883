import { existsSync, globSync, readdirSync, statSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describeFileStore } from "@colloquy/testing/internal/files/file-store.suite";
import { ManualClock } from "@colloquy/testing";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { directory } from "./directory.ts";

const logger = { debug() {}, info() {}, warn() {}, error() {} };
const context = (data: string | null) => ({ directory: data, clock: new ManualClock(), logger });

describeFileStore("in a directory", async () => {
  const root = await mkdtemp(join(tmpdir(), "colloquy-files-"));
  const files = await directory.open({}, context(root));
  return { files, dispose: () => rm(root, { recursive: true }) };
});
describeFileStore("in memory", async () => ({
  files: await directory.open({}, context(null)),
  dispose: () => Promise.resolve(),
}));

describe("the directory file store", () => {
  let root: string;
  beforeEach(async () => void (root = await mkdtemp(join(tmpdir(), "colloquy-files-"))));
  afterEach(() => rm(root, { recursive: true }));
  async function* text(): AsyncGenerator<Uint8Array> {
    yield Buffer.from("tea");
  }

  it("creates files that only their owner can read, and rejects names outside the directory", async () => {
    const files = await directory.open({ path: join(root, "here") }, context(null));
    await files.put("../0123", text());
    await expect(files.put("../../0123", text())).rejects.toThrow(TypeError);
    await expect(files.put("default/..", text())).rejects.toThrow(TypeError);
    expect(readdirSync(root)).toEqual(["here"]);
    const paths = globSync("**", { cwd: join(root, "here") });
    for (const path of paths) {
      const { mode } = statSync(join(root, "here", path));
      expect(mode & 0o077).toBe(0);
    }
  });

  it("removes the partial file of a failed upload", async () => {
    const files = await directory.open({}, context(root));
    async function* broken(): AsyncGenerator<Uint8Array> {
      yield Buffer.from("t");
      throw new Error("broken off");
    }
    await expect(files.put("default/0123", broken())).rejects.toThrow("broken off");
    expect(globSync("files/**/*0123*", { cwd: root })).toEqual([]);
  });

  it("removes a partial file left by a crash", async () => {
    const files = await directory.open({}, context(root));
    await files.put("default/0123", text());
    const left = join(root, "files/default/01/0123.part");
    await writeFile(left, "t");
    await files.remove("default/0123");
    expect(existsSync(left)).toBe(false);
  });

  it("fails to open if the path is a file", async () => {
    await writeFile(join(root, "files"), "");
    await expect(directory.open({ path: join(root, "files") }, context(root))).rejects.toThrow(
      /The file directory .* Set files.path/,
    );
  });
});
