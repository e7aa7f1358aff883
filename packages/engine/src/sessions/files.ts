// Stores, reads and garbage-collects files of sessions. An upload records its blob as unused, which reserves its room,
// stores the bytes, and then inserts the row, which releases the room; the row of a tool's file is inserted with the
// call's result. After a crash at any point, cleanup removes the blob unless the row exists.

import { createHash, randomUUID } from "node:crypto";
import { Readable } from "node:stream";
import type { Attachment } from "@colloquy/protocol";
import { ATTACHMENTS_MAX } from "@colloquy/protocol";
import { isText, type MediaType } from "@colloquy/protocol/media-types";
import { NotFound, OutcomeUnknown, ServiceError, Unavailable } from "../core/errors.ts";
import { type NewFile, toAttachment, TOOL_TEXT_MAX, UPLOAD_MAX_MS } from "../core/file.ts";
import { ANSWER_FILE_BYTES, ANSWER_FILES, type OutputBudget } from "../core/message.ts";
import type { ByteRange, FileStore } from "../core/plugins/file-store.ts";
import type { Clock } from "../core/ports/driven/clock.ts";
import type { Logger } from "../core/ports/driven/logger.ts";
import type { ExpectedBlob, Store } from "../core/ports/driven/store.ts";
import type { ToolFile } from "../core/ports/driven/tool.ts";
import type { NewSessionOptions } from "../core/ports/driving/services.ts";
import { hiddenFrom, ownerOfNew, type SessionAccess } from "../core/session-access.ts";
import { DETECTED_BYTES, emptyFile, fileName, mediaTypeOf, TextCheck } from "../files/media-types.ts";
import type { KeptFiles, TurnFiles } from "../turns/attached-files.ts";
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

interface ReceivedFile {
  readonly app: string;
  /** File name from the client or the tool; empty for none. */
  readonly name: string;
  /** Media type from the client or the tool; `undefined` for none. */
  readonly declared: string | undefined;
  readonly content: AsyncIterable<Uint8Array>;
}

/** Id, session and owner of a file to add, and its size if it is known. */
interface FilePlace extends Pick<ExpectedBlob, "sessionId" | "owner"> {
  /** UUID of the file. */
  readonly id: string;
  /** Number of bytes; `null` if it is not known before they have arrived. */
  readonly length: number | null;
}

