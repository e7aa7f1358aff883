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

it("returns the served address as written, to the owner of the directory only", async () => {
  expect(readAddress(directory)).toBeNull();
  noteAddress(directory, ADDRESS);
  expect(readAddress(directory)).toBe(ADDRESS);
  expect((await stat(join(directory, "server.address"))).mode & 0o777).toBe(0o600);
});

it("does not attribute the address of a killed or stopped server to the next one", () => {
  noteAddress(directory, ADDRESS);
  const lock = lockDirectory(directory, null);
  expect(readAddress(directory)).toBeNull();
  noteAddress(directory, ADDRESS);
  lock.release();
  expect(readAddress(directory)).toBeNull();
});

it("ignores a failure to write the address", () => {
  noteAddress(join(directory, "absent"), ADDRESS);
  expect(readAddress(join(directory, "absent"))).toBeNull();
});

/** Creates a directory in place of a file that cannot be removed, because tests may run as root. */
const unremovable = (name: string) => mkdir(join(directory, name));

it("does not delay the stop if the address cannot be removed", async () => {
  const lock = lockDirectory(directory, null);
  await unremovable("server.address");
  await unremovable("server.pid");
  expect(() => forgetAddress(directory)).not.toThrow();
  expect(() => lock.release()).not.toThrow();
  await rmdir(join(directory, "server.address"));
  // The next owner can lock the directory.
  lockDirectory(directory, null).release();
});

it("asks to remove the address of a stopped server if the next server cannot", async () => {
  await unremovable("server.address");
  const path = join(directory, "server.address");
  const sentence = `${path} has the address of a server that has ended, and cannot be removed (`;
  expect(() => lockDirectory(directory, null)).toThrow(sentence);
  expect(() => lockDirectory(directory, null)).toThrow("Remove the file, and make its directory writable");
  await rmdir(path);
  // A refused process releases the lock.
  lockDirectory(directory, null).release();
});
