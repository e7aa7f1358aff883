import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createRandom } from "../harness/random.ts";
import { DiskImage } from "./disk-image.ts";
import type { SystemCallEvent } from "./system-calls.ts";

const PATH = "/data/a.db";
let into = "";

beforeEach(() => {
  into = mkdtempSync(join(tmpdir(), "colloquy-image-"));
});
afterEach(() => rmSync(into, { recursive: true }));

function write(offset: number, text: string, path = PATH): SystemCallEvent {
  return { kind: "write", path, offset, data: Buffer.from(text) };
}

function sync(path = PATH): SystemCallEvent[] {
  return (["sync begins", "sync ends"] as const).map((kind) => ({ kind, path, thread: "1" }));
}

function restored(events: readonly SystemCallEvent[], seed: string | null = null): Record<string, string> {
  rmSync(into, { recursive: true, force: true });
  const image = new DiskImage();
  for (const event of events) image.apply(event);
  image.restore("/data", into, seed === null ? null : createRandom(seed));
  return Object.fromEntries(readdirSync(into).map((file) => [file, readFileSync(join(into, file), "utf8")]));
}

describe("a disk after a power cut", () => {
  it("contains synced writes and nothing later", () => {
    expect(restored([write(0, "hello"), ...sync(), write(0, "J"), write(5, " world")])).toEqual({
      "a.db": "hello",
    });
    expect(restored([write(0, "hello")])).toEqual({});
  });

  it("does not count writes made during the sync", () => {
    const [begins, ends] = sync() as [SystemCallEvent, SystemCallEvent];
    expect(restored([write(0, "a"), begins, write(1, "b"), ends])).toEqual({ "a.db": "a" });
  });

  it("handles files separately and ignores those outside the directory", () => {
    const other = "/elsewhere/b";
    expect(restored([write(0, "a"), write(0, "b", other), ...sync(other), ...sync()])).toEqual({
      "a.db": "a",
    });
  });

  it("follows truncation and removal", () => {
    const truncate: SystemCallEvent = { kind: "truncate", path: PATH, length: 2 };
    expect(restored([write(0, "hello"), truncate, ...sync()])).toEqual({ "a.db": "he" });
    expect(restored([write(0, "hello"), ...sync(), { kind: "remove", path: PATH }])).toEqual({});
  });

  it("may contain any subset of unsynced sectors", () => {
    const events = [write(0, "a".repeat(512)), ...sync(), write(0, "b".repeat(512) + "c".repeat(512))];
    const seen = new Set(
      Array.from({ length: 40 }, (_, seed) => {
        const content = restored(events, String(seed))["a.db"] ?? "";
        return `${content[0]}${content[512] ?? ""}`.replaceAll("\0", "0");
      }),
    );
    expect(seen).toEqual(new Set(["a", "b", "ac", "bc"]));
  });
});
