// Files that users upload and tools return. A row belongs to one session. Rows of several sessions, such as a fork and its
// origin, may share a `blob` in the file store (core/plugins/file-store.ts). Rows and events never contain
// bytes.

import type { Attachment } from "@colloquy/protocol";
import { bigint, type Fields, type RecordOf, text } from "./field.ts";

/** Milliseconds until an upload that no message uses expires. */
export const UNUSED_FILE_MS = 24 * 60 * 60 * 1000;
/**
 * Milliseconds between the expiry of a row and its removal. Commands ignore expired rows, so none can use a
 * row that is being removed.
 */
export const FILE_GRACE_MS = 60 * 60 * 1000;
/**
 * Maximum duration of an upload in milliseconds. Far below the time after which blobs without a row are
 * removed.
 */
export const UPLOAD_MAX_MS = 60 * 60 * 1000;

/**
 * Maximum bytes of a text file of a tool, because secrets must be removed from it, which blocks other turns for about
 * 60 ms.
 */
export const TOOL_TEXT_MAX = 1024 * 1024;

const SHA256 = /^[0-9a-f]{64}$/;

/** The fields of a file. Times are milliseconds since the Unix epoch. */
export const FILE_FIELDS = {
  /** Id on the wire. Forks and imports keep it. */
  id: text("id", ({ z }) => z.uuid().toLowerCase(), { fixed: true }),
  /** App of the upload or the tool. Only chats of this App may use the file. */
  app: text("app", ({ word }) => word, { fixed: true }),
  /** SHA-256 of the bytes, hexadecimal. */
  sha256: text("sha256", ({ z }) => z.string().regex(SHA256), { fixed: true }),
  mediaType: text("media_type", ({ word }) => word, { fixed: true }),
  bytes: bigint("bytes", ({ count }) => count, { fixed: true }),
  name: text("name", ({ z }) => z.string(), { fixed: true }),
  /** Name of the bytes in the file store. */
  blob: text("blob", ({ word }) => word, { fixed: true, computed: true }),
  createdAt: bigint("created_at", ({ time }) => time, { fixed: true }),
  /** Position of the first message that uses the file; `null` for none. */
  position: bigint("position", ({ position }) => position.nullable()),
  /** When the file expires; `null` while a message uses it. */
  dueAt: bigint("due_at", ({ time }) => time.nullable()),
} as const satisfies Fields;

export type FileRecord = RecordOf<typeof FILE_FIELDS>;

/** A file to add, whose bytes are durable. */
export type NewFile = Omit<FileRecord, "createdAt" | "position" | "dueAt">;

/** Returns the wire form of a file, as in messages and upload responses. */
export function toAttachment({ id, mediaType, bytes, sha256, name }: NewFile): Attachment {
  return { id, media_type: mediaType, bytes, sha256, name };
}

/**
 * Returns the files of a message in the order of `ids`, or the reason to reject them. `app` is the App of the message;
 * `null` for any.
 */
export function usableFiles(
  found: readonly FileRecord[],
  ids: readonly string[],
  { app, at }: { readonly app: string | null; readonly at: number },
): readonly FileRecord[] | "attachment_not_found" | "attachment_of_other_app" {
  const files = ids.flatMap(
    (id) => found.find((file) => file.id === id && (file.dueAt ?? Infinity) > at) ?? [],
  );
  if (files.length < ids.length) return "attachment_not_found";
  return files.every((file) => app === null || file.app === app) ? files : "attachment_of_other_app";
}

/** Returns the file as used by a message at this position. */
export function usedAt(file: FileRecord, position: number): FileRecord {
  // Messages are removed from the end, so a file is in use as long as the first message that uses it exists.
  const first = file.position !== null && file.position < position ? file.position : position;
  return { ...file, position: first, dueAt: null };
}
