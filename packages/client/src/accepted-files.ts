import { EXTENSIONS, MEDIA_TYPES } from "@colloquy/protocol/media-types";

/**
 * Attribute `accept` of a file input: the types that the service accepts by default. Omits HEIC, so that
 * phones convert photos to JPEG.
 */
export const ACCEPTED_FILES: string = [
  ...MEDIA_TYPES,
  ...Object.keys(EXTENSIONS).map((extension) => `.${extension}`),
].join(",");
