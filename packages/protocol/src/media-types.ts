// Media types of files. This module imports nothing, because pages use it too.

export const BINARY_TYPES = [
  "image/png",
  "image/jpeg",
  "image/webp",
  "image/gif",
  "application/pdf",
  "audio/mpeg",
  "audio/wav",
  "audio/ogg",
] as const;
export const TEXT_TYPES = ["text/plain", "text/markdown", "text/csv", "application/json"] as const;

/**
 * Supported media types, all allowed by default. Types with active content, such as SVG and HTML, are not
 * supported.
 */
export const MEDIA_TYPES = [...BINARY_TYPES, ...TEXT_TYPES] as const;
export type MediaType = (typeof MEDIA_TYPES)[number];

/** Types by file extension, for clients that declare none. Many systems have no type for Markdown. */
export const EXTENSIONS: Readonly<Record<string, MediaType>> = {
  txt: "text/plain",
  log: "text/plain",
  md: "text/markdown",
  markdown: "text/markdown",
  csv: "text/csv",
  json: "application/json",
};

export function isText(type: string): boolean {
  return TEXT_TYPES.some((text) => text === type);
}
