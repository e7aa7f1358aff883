// Converts between AG-UI media parts and session files. The service never fetches URLs.

import type { ContentPart } from "@ag-ui/core";
import { ATTACHMENTS_MAX, type Attachment } from "@colloquy/protocol";
import {
  decodeBase64,
  decodeDataUrl,
  declaredType,
  InvalidRequest,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  type ProtocolConversation,
  type ProtocolFile,
  sentFileId,
  storedFileId,
  storedFileUrl,
} from "@colloquy/server/protocol";

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
const MEDIA: ReadonlySet<unknown> = new Set(["image", "audio", "video", "document"]);

/** A file of a message or a tool's result. `upload` is absent if it is already stored. */
export interface SentFile {
  readonly id: string;
  readonly upload?: ProtocolFile;
}

/**
 * Reads the media parts of a message or a tool's result. `ownerId` is the id of the message or the action. The ids of
 * uploads are derived from it and the content, so a repeated request stores each file once.
 * @throws InvalidRequest for a part without bytes or a file id
 */
export function readFileParts(parts: readonly JsonObject[], ownerId: string): readonly SentFile[] {
  const media = parts.filter(({ type }) => type !== "text");
  if (media.length > ATTACHMENTS_MAX)
    throw new InvalidRequest(
      "parameter_invalid",
      `A message or a result may have at most ${ATTACHMENTS_MAX} files.`,
    );
  return media.map((part, index) => {
    const { type = null, metadata = null } = part;
    // Clients before version 1.0 send parts of the type `binary` only.
    if (type === "binary") return readBinary(part, ownerId, index);
    if (!MEDIA.has(type)) throw unsupported();
    const { source = null } = part;
    const named = isJsonObject(metadata) ? (metadata["filename"] ?? metadata["name"]) : null;
    return readSource(isJsonObject(source) ? source : {}, { ownerId, index, name: textOf(named) });
  });
}

interface Place {
  readonly ownerId: string;
  readonly index: number;
  readonly name: string;
}

function readBinary(part: JsonObject, ownerId: string, index: number): SentFile {
  const { mimeType = "", data = null, url = null, id = null, filename = null } = part;
  const [type, value] = data !== null ? ["data", data] : url !== null ? ["url", url] : ["file", id];
  return readSource({ type, value, mimeType }, { ownerId, index, name: textOf(filename) });
}

function readSource({ type = null, value = null, mimeType = null }: JsonObject, place: Place): SentFile {
  if (typeof value !== "string") throw unsupported();
  const data = decodeDataUrl(value);
  if (data !== null) return upload(data.content, textOf(mimeType) || data.mediaType, place);
  if (type === "data") {
    const content = decodeBase64(value);
    if (content !== null) return upload(content, textOf(mimeType), place);
  }
  const id = type === "url" ? storedFileId(value) : type === "file" && UUID.test(value) ? value : null;
  if (id === null) throw unsupported();
  return { id: id.toLowerCase() };
}

function upload(content: Buffer, mediaType: string, { ownerId, index, name }: Place): SentFile {
  const id = sentFileId(ownerId, index, content);
  return { id, upload: { id, content, mediaType: declaredType(mediaType), name } };
}

function textOf(value: JsonValue | undefined): string {
  return typeof value === "string" ? value : "";
}

function unsupported(): InvalidRequest {
  return new InvalidRequest(
    "file_source_unsupported",
    `A file must have a source with data, a data URL, or the URL ${storedFileUrl("{id}")} of a file of this thread. The server does not fetch URLs.`,
  );
}

/** Uploads the files that are not stored yet. Returns the ids of all files, without duplicates. */
export async function storeFiles(
  conversation: ProtocolConversation,
  files: readonly SentFile[],
): Promise<readonly string[]> {
  for (const { upload: file } of files) if (file !== undefined) await conversation.upload(file);
  return [...new Set(files.map(({ id }) => id))];
}

/** Returns the part of a stored file. `<img>` cannot load its URL, which requires the session header. */
export function toFilePart({ id, media_type: mimeType, name: filename }: Attachment): ContentPart {
  const [kind] = mimeType.split("/");
  const type = kind === "image" || kind === "audio" ? kind : "document";
  return { type, source: { type: "url", value: storedFileUrl(id), mimeType }, metadata: { filename } };
}
