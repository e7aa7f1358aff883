// Detects the media types of files. The bytes must match the type that the client declares.

import { EXTENSIONS, isText, type MediaType } from "@colloquy/protocol/media-types";
import { InvalidRequest, ServiceError } from "../core/errors.ts";

/** Number of leading bytes that type detection reads. */
export const DETECTED_BYTES = 4100;

/** Aliases that browsers, operating systems and the package `file-type` use. */
const ALIASES: Readonly<Record<string, MediaType>> = {
  "image/jpg": "image/jpeg",
  "image/pjpeg": "image/jpeg",
  "image/apng": "image/png",
  "application/x-pdf": "application/pdf",
  "audio/mp3": "audio/mpeg",
  "audio/x-mp3": "audio/mpeg",
  "audio/wave": "audio/wav",
  "audio/x-wav": "audio/wav",
  "audio/vnd.wave": "audio/wav",
  "audio/opus": "audio/ogg",
  "audio/vorbis": "audio/ogg",
  "application/ogg": "audio/ogg",
  "text/x-markdown": "text/markdown",
  "text/x-csv": "text/csv",
  "application/csv": "text/csv",
  // Windows declares CSV as this type if Excel is installed.
  "application/vnd.ms-excel": "text/csv",
  "text/json": "application/json",
};

const NAMES: Readonly<Record<MediaType, string>> = {
  "image/png": "image.png",
  "image/jpeg": "image.jpg",
  "image/webp": "image.webp",
  "image/gif": "image.gif",
  "application/pdf": "document.pdf",
  "audio/mpeg": "audio.mp3",
  "audio/wav": "audio.wav",
  "audio/ogg": "audio.ogg",
  "text/plain": "text.txt",
  "text/markdown": "text.md",
  "text/csv": "table.csv",
  "application/json": "data.json",
};

/**
 * Returns the `Content-Type` of a download. All text is served as `text/plain`, which browsers never execute.
 */
export function servedType(type: string): string {
  return isText(type) ? "text/plain; charset=utf-8" : type;
}

/** Returns the declared type without parameters; `null` if the client declares none. */
function declaredType(header: string | undefined): string | null {
  const essence = header?.split(";", 1)[0]?.trim().toLowerCase() ?? "";
  return essence === "" || essence === "application/octet-stream" ? null : (ALIASES[essence] ?? essence);
}

/**
 * Returns the type of a file that begins with these bytes. Throws `ServiceError` 415 if it is not allowed,
 * or differs from the declared type.
 */
export async function mediaTypeOf(
  beginning: Uint8Array,
  {
    declared: header,
    name,
    allowed,
  }: {
    readonly declared: string | undefined;
    readonly name: string;
    readonly allowed: readonly MediaType[];
  },
): Promise<MediaType> {
  const { fileTypeFromBuffer } = await import("file-type");
  const found = (await fileTypeFromBuffer(beginning))?.mime.split(";", 1)[0];
  const declared = declaredType(header);
  const ofName = EXTENSIONS[/\.([a-z]+)$/i.exec(name)?.[1]?.toLowerCase() ?? ""] ?? null;
  const isSignature = found !== undefined && !isTextLike(beginning, found, declared ?? ofName);
  const detected = isSignature ? (ALIASES[found] ?? found) : null;
  const type = detected ?? declared ?? ofName;
  const usable = allowed.find((one) => one === type);
  if (usable === undefined || (detected === null && !isText(usable)))
    throw notAllowed(type, allowed, declared);
  if (declared !== null && declared !== usable) throw differs(declared, usable);
  return usable;
}

/**
 * Returns true for text that begins with the signature of another type, such as a table whose first column is
 * "BMI". Only PDF files may consist of text.
 */
function isTextLike(beginning: Uint8Array, found: string, expected: string | null): boolean {
  if (expected === null || !isText(expected) || found === "application/pdf") return false;
  try {
    new TextCheck().add(beginning);
    return true;
  } catch {
    return false;
  }
}

function notAllowed(
  type: string | null,
  allowed: readonly MediaType[],
  declared: string | null,
): ServiceError {
  const advice =
    type === "image/heic" || type === "image/heif"
      ? ' Convert the photo to JPEG, or set the camera format to "Most Compatible".'
      : "";
  const what =
    type === null
      ? "The type of the file is unknown."
      : type === declared && allowed.some((one) => one === type)
        ? `The file is not of the declared type ${quoted(type)}.`
        : `Files of the type ${quoted(type)} are not accepted.`;
  return new ServiceError(
    415,
    "file_type_unsupported",
    `${what}${advice} Send one of ${allowed.join(", ")}.`,
  );
}

function differs(declared: string, detected: string): ServiceError {
  return new ServiceError(
    415,
    "file_type_differs",
    `The file is declared as ${quoted(declared)}, but is ${detected}. Send it with the Content-Type ${detected}.`,
  );
}

function quoted(type: string): string {
  return `"${type.slice(0, 80)}"`;
}

export function emptyFile(): InvalidRequest {
  return new InvalidRequest("file_empty", "The file is empty. Choose one with content.");
}

/** Checks that chunks of text are UTF-8 without NUL. */
export class TextCheck {
  readonly #decoder = new TextDecoder("utf-8", { fatal: true });

  /** Throws `ServiceError` 415 if the chunk is not text. */
  add(chunk: Uint8Array): void {
    if (chunk.includes(0)) throw notText();
    this.#decode(chunk, true);
  }

  /** Throws `ServiceError` 415 if the text ends within a character. */
  end(): void {
    this.#decode(new Uint8Array(), false);
  }

  #decode(chunk: Uint8Array, stream: boolean): void {
    try {
      this.#decoder.decode(chunk, { stream });
    } catch {
      throw notText();
    }
  }
}

function notText(): ServiceError {
  return new ServiceError(
    415,
    "file_not_text",
    "The file is declared as text, but is not UTF-8 without NUL characters. Save it as UTF-8.",
  );
}

/** Maximum length of a name in UTF-16 code units. */
const NAME_MAX = 200;
/** Control characters, lone surrogates, and bidirectional marks, which can display `gnp.exe` as `exe.png`. */
const UNSAFE = /[\p{Cc}\p{Cs}\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu;

/** Returns the sanitized base name of a file name or path; a default name for the type if it is empty. */
export function fileName(given: string, type: MediaType): string {
  const last = given.normalize("NFC").split(/[/\\]/).at(-1)?.replaceAll(UNSAFE, "").trim() ?? "";
  if (last === "" || /^\.+$/.test(last)) return NAMES[type];
  if (last.length <= NAME_MAX) return last;
  const extension = /\.[^.]{1,10}$/.exec(last)?.[0] ?? "";
  return `${last.slice(0, NAME_MAX - extension.length).replace(/[\ud800-\udbff]$/, "")}${extension}`;
}