export interface Upload extends ReceivedFile {
  /** UUID of the file; generated if absent. Repeated uploads with the same id have no effect. */
  readonly id?: string;
  readonly sessionId: string;
  readonly access: SessionAccess;
  /** `Content-Length`; `null` if unknown. */
  readonly length: number | null;
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

export class Files implements TurnFiles {
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
    const { registry, clock, store } = this.#options;
    const { sessionId, access, length } = upload;
    if (length !== null && length > this.maxBytes) throw tooLarge(this.maxBytes);
    const id = upload.id ?? randomUUID();
    const found = await store.files.find(sessionId, id);
    // Before the room is reserved, which counts towards the owner's quota.
    const hidden = found === null ? null : hiddenFrom(found.session, access);
    if (hidden !== null) throw registry.hidden(sessionId, access, hidden);
    if (found !== null && found.file !== null) return toAttachment(found.file);
    const startedAt = clock.monotonic();
    const place = { id, sessionId, owner: ownerOfNew(null, access.user), length };
    return await this.#store(upload, place, async (file) => {
      await upload.authorizeAgain?.();
      if (clock.monotonic() - startedAt > UPLOAD_MAX_MS) throw tooSlow();
      const command = { kind: "addFile", input: file } as const;
      const { outcome } = await registry.executeOrCreate(sessionId, access, creation, command);
      if (outcome === "file_exists") await this.#discard(file.blob);
      else if (outcome !== "ok") throw chatRejection(outcome);
      return toAttachment(file);
    });
  }

  /**
   * Stores the bytes of tools' files, whose rows are added with the result of the call. Keeps none after an abort of
   * `signal`. Never rejects.
   */
  async keep(
    { sessionId, app }: { readonly sessionId: string; readonly app: string },
    given: readonly ToolFile[],
    budget: OutputBudget,
    signal: AbortSignal,
  ): Promise<KeptFiles> {
    const files: NewFile[] = [];
    const refused: string[] = [];
    for (const file of given.slice(0, ATTACHMENTS_MAX)) {
      if (signal.aborted) break;
      const { length } = file.data;
      if (length > this.maxBytes) {
        refused.push(refusalOf(file, tooLarge(this.maxBytes).message));
        continue;
      }
      // Before the bytes are stored, because the calls of a step are concurrent.
      if (!budget.takeFile(length)) {
        refused.push(refusalOf(file, ANSWER_FULL));
        continue;
      }
      const place = { id: randomUUID(), sessionId, owner: null, length };
      try {
        files.push(await this.#store(receivedFrom(file, app), place, assertScrubbed));
      } catch (error) {
        budget.giveBackFile(length);
        refused.push(refusalOf(file, error instanceof ServiceError ? error.message : NOT_STORED));
        if (!(error instanceof ServiceError))
          this.#options.logger.error({ err: error }, "a tool's file was not stored");
      }
    }
    if (signal.aborted) {
      for (const { blob, bytes } of files) {
        await this.#discard(blob);
        budget.giveBackFile(bytes);
      }
      return { files: [], refused: [] };
    }
    const more = given.length - ATTACHMENTS_MAX;
    if (more > 0) refused.push(`[${more} more files were not kept: a result may have ${ATTACHMENTS_MAX}.]`);
    return { files, refused };
  }

  /** Stores the bytes of a file, then adds it. Removes the bytes if that fails. */
  async #store<Added>(
    source: ReceivedFile,
    { id, length, ...place }: FilePlace,
    add: (file: NewFile) => Promise<Added>,
  ): Promise<Added> {
    const { files, limits } = this.#options;
    const { app } = source;
    const blob = `${app}/${randomUUID()}`;
    const received = new Received(source, limits);
    const beginning = await received.begin();
    try {
      await this.#reserve({ ...place, blob, app, bytes: length ?? 0 });
      await files.put(blob, received.content(beginning));
      const { mediaType, bytes, sha256 } = received;
      if (bytes !== length) await this.#reserve({ ...place, blob, app, bytes });
      const name = fileName(source.name, mediaType);
      return await add({ id, app, sha256, mediaType, bytes, name, blob });
    } catch (error) {
      if (!(error instanceof OutcomeUnknown)) await this.#discard(blob);
      throw error;
    }
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

  /** Returns the first `most` bytes of a file; `null` if the file or its bytes do not exist or cannot be read now. */
  async bytesOf(sessionId: string, fileId: string, most: number): Promise<Uint8Array | null> {
    const { store, files, logger } = this.#options;
    const { file } = (await store.files.find(sessionId, fileId)) ?? { file: null };
    if (file === null) return null;
    if (most === 0) return new Uint8Array();
    try {
      const content = await files.get(file.blob, most < file.bytes ? { first: 0, last: most - 1 } : null);
      if (content === null) return null;
      const chunks: Uint8Array[] = [];
      for await (const chunk of content) chunks.push(chunk);
      return Buffer.concat(chunks);
    } catch (error) {
      logger.error(
        { err: error, blob: file.blob },
        "could not read a file for a model; its turn goes on without",
      );
      return null;
    }
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
   * Removes up to `limit` expired files and up to `limit` unreferenced blobs. Returns the size of the larger batch.
   * Postpones blobs whose removal fails, so that they do not fill the next batch.
   */
  async cleanUp(limit = FILE_PORTION): Promise<number> {
    const { store, files, logger } = this.#options;
    const expired = await store.files.expire(limit);
    const unused = await store.files.unused(limit);
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
   * Reserves room for bytes, and keeps the cleanup from removing them while they are stored. Throws `Unavailable` 507 if
   * they would exceed a quota.
   */
  async #reserve(expected: ExpectedBlob): Promise<void> {
    const { store, limits } = this.#options;
    await store.files.expect(expected, 2 * UPLOAD_MAX_MS);
    const used = await store.files.used(expected.blob);
    if (used.owner > limits.ownerFileBytes) throw quotaFull("Your files");
    if (used.app > limits.appFileBytes) throw quotaFull("The files of this App");
  }
}

/** Checks, counts and hashes the bytes of a file while they arrive. */
class Received {
  readonly #file: ReceivedFile;
  readonly #limits: FileLimits;
  readonly #source: AsyncIterator<Uint8Array>;
  readonly #hash = createHash("sha256");
  #bytes = 0;
  #mediaType: MediaType | null = null;

  constructor(file: ReceivedFile, limits: FileLimits) {
    this.#file = file;
    this.#limits = limits;
    this.#source = file.content[Symbol.asyncIterator]();
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
    const { declared, name } = this.#file;
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

function receivedFrom({ data, mediaType = "", name = "" }: ToolFile, app: string): ReceivedFile {
  // Servers often declare an image as another type than it has.
  const declared = /^(?:image|audio|video)\//i.test(mediaType) ? undefined : mediaType;
  return { app, name, declared, content: Readable.from([data], { objectMode: true }) };
}

async function assertScrubbed(file: NewFile): Promise<NewFile> {
  if (!isText(file.mediaType) || file.bytes <= TOOL_TEXT_MAX) return file;
  throw tooLarge(TOOL_TEXT_MAX);
}

const NOT_STORED = "It could not be stored.";
const ANSWER_FULL = `All results of an answer may have ${ANSWER_FILES} files with ${ANSWER_FILE_BYTES / 1024 / 1024} MiB together. Answer with what there is.`;

/** Returns the sentence that replaces a tool's file in the result. */
function refusalOf({ name = "", mediaType = "" }: ToolFile, why: string): string {
  const named = JSON.stringify((name || mediaType || "without a name").slice(0, 100));
  return `[The file ${named} of this result was not kept. ${why}]`;
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
