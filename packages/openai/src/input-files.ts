// Reads images, files and audio in messages of both APIs. The service never fetches URLs.

import { ATTACHMENTS_MAX, type Attachment, parseSessionId } from "@colloquy/protocol";
import { ServiceError } from "@colloquy/engine";
import {
  type DataUrl,
  decodeBase64,
  decodeDataUrl,
  declaredType,
  isDataUrl,
  type ProtocolConversation,
  type ProtocolFile,
  sentFileId,
} from "@colloquy/server/protocol";
import { invalid, unsupported } from "./errors.ts";
import { fileId, parseFileId } from "./ids.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "./json.ts";

/** A file of a user message or of an output. `field` is the name of the parameter. */
export type InputFile =
  | { readonly kind: "reference"; readonly field: string; readonly id: string }
  | {
      readonly kind: "data";
      readonly field: string;
      /** A data URL, or base64. */
      readonly data: string;
      /** Declared type if `data` is base64; empty if there is none. */
      readonly mediaType: string;
      readonly name: string;
    };

const SEND_DATA =
  "The server does not fetch URLs. Send the bytes as a data URL, or the id of a file of the conversation.";
/** Formats of `input_audio` whose media type differs from `audio/` and the format. */
const AUDIO: Readonly<Record<string, string>> = { mp3: "audio/mpeg" };

type PartReader = (part: JsonObject, field: string) => InputFile;

/** Readers by part type. Both APIs accept all types, because clients mix them. */
const PARTS: Readonly<Record<string, PartReader>> = {
  input_image: readImage,
  image_url: readImage,
  input_file: (part, field) => readFile(part, field),
  file: (part, field) =>
    isJsonObject(part["file"]) ? readFile(part["file"], `${field}.file`) : readFile(part, field),
  input_audio: readAudio,
};

/** Reads a file part. Returns `null` for other types. Throws a `ServiceError` 400 with the name of an invalid field. */
export function readFilePart(part: JsonObject, field: string): InputFile | null {
  const { type = null } = part;
  const read = typeof type === "string" && Object.hasOwn(PARTS, type) ? PARTS[type] : undefined;
  return read?.(part, field) ?? null;
}

/** The URL is a string in Responses, and an object in Chat Completions. */
function readImage(part: JsonObject, field: string): InputFile {
  const { image_url: image = null, file_id: id = null } = part;
  if (image === null && id !== null) return reference(id, `${field}.file_id`);
  const [url, at] = isJsonObject(image)
    ? [image["url"] ?? null, `${field}.image_url.url`]
    : [image, `${field}.image_url`];
  if (typeof url !== "string") throw invalid(at, "must be a data URL");
  if (!isDataUrl(url)) throw unsupported(at, SEND_DATA);
  return { kind: "data", field: at, data: url, mediaType: "", name: "" };
}

function readFile(part: JsonObject, field: string): InputFile {
  const { file_data: data = null, file_id: id = null, filename = null, file_url: url = null } = part;
  if (url !== null) throw unsupported(`${field}.file_url`, SEND_DATA);
  if (data === null && id !== null) return reference(id, `${field}.file_id`);
  if (typeof data !== "string") throw invalid(`${field}.file_data`, "must be a data URL or base64");
  const name = typeof filename === "string" ? filename : "";
  return { kind: "data", field: `${field}.file_data`, data, mediaType: "", name };
}

function readAudio(part: JsonObject, field: string): InputFile {
  const { input_audio: audio = null } = part;
  const { data = null, format = null } = isJsonObject(audio) ? audio : {};
  const at = `${field}.input_audio.data`;
  if (typeof data !== "string") throw invalid(at, "must be base64");
  const mediaType = typeof format === "string" ? (AUDIO[format] ?? `audio/${format}`) : "";
  return { kind: "data", field: at, data, mediaType, name: "" };
}

function reference(id: JsonValue, field: string): InputFile {
  if (typeof id !== "string") throw invalid(field, "must be a string");
  return { kind: "reference", field, id };
}

/** Throws a `ServiceError` 400 if a message or an output has too many files. */
export function assertFileCount(files: readonly InputFile[]): void {
  const first = files[ATTACHMENTS_MAX];
  if (first !== undefined)
    throw invalid(first.field, `exceeds the maximum of ${ATTACHMENTS_MAX} files in a message or an output`);
}

/** A file with decoded data. */
export type DecodedFile = { readonly field: string } & (
  | { readonly kind: "upload"; readonly upload: Omit<ProtocolFile, "id"> }
  | { readonly kind: "stored"; readonly id: string }
);

/**
 * Decodes the files of a message or an output. Throws a `ServiceError` 400 with the name of the field if data or an id is
 * malformed. Ignores the conversation in an id, because copies of a conversation have the same file UUIDs.
 */
export function decodeFiles(files: readonly InputFile[]): readonly DecodedFile[] {
  return files.map((file): DecodedFile => {
    const { field } = file;
    if (file.kind === "data") return { kind: "upload", field, upload: decode(file) };
    const id = parseSessionId(file.id) ?? parseFileId(file.id)?.file;
    if (id === undefined) throw invalid(field, "must be the id of a file of the same conversation");
    return { kind: "stored", field, id };
  });
}

/**
 * Stores the files of a message or an output in its conversation. Returns their ids, which are the same for a repeated
 * request. Throws a `ServiceError` 400 or 413 with the name of the field. Stores nothing if the conversation
 * lacks a referenced file.
 */
export async function storeFiles(
  conversation: ProtocolConversation,
  files: readonly DecodedFile[],
): Promise<readonly string[]> {
  for (const file of files)
    if (file.kind === "stored") await withField(file.field, conversation.openFile(file.id));
  const ids: string[] = [];
  for (const [index, file] of files.entries()) {
    if (file.kind === "stored") {
      ids.push(file.id);
      continue;
    }
    const id = sentFileId(conversation.id, index, file.upload.content);
    ids.push(await withField(file.field, conversation.upload({ ...file.upload, id })));
  }
  // Clients may send the same file twice.
  return [...new Set(ids)];
}

function decode({
  data,
  mediaType,
  name,
  field,
}: Extract<InputFile, { kind: "data" }>): Omit<ProtocolFile, "id"> {
  const content = isDataUrl(data) ? decodeDataUrl(data) : decoded(decodeBase64(data), mediaType);
  if (content === null) throw invalid(field, "must be a data URL or base64");
  return {
    content: content.content,
    mediaType: declaredType(content.mediaType),
    name,
  };
}

function decoded(content: Buffer | null, mediaType: string): DataUrl | null {
  return content === null ? null : { content, mediaType };
}

/** Adds the name of the field to the error of a rejected file, with status 400 like the OpenAI API. */
async function withField<Result>(field: string, stored: Promise<Result>): Promise<Result> {
  try {
    return await stored;
  } catch (error) {
    if (!(error instanceof ServiceError) || error.status >= 500 || !error.code.startsWith("file_"))
      throw error;
    const status = error.status === 413 ? 413 : 400;
    const detail =
      error.code === "file_not_found"
        ? "The conversation has no such file. A branch has only the files of messages up to its previous response."
        : error.detail;
    throw new ServiceError(
      status,
      error.code,
      `The parameter "${field}" is not a file that can be used. ${detail}`,
      { cause: error },
    );
  }
}

/** Returns the item part of a stored file. */
export function filePart({ id, media_type: type, name }: Attachment, session: string): JsonObject {
  const file_id = fileId({ session, file: id });
  return type.startsWith("image/")
    ? { type: "input_image", detail: "auto", file_id, image_url: null }
    : { type: "input_file", file_id, filename: name };
}
