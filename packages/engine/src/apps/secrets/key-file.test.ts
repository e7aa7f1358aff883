import { chmod, mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { formatMasterKey } from "../../core/secrets.ts";
import { createKeyFile } from "./key-file.ts";
import { newMasterKey } from "./master-key.ts";

let directory = "";
const path = (): string => join(directory, "secret.key");

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "colloquy-key-"));
});

afterEach(async () => {
  await rm(directory, { recursive: true });
});

describe("the key file", () => {
  it("is empty before its creation, then holds its key and is readable by its owner only", async () => {
    const file = createKeyFile(path());
    expect(await file.read()).toEqual([]);
    expect(await file.isExposed()).toBe(false);
    const key = newMasterKey();
    await file.create(key);
    expect(await file.read()).toEqual([key]);
    expect((await stat(path())).mode & 0o777).toBe(0o600);
    expect(await file.isExposed()).toBe(false);
    expect(await readdir(directory)).toEqual(["secret.key"]);
  });

  it("is created once by concurrent calls", async () => {
    const keys = Array.from({ length: 8 }, newMasterKey);
    await Promise.all(keys.map((key) => createKeyFile(path()).create(key)));
    const made = await createKeyFile(path()).read();
    expect(made).toHaveLength(1);
    expect(keys).toContainEqual(made[0]);
    await createKeyFile(path()).create(newMasterKey());
    expect(await createKeyFile(path()).read()).toEqual(made);
    expect(await readdir(directory)).toEqual(["secret.key"]);
  });

  it("is replaced atomically, even after a crash that left a temporary file", async () => {
    const file = createKeyFile(path());
    const [old, next] = [newMasterKey(), newMasterKey()];
    await file.create(old);
    await writeFile(`${path()}.new`, "half a k", { mode: 0o644 });
    await file.replace([next, old]);
    expect(await file.read()).toEqual([next, old]);
    expect((await stat(path())).mode & 0o777).toBe(0o600);
    expect(await readFile(path(), "utf8")).toBe(`${formatMasterKey(next)}\n${formatMasterKey(old)}\n`);
    expect(await readdir(directory)).toEqual(["secret.key"]);
  });

  it("may be a symbolic link, and stays one", async () => {
    const target = join(directory, "elsewhere");
    await createKeyFile(target).create(newMasterKey());
    await symlink(target, path());
    const next = newMasterKey();
    await createKeyFile(path()).replace([next]);
    expect(await createKeyFile(target).read()).toEqual([next]);
    expect(await readFile(path(), "utf8")).toBe(`${formatMasterKey(next)}\n`);
  });

  it.each([
    ["nonsense", "correct horse", /secret\.key must be a key of 32 bytes/],
    ["nothing", "\n", /secret\.key is empty\. Put the master key back/],
  ])("is rejected if it contains %s, without quoting it", async (_, content, sentence) => {
    await writeFile(path(), content);
    await expect(createKeyFile(path()).read()).rejects.toThrow(sentence);
    await expect(createKeyFile(path()).read()).rejects.not.toThrow(/horse/);
  });

  it.each([0o640, 0o604, 0o620, 0o666])("is exposed with mode %o", async (mode) => {
    await createKeyFile(path()).create(newMasterKey());
    await chmod(path(), mode);
    expect(await createKeyFile(path()).isExposed()).toBe(true);
  });
});
