// Uploads, reads and garbage-collects files of sessions. An upload records its blob as unused, stores the
// bytes, and then inserts the row. After a crash at any point, cleanup removes the blob unless the row
// exists.

import { createHash, randomUUID } from "node:crypto";
import type { Attachment } from "@colloquy/protocol";
import { isText, type MediaType } from "@colloquy/protocol/media-types";
import { NotFound, OutcomeUnknown, ServiceError, Unavailable } from "../core/errors.ts";
import { toAttachment, UPLOAD_MAX_MS } from "../core/file.ts";
import type { ByteRange, FileStore } from "../core/plugins/file-store.ts";
import type { Clock } from "../core/ports/driven/clock.ts";
import type { Logger } from "../core/ports/driven/logger.ts";
import type { Store } from "../core/ports/driven/store.ts";
import type { NewSessionOptions } from "../core/ports/driving/services.ts";
import { hiddenFrom, type SessionAccess } from "../core/session-access.ts";
import { DETECTED_BYTES, emptyFile, fileName, mediaTypeOf, TextCheck } from "../files/media-types.ts";
import { chatRejection } from "./chat-input.ts";
import type { SessionRegistry } from "./session-registry.ts";

export interface FileLimits {
  readonly fileBytes: number;
  readonly fileTypes: readonly MediaType[];
  readonly appFileBytes: number;
  readonly ownerFileBytes: number;
}

export interface FilesOptions {
  readonly store: Store;
  readonly files: FileStore;
  readonly registry: SessionRegistry;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly limits: FileLimits;
}

export interface Upload {
  /** UUID of the file; generated if absent. Repeated uploads with the same id have no effect. */
  readonly id?: string;
  readonly sessionId: string;
  readonly access: SessionAccess;
  readonly app: string;
  /** File name from the client; empty if it sent none. */
  readonly name: string;
  /** `Content-Type` from the client; `undefined` if it sent none. */
  readonly declared: string | undefined;
  /** `Content-Length`; `null` if unknown. */
  readonly length: number | null;
  readonly content: AsyncIterable<Uint8Array>;
  /** Called before the row is inserted, because credentials may be revoked during the upload. */
  readonly authorizeAgain?: () => Promise<void>;
}

export interface OpenFile {
  readonly file: Attachment;
  /** Milliseconds since the Unix epoch. */
  readonly createdAt: number;
  /** Throws `NotFound` if the bytes are gone. */
  read(range: ByteRange | null): Promise<AsyncIterable<Uint8Array>>;
}

/** Maximum number of files, and of blobs, that one cleanup batch removes. */
export const FILE_PORTION = 100;
/** Milliseconds until cleanup retries a failed removal. */
const RETRY_MS = 5 * 60_000;

export class Files {
  readonly #options: FilesOptions;

  constructor(options: FilesOptions) {
    this.#options = options;
  }

  /** Maximum bytes of a file. */
  get maxBytes(): number {
    return this.#options.limits.fileBytes;
  }

