import { randomBytes, randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "../harness.ts";
import type { ByteRange, FileStore } from "@colloquy/engine/internal/core/plugins/file-store";

/** Opens a file store. The tests leave files in it. */
export type OpenFiles = () => Promise<{ readonly files: FileStore; dispose(): Promise<void> }>;

/** The contract of file stores. */
export function describeFileStore(name: string, openFiles: OpenFiles): void {
  describe(`the contract of file stores, ${name}`, () => {
    let opened: Awaited<ReturnType<OpenFiles>>;
    beforeAll(async () => void (opened = await openFiles()));
    afterAll(async () => {
      await opened.files.close();
      await opened.dispose();
    });

    const newName = () => `default/${randomUUID()}`;
    async function* inChunks(bytes: Uint8Array, size: number): AsyncGenerator<Uint8Array> {
      for (let from = 0; from < bytes.length; from += size) yield bytes.subarray(from, from + size);
    }
    async function read(of: string, range: ByteRange | null = null): Promise<Buffer | null> {
      const content = await opened.files.get(of, range);
      if (content === null) return null;
      const chunks: Uint8Array[] = [];
      for await (const chunk of content) chunks.push(chunk);
      return Buffer.concat(chunks);
    }
    async function stored(bytes: Uint8Array, size = 65_536): Promise<string> {
      const of = newName();
      await opened.files.put(of, inChunks(bytes, size));
      return of;
    }

    it("returns stored bytes, regardless of their chunks", async () => {
      const bytes = randomBytes(300_000);
      expect((await read(await stored(bytes, 7_001)))?.equals(bytes)).toBe(true);
      expect(await read(await stored(Buffer.from("x")))).toEqual(Buffer.from("x"));
    });

    it("returns a file of several MiB", async () => {
      const bytes = randomBytes(12 * 1024 * 1024);
      const of = await stored(bytes);
      expect((await read(of))?.equals(bytes)).toBe(true);
    });

    it("returns ranges", async () => {
      const bytes = randomBytes(200_000);
      const of = await stored(bytes);
      for (const [first, last] of [
        [0, 0],
        [0, 199_999],
        [70_000, 140_000],
        [199_999, 199_999],
      ] as const)
        expect((await read(of, { first, last }))?.equals(bytes.subarray(first, last + 1))).toBe(true);
    });

    it("returns null for an unknown name", async () => {
      expect(await read(newName())).toBeNull();
      await opened.files.remove(newName());
    });

    it("removes bytes, and ignores repeated removals", async () => {
      const of = await stored(randomBytes(10));
      await opened.files.remove(of);
      expect(await read(of)).toBeNull();
      await opened.files.remove(of);
    });

    it("rejects with the content's error, and stores nothing", async () => {
      const of = newName();
      const failure = new Error("broken off");
      async function* broken(): AsyncGenerator<Uint8Array> {
        yield randomBytes(100_000);
        throw failure;
      }
      const error: unknown = await opened.files.put(of, broken()).catch((thrown: unknown) => thrown);
      expect(error).toBe(failure);
      expect(await read(of)).toBeNull();
      await opened.files.remove(of);
    });

    it("keeps files of different Apps apart", async () => {
      const id = randomUUID();
      await opened.files.put(`one/${id}`, inChunks(Buffer.from("1"), 1));
      await opened.files.put(`..two/${id}`, inChunks(Buffer.from("2"), 1));
      expect(await read(`one/${id}`)).toEqual(Buffer.from("1"));
      expect(await read(`..two/${id}`)).toEqual(Buffer.from("2"));
    });

    it("stores many files at once", async () => {
      const all = Array.from({ length: 20 }, () => randomBytes(5_000));
      const names = await Promise.all(all.map((bytes) => stored(bytes)));
      for (const [index, of] of names.entries()) expect((await read(of))?.equals(all[index]!)).toBe(true);
    });
  });
}
