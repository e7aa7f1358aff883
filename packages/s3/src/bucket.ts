// Stores the bytes of files as objects of a bucket.

import { randomUUID } from "node:crypto";
import { createWriteStream, openAsBlob } from "node:fs";
import { mkdir, mkdtemp, readdir, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import { S3mini, S3ServiceError } from "s3mini";
import type {
  ByteRange,
  FileStore,
  FileStoreContext,
} from "@colloquy/engine/internal/core/plugins/file-store";
import { diskFailure } from "@colloquy/engine/internal/files/disk-failure";
import { storeUnavailable } from "@colloquy/engine/internal/store/unavailable";
import { retryingFetch } from "./retrying-fetch.ts";

/** Age in milliseconds of a spooled file that nobody writes or sends any more: uploads take at most 14 minutes. */
const LEFT_MS = 20 * 60_000;

export interface BucketSettings {
  readonly endpoint: string;
  readonly region: string;
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly prefix: string;
}

/** Opens the bucket. Rejects if it does not exist or refuses the keys. Resolves if it cannot be reached. */
export async function openBucket(
  { prefix, ...settings }: BucketSettings,
  { directory, clock, logger }: FileStoreContext,
): Promise<FileStore> {
  const bucket = new S3mini({ ...settings, fetch: retryingFetch(clock) });
  try {
    if (!(await bucket.bucketExists()))
      throw new BucketRefused(
        `The bucket ${settings.endpoint} does not exist, or refuses the keys. Check files.endpoint, files.region and the keys, which need s3:ListBucket.`,
      );
  } catch (error) {
    if (error instanceof BucketRefused) throw error;
    logger.warn({ err: error, endpoint: settings.endpoint }, "the bucket of files cannot be reached");
  }
  if (directory === null) {
    const spool = await mkdtemp(join(tmpdir(), "colloquy-spool-"));
    return new BucketFiles(bucket, { prefix, spool, isTemporary: true, clock });
  }
  const spool = join(directory, "spool");
  await mkdir(spool, { recursive: true, mode: 0o700 });
  return new BucketFiles(bucket, { prefix, spool, isTemporary: false, clock });
}

/** Removes files of processes that ended. Others may be in use by a process that shares the directory. */
async function removeLeft(spool: string, before: number): Promise<void> {
  for (const name of await readdir(spool)) {
    const path = join(spool, name);
    const { mtimeMs } = await stat(path).catch(() => ({ mtimeMs: before }));
    if (mtimeMs < before) await rm(path, { force: true });
  }
}

class BucketRefused extends Error {}

interface Spooling {
  /** Prefix of the keys. */
  readonly prefix: string;
  readonly spool: string;
  /** True if the directory is removed at the end. */
  readonly isTemporary: boolean;
  readonly clock: FileStoreContext["clock"];
}

class BucketFiles implements FileStore {
  readonly #bucket: S3mini;
  readonly #prefix: string;
  readonly #spool: string;
  readonly #isTemporary: boolean;
  readonly #clock: Spooling["clock"];
  /** Time of the last search for files of earlier processes, in milliseconds. */
  #lookedAt = Number.NEGATIVE_INFINITY;

  constructor(bucket: S3mini, { prefix, spool, isTemporary, clock }: Spooling) {
    this.#bucket = bucket;
    this.#prefix = prefix;
    this.#spool = spool;
    this.#isTemporary = isTemporary;
    this.#clock = clock;
  }

  /** Spools the content to disk, because S3 needs its length first and a slow upload must not occupy memory. */
  async put(name: string, content: AsyncIterable<Uint8Array>): Promise<void> {
    const key = this.#keyOf(name);
    const now = this.#clock.now();
    if (now - this.#lookedAt >= LEFT_MS) {
      this.#lookedAt = now;
      await removeLeft(this.#spool, now - LEFT_MS);
    }
    const path = join(this.#spool, randomUUID());
    try {
      await pipeline(content, createWriteStream(path, { flags: "wx", mode: 0o600 })).catch(
        (error: unknown) => {
          throw diskFailure(error);
        },
      );
      const bytes = await openAsBlob(path);
      await this.#bucket.putObject(key, bytes).catch(unavailable);
    } finally {
      await rm(path, { force: true });
    }
  }

  async get(name: string, range: ByteRange | null): Promise<AsyncIterable<Uint8Array> | null> {
    const key = this.#keyOf(name);
    const response = await (range === null
      ? this.#bucket.getObjectRaw(key)
      : // The library excludes the end.
        this.#bucket.getObjectRaw(key, false, range.first, range.last + 1)
    ).catch((error: unknown) => (isMissing(error) ? null : unavailable(error)));
    if (response === null) return null;
    const { body, status, headers } = response;
    if (body !== null && range === null && status === 200) return body;
    const start = `bytes ${range?.first}-`;
    if (body !== null && range !== null && status === 206 && headers.get("content-range")?.startsWith(start))
      return firstOf(body, range.last + 1 - range.first);
    await body?.cancel();
    return unavailable(new Error(`The bucket answered ${status} without the requested bytes.`));
  }

  async remove(name: string): Promise<void> {
    await this.#bucket
      .deleteObject(this.#keyOf(name))
      .catch((error: unknown) => (isMissing(error) ? undefined : unavailable(error)));
  }

  async close(): Promise<void> {
    if (this.#isTemporary) await rm(this.#spool, { recursive: true, force: true });
  }

  /** Escapes the name of the App: URLs cannot contain the segments `.` and `..`. */
  #keyOf(name: string): string {
    const [, app, id] = /^([^/]+)\/([0-9a-f-]{4,36})$/.exec(name) ?? [];
    if (app === undefined || id === undefined) throw new TypeError(`"${name}" is not a valid file name`);
    return `${this.#prefix}${encodeURIComponent(app).replaceAll("%", "~").replaceAll(".", "~2E")}/${id}`;
  }
}

/** Returns the first bytes. Some servers send more than the requested range. */
async function* firstOf(content: AsyncIterable<Uint8Array>, length: number): AsyncGenerator<Uint8Array> {
  let left = length;
  for await (const chunk of content) {
    yield chunk.subarray(0, left);
    left -= chunk.length;
    if (left <= 0) return;
  }
  throw new Error("The bucket sent fewer bytes than the requested range.");
}

function isMissing(error: unknown): boolean {
  return error instanceof S3ServiceError && error.status === 404 && error.serviceCode !== "NoSuchBucket";
}

function unavailable(error: unknown): never {
  throw storeUnavailable(error);
}
