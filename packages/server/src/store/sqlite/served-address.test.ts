import { mkdtemp, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { lockDirectory } from "./lock.ts";
import { noteAddress, readAddress } from "./served-address.ts";

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
