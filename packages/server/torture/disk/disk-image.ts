// The guaranteed content of a disk after a power failure: for each file only what a completed sync covers.
// Later writes may be present in any combination, so a cut may also keep some of them.

import { mkdirSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import type { Random } from "../harness/random.ts";
import type { SystemCallEvent } from "./system-calls.ts";

type Change = Extract<SystemCallEvent, { readonly kind: "write" } | { readonly kind: "truncate" }>;

/** Sectors are written atomically. */
const SECTOR = 512;

class FileImage {
  #durable = Buffer.alloc(0);
  #pending: Change[] = [];
  /** Number of pending changes that a thread's running sync covers. */
  readonly #covered = new Map<string, number>();

  change(change: Change): void {
    this.#pending.push(change);
  }

  beginSync(thread: string): void {
    this.#covered.set(thread, this.#pending.length);
  }

  endSync(thread: string): void {
    const covered = this.#covered.get(thread) ?? 0;
    for (const change of this.#pending.slice(0, covered)) this.#durable = applied(this.#durable, change);
    this.#pending = this.#pending.slice(covered);
    this.#covered.clear();
  }

  /** Returns the file after a power cut; with `random`, some unsynced sectors have reached the disk. */
  afterCut(random: Random | null): Buffer {
    if (random === null) return this.#durable;
    let content = Buffer.from(this.#durable);
    for (const change of this.#pending) {
      if (change.kind === "truncate") {
        if (random.chance(0.5)) content = applied(content, change);
        continue;
      }
      for (let from = 0; from < change.data.length; from += SECTOR) {
        const data = change.data.subarray(from, from + SECTOR);
        if (random.chance(0.5)) content = applied(content, { ...change, offset: change.offset + from, data });
      }
    }
    return content;
  }
}

export class DiskImage {
  readonly #files = new Map<string, FileImage>();

  /** Applies the next event. Memory-mapped files of SQLite (`-shm`) are irrelevant after a cut. */
  apply(event: SystemCallEvent): void {
    if (event.kind === "sent" || event.kind === "received" || event.path.endsWith("-shm")) return;
    if (event.kind === "remove") {
      this.#files.delete(event.path);
      return;
    }
    const file = this.#files.get(event.path) ?? new FileImage();
    this.#files.set(event.path, file);
    if (event.kind === "sync begins") file.beginSync(event.thread);
    else if (event.kind === "sync ends") file.endSync(event.thread);
    else file.change(event);
  }

  /**
   * Writes the files of `directory` into another directory as they are after a cut. A file that was never
   * synced is empty.
   */
  restore(directory: string, into: string, random: Random | null): void {
    mkdirSync(into, { recursive: true });
    for (const [path, file] of this.#files) {
      if (!path.startsWith(`${directory}/`)) continue;
      const content = file.afterCut(random);
      if (content.length > 0) writeFileSync(join(into, basename(path)), content);
    }
  }
}

function applied(content: Buffer<ArrayBuffer>, change: Change): Buffer<ArrayBuffer> {
  if (change.kind === "truncate") {
    return change.length <= content.length
      ? content.subarray(0, change.length)
      : Buffer.concat([content, Buffer.alloc(change.length - content.length)]);
  }
  const end = change.offset + change.data.length;
  const grown =
    end <= content.length ? content : Buffer.concat([content, Buffer.alloc(end - content.length)]);
  change.data.copy(grown, change.offset);
  return grown;
}