  /**
   * Stores a file. Creates the session if it does not exist. Throws `ServiceError` 400 if the file is empty,
   * 408 if the upload takes too long, 413 if the file is too large, 415 if its type is not allowed, or 507 if
   * a quota is exceeded or the disk is full.
   */
  async upload(upload: Upload, creation: NewSessionOptions): Promise<Attachment> {
    const { store, files, registry, clock } = this.#options;
    const { sessionId, access, app, length } = upload;
    if (length !== null && length > this.maxBytes) throw tooLarge(this.maxBytes);
    const before = upload.id === undefined ? null : await this.#uploaded(upload, upload.id);
    if (before !== null) return before;
    await this.#assertQuota(upload, length ?? 0);
    const blob = `${app}/${randomUUID()}`;
    const startedAt = clock.monotonic();
    const received = new Received(upload, this.#options.limits);
    const beginning = await received.begin();
    // Cleanup must not remove the blob of an upload in progress.
    await store.files.expect(blob, 2 * UPLOAD_MAX_MS);
    try {
      await files.put(blob, received.content(beginning));
      const { mediaType, bytes, sha256 } = received;
      if (length === null) await this.#assertQuota(upload, bytes);
      await upload.authorizeAgain?.();
      if (clock.monotonic() - startedAt > UPLOAD_MAX_MS) throw tooSlow();
      const name = fileName(upload.name, mediaType);
      const input = { id: upload.id ?? randomUUID(), app, sha256, mediaType, bytes, name, blob };
      const command = { kind: "addFile", input } as const;
      const { outcome } = await registry.executeOrCreate(sessionId, access, creation, command);
      if (outcome !== "ok") throw chatRejection(outcome);
      return toAttachment({ ...input, createdAt: 0, position: null, dueAt: null });
    } catch (error) {
      if (!(error instanceof OutcomeUnknown)) await this.#discard(blob);
      throw error;
    }
  }

  /** Returns the file that an earlier upload stored with this id; `null` if there is none. */
  async #uploaded({ sessionId, access }: Upload, id: string): Promise<Attachment | null> {
    const found = await this.#options.store.files.find(sessionId, id);
    if (found === null || found.file === null || hiddenFrom(found.session, access) !== null) return null;
    return toAttachment(found.file);
  }

  /** Removes the blob of a failed upload. If the removal fails, cleanup retries it. */
  async #discard(blob: string): Promise<void> {
    const { store, files, logger } = this.#options;
    try {
      await files.remove(blob);
      await store.files.forget([blob]);
    } catch (error) {
      logger.warn(
        { err: error, blob },
        "could not remove the bytes of a refused upload; the cleanup retries",
      );
    }
  }

  /**
   * Opens a file of a session. Throws `NotFound` or `OtherApp` if it does not exist or `access` does not
   * permit it.
   */
  async open(sessionId: string, fileId: string, access: SessionAccess): Promise<OpenFile> {
    const { store, registry } = this.#options;
    const found = await store.files.find(sessionId, fileId);
    if (found === null) throw unknownFile();
    const hidden = hiddenFrom(found.session, access);
    if (hidden !== null) throw registry.hidden(sessionId, access, hidden);
    const { file } = found;
    if (file === null) throw unknownFile();
    const { createdAt } = file;
    return { file: toAttachment(file), createdAt, read: async (range) => await this.#read(file.blob, range) };
  }

  /** Returns the first `most` bytes of a file; `null` if the file or its bytes do not exist. */
  async bytesOf(sessionId: string, fileId: string, most: number): Promise<Uint8Array | null> {
    const { store, files } = this.#options;
    const { file } = (await store.files.find(sessionId, fileId)) ?? { file: null };
    if (file === null) return null;
    if (most === 0) return new Uint8Array();
    const content = await files.get(file.blob, most < file.bytes ? { first: 0, last: most - 1 } : null);
    if (content === null) return null;
    const chunks: Uint8Array[] = [];
    for await (const chunk of content) chunks.push(chunk);
    return Buffer.concat(chunks);
  }

  async #read(blob: string, range: ByteRange | null): Promise<AsyncIterable<Uint8Array>> {
    const content = await this.#options.files.get(blob, range);
    if (content !== null) return content;
    this.#options.logger.error(
      { blob },
      "the bytes of a file are missing: several nodes need one file store",
    );
    throw unknownFile();
  }

  /** Removes all unreferenced blobs. Cleanup retries failed removals. */
  async removeUnused(): Promise<void> {
    while ((await this.cleanUp()) >= FILE_PORTION);
  }

  /**
   * Removes a batch of expired files and a batch of unreferenced blobs. Returns the size of the larger batch.
   * Postpones blobs whose removal fails, so that they do not fill the next batch.
   */
  async cleanUp(): Promise<number> {
    const { store, files, logger } = this.#options;
    const expired = await store.files.expire(FILE_PORTION);
    const unused = await store.files.unused(FILE_PORTION);
    const failed: string[] = [];
    await Promise.all(
      unused.map(async ({ id, blob, isUsed }) => {
        try {
          if (!isUsed) await files.remove(blob);
        } catch (error) {
          failed.push(id);
          logger.warn({ err: error, blob }, "could not remove the bytes of a file; retrying in five minutes");
        }
      }),
    );
    const removed = unused.map(({ id }) => id).filter((id) => !failed.includes(id));
    if (removed.length > 0) await store.files.forget(removed);
    if (failed.length > 0) await store.files.postpone(failed, RETRY_MS);
    return Math.max(expired, unused.length);
  }

  /**
   * Throws `Unavailable` 507 if the upload would exceed a quota. Concurrent uploads can still exceed it,
   * because they reserve no space.
   */
  async #assertQuota({ app, sessionId }: Upload, bytes: number): Promise<void> {
    const { store, limits } = this.#options;
    const used = await store.files.used(app, sessionId);
    if (used.owner + bytes > limits.ownerFileBytes) throw quotaFull("Your files");
    if (used.app + bytes > limits.appFileBytes) throw quotaFull("The files of this App");
  }
}

