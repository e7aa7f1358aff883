// What a disk holds for certain after the power failed: of each file only what a finished sync covers. What was written since
// may be there or not, in any combination, so a cut may also keep some of it.

import { mkdirSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import type { Random } from "../harness/random.ts";
import type { Happening } from "./system-calls.ts";

type Change = Extract<Happening, { readonly kind: "write" } | { readonly kind: "truncate" }>;

/** Sectors are written whole. */
const SECTOR = 512;

class FileImage {
  #durable = Buffer.alloc(0);
  #pending: Change[] = [];
  /** How many pending changes the sync that runs in a thread covers. */
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

  /** The file after a power cut; with `random` some unsynced sectors have reached the disk all the same. */
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

  /** Takes in what happened next. Files that SQLite maps into memory (`-shm`) hold nothing that counts after a cut. */
  apply(happening: Happening): void {
    if (happening.kind === "sent" || happening.kind === "received" || happening.path.endsWith("-shm")) return;
    if (happening.kind === "remove") {
      this.#files.delete(happening.path);
      return;
    }
    const file = this.#files.get(happening.path) ?? new FileImage();
    this.#files.set(happening.path, file);
    if (happening.kind === "sync begins") file.beginSync(happening.thread);
    else if (happening.kind === "sync ends") file.endSync(happening.thread);
    else file.change(happening);
  }

  /** Writes the files of `directory` as they are after a cut into another directory. A file that was never synced is empty. */
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
