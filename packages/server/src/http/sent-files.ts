// Decodes files in messages of other protocols, and derives ids for them that make repeated uploads
// idempotent.

import { createHash } from "node:crypto";
import { isJsonObject, type JsonValue } from "@colloquy/engine/internal/core/json";

/** Type and parameters of a data URL (RFC 2397). */
const DATA_URL = /^\s*data:([^,]*),/i;
/** Both alphabets of RFC 4648, with white space, because MIME encoders wrap lines. */
const BASE64 = /^[A-Za-z0-9+/_\-\s]*(?:=\s*){0,2}$/;

export interface DataUrl {
  /** Declared type; empty if there is none. */
  readonly mediaType: string;
  readonly content: Buffer;
}

/** Returns true if the text begins like a data URL. */
export function isDataUrl(text: string): boolean {
  return /^\s*data:/i.test(text);
}

/** Decodes a data URL; `null` if it is malformed. */
export function decodeDataUrl(url: string): DataUrl | null {
  const [head, described = ""] = DATA_URL.exec(url) ?? [];
  if (head === undefined) return null;
  const [type = "", ...parameters] = described.split(";");
  const isBase64 = parameters.at(-1)?.trim().toLowerCase() === "base64";
  const body = url.slice(head.length);
  const unescaped = body.includes("%") || !isBase64 ? unescape(body) : body;
  if (unescaped === null) return null;
  const content = isBase64 ? decodeBase64(unescaped) : Buffer.from(unescaped);
  return content === null ? null : { mediaType: type.trim(), content };
}

/** Decodes base64 or base64url, with or without padding and white space. Returns `null` if it is malformed. */
export function decodeBase64(text: string): Buffer | null {
  return BASE64.test(text) ? Buffer.from(text, "base64") : null;
}

/**
 * Returns the type to declare for an upload. Empty for types that are detected from the bytes, because many
 * clients declare every image as JPEG or PNG.
 */
export function declaredType(type: string): string {
  return /^(?:image|audio)\/|^application\/(?:x-)?pdf\b/i.test(type) ? "" : type;
}

/** Names of fields that contain base64 or a data URL. No protocol uses them for text. */
const FILE_FIELDS: ReadonlySet<string> = new Set(["data", "file_data", "image_url", "url", "value"]);

/** Returns the number of characters of file data in a body. */
export function fileLength(value: JsonValue): number {
  if (Array.isArray(value)) return value.reduce<number>((sum, item) => sum + fileLength(item), 0);
  if (!isJsonObject(value)) return 0;
  return Object.entries(value).reduce((sum, [name, inner]) => {
    if (typeof inner !== "string") return sum + fileLength(inner);
    return FILE_FIELDS.has(name) ? sum + inner.length : sum;
  }, 0);
}

const STORED_FILES = "/api/files/";
const STORED_FILE = /\/api\/files\/([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})$/i;

/** Returns the URL of a stored file, as a path. Clients need the headers of its session to load it. */
export function storedFileUrl(id: string): string {
  return STORED_FILES + id;
}

/** Returns the id of the stored file with this URL; `null` if it is another URL. */
export function storedFileId(url: string): string | null {
  return STORED_FILE.exec(url)?.[1]?.toLowerCase() ?? null;
}

function unescape(text: string): string | null {
  try {
    return decodeURIComponent(text);
  } catch {
    return null;
  }
}

/**
 * Returns a UUID of version 8 (RFC 9562) for a file. Derived only from its message (an id, or another value
 * that repeats with the message), its index there and its bytes.
 */
export function sentFileId(message: string, index: number, content: Uint8Array): string {
  return derivedId(`${message} ${index} `, content);
}

/** Returns a UUID of version 8 (RFC 9562) that depends only on the parts. */
export function derivedId(...parts: readonly (string | Uint8Array)[]): string {
  const hash = createHash("sha256");
  for (const part of parts) hash.update(part);
  const digest = hash.digest("hex");
  return [
    digest.slice(0, 8),
    digest.slice(8, 12),
    `8${digest.slice(13, 16)}`,
    `8${digest.slice(17, 20)}`,
    digest.slice(20, 32),
  ].join("-");
}