/** Checks, counts and hashes the bytes of an upload while they arrive. */
class Received {
  readonly #upload: Upload;
  readonly #limits: FileLimits;
  readonly #source: AsyncIterator<Uint8Array>;
  readonly #hash = createHash("sha256");
  #bytes = 0;
  #mediaType: MediaType | null = null;

  constructor(upload: Upload, limits: FileLimits) {
    this.#upload = upload;
    this.#limits = limits;
    this.#source = upload.content[Symbol.asyncIterator]();
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** SHA-256 of the bytes in hexadecimal. Read it once, after `content` has ended. */
  get sha256(): string {
    return this.#hash.digest("hex");
  }

  get mediaType(): MediaType {
    if (this.#mediaType === null) throw new Error("The type of the file is not known yet");
    return this.#mediaType;
  }

  /** Reads the leading bytes and detects the media type. */
  async begin(): Promise<Uint8Array> {
    const chunks: Uint8Array[] = [];
    let length = 0;
    while (length < DETECTED_BYTES) {
      const next = await this.#source.next();
      if (next.done === true) break;
      chunks.push(next.value);
      length += next.value.length;
    }
    const beginning = Buffer.concat(chunks, length);
    if (length === 0) throw emptyFile();
    const { declared, name } = this.#upload;
    const allowed = this.#limits.fileTypes;
    this.#mediaType = await mediaTypeOf(beginning, { declared, name, allowed });
    return beginning;
  }

  async *content(beginning: Uint8Array): AsyncGenerator<Uint8Array> {
    const text = isText(this.mediaType) ? new TextCheck() : null;
    let chunk: Uint8Array = beginning;
    for (;;) {
      this.#bytes += chunk.length;
      if (this.#bytes > this.#limits.fileBytes) throw tooLarge(this.#limits.fileBytes);
      text?.add(chunk);
      this.#hash.update(chunk);
      yield chunk;
      const next = await this.#source.next();
      if (next.done === true) break;
      chunk = next.value;
    }
    text?.end();
  }
}

function tooLarge(limit: number): ServiceError {
  const detail = `The file is too large. Send at most ${Math.floor(limit / 1024 / 1024)} MiB.`;
  return new ServiceError(413, "file_too_large", detail);
}

function tooSlow(): ServiceError {
  return new ServiceError(408, "request_timeout", "The file did not arrive in time. Send it again.");
}

function quotaFull(whose: string): Unavailable {
  const detail = `${whose} have reached their limit. Delete conversations with files that are not needed.`;
  return new Unavailable(507, "files_full", detail, 60);
}

function unknownFile(): NotFound {
  return new NotFound(
    "file_not_found",
    "This conversation has no file with this id. A file that no message uses is removed after a day.",
  );
}
