import { mkdir, mkdtemp, rm, rmdir, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { lockDirectory } from "./lock.ts";
import { forgetAddress, noteAddress, readAddress } from "./served-address.ts";

const ADDRESS = "http://127.0.0.1:8080";
let directory = "";
beforeEach(async () => void (directory = await mkdtemp(join(tmpdir(), "colloquy-address-"))));
afterEach(() => rm(directory, { recursive: true }));

it("is read as it was noted, by the owner of the directory alone", async () => {
  expect(readAddress(directory)).toBeNull();
  noteAddress(directory, ADDRESS);
  expect(readAddress(directory)).toBe(ADDRESS);
  expect((await stat(join(directory, "server.address"))).mode & 0o777).toBe(0o600);
});

it("of a server that was killed is not taken for that of the next one, nor is one that has stopped", () => {
  noteAddress(directory, ADDRESS);
  const lock = lockDirectory(directory, null);
  expect(readAddress(directory)).toBeNull();
  noteAddress(directory, ADDRESS);
  lock.release();
  expect(readAddress(directory)).toBeNull();
});

it("is left out where it cannot be written", () => {
  noteAddress(join(directory, "absent"), ADDRESS);
  expect(readAddress(join(directory, "absent"))).toBeNull();
});

/** What nobody may remove: a folder stands for it, because tests may run as root, who may remove any file. */
const unremovable = (name: string) => mkdir(join(directory, name));

it("that cannot be removed does not hold up the end of a server", async () => {
  const lock = lockDirectory(directory, null);
  await unremovable("server.address");
  await unremovable("server.pid");
  expect(() => forgetAddress(directory)).not.toThrow();
  expect(() => lock.release()).not.toThrow();
  await rmdir(join(directory, "server.address"));
  // The directory is there for the next one.
  lockDirectory(directory, null).release();
});

it("of a server that has ended is not left in force: the next one says that it is to be removed", async () => {
  await unremovable("server.address");
  const path = join(directory, "server.address");
  const sentence = `${path}, which says where a server listened that has ended, cannot be removed (`;
  expect(() => lockDirectory(directory, null)).toThrow(sentence);
  expect(() => lockDirectory(directory, null)).toThrow("Remove it, and let the user of the service write");
  await rmdir(path);
  // Whoever was refused does not keep the directory.
  lockDirectory(directory, null).release();
});
