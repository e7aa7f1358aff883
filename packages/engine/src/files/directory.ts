// Stores the bytes of files in a directory; by default, `files` in the data directory.

import { createReadStream } from "node:fs";
import { mkdir, open, rename, rm } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { z } from "zod";
import manifest from "../../package.json" with { type: "json" };
import { describeFileError } from "../core/file-error.ts";
import { defineFileStore, type ByteRange, type FileStore } from "../core/plugins/file-store.ts";
import { diskFailure, errorCode } from "./disk-failure.ts";
import { memoryFiles } from "./memory.ts";

export const directory = defineFileStore({
  name: "directory",
  version: manifest.version,
  settings: z.object({
    path: z
      .string()
      .min(1)
      .optional()
      .describe("Path of the directory, shared by all nodes. Defaults to `files` in the data directory."),
  }),
  async open({ path }, context) {
    // Created with the first file.
    if (path === undefined)
      return context.directory === null
        ? memoryFiles()
        : new DirectoryFiles(join(context.directory, "files"));
    const root = resolve(path);
    try {
      await mkdir(root, { recursive: true, mode: 0o700 });
    } catch (error) {
      throw new Error(
        describeFileError(`The file directory ${root}`, error, "Set files.path, or fix its permissions."),
        { cause: error },
      );
    }
    return new DirectoryFiles(root);
  },
});

class DirectoryFiles implements FileStore {
  readonly #root: string;

  constructor(root: string) {
    this.#root = root;
  }

  async put(name: string, content: AsyncIterable<Uint8Array>): Promise<void> {
    const path = this.#pathOf(name);
    const folder = dirname(path);
    const partial = `${path}.part`;
    try {
      const created = await mkdir(folder, { recursive: true, mode: 0o700 });
      const file = await open(partial, "wx", 0o600);
      try {
        for await (const chunk of content) await writeAll(file, chunk);
        await file.sync();
      } finally {
        await file.close();
      }
      await rename(partial, path);
      await syncFolder(folder);
      // A crash may lose a new directory until its parent is synced.
      for (let parent = folder; created !== undefined && parent !== this.#root; ) {
        parent = dirname(parent);
        await syncFolder(parent);
      }
      if (created === this.#root) await syncFolder(dirname(this.#root));
    } catch (error) {
      await rm(partial, { force: true }).catch(() => undefined);
      throw diskFailure(error);
    }
  }

  async get(name: string, range: ByteRange | null): Promise<AsyncIterable<Uint8Array> | null> {
    const file = await open(this.#pathOf(name), "r").catch((error: unknown) => {
      if (errorCode(error) === "ENOENT") return null;
      throw diskFailure(error);
    });
    if (file === null) return null;
    const part = range === null ? {} : { start: range.first, end: range.last };
    return createReadStream("", { fd: file, ...part });
  }

  async remove(name: string): Promise<void> {
    const path = this.#pathOf(name);
    await rm(`${path}.part`, { force: true });
    await rm(path, { force: true });
  }

  close(): Promise<void> {
    return Promise.resolve();
  }

  /** Shards the files of an App over 256 directories: some file systems are slow with very large ones. */
  #pathOf(name: string): string {
    const [, app, id] = /^([^/]+)\/([0-9a-f-]{4,36})$/.exec(name) ?? [];
    if (app === undefined || id === undefined) throw new TypeError(`"${name}" is not a valid file name`);
    return join(this.#root, encodeURIComponent(app).replaceAll(".", "%2E"), id.slice(0, 2), id);
  }
}

async function writeAll(
  file: { write(bytes: Uint8Array, offset: number): Promise<{ readonly bytesWritten: number }> },
  chunk: Uint8Array,
): Promise<void> {
  for (let written = 0; written < chunk.length; ) written += (await file.write(chunk, written)).bytesWritten;
}

/** Fsyncs a directory, which makes its entries durable. */
async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, "r");
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}
