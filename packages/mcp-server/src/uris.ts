// Formats and parses the URIs of resources.

import { parseSessionId } from "@colloquy/protocol";

export const TRANSCRIPT_TEMPLATE = "colloquy://sessions/{session_id}";
export const MESSAGES_TEMPLATE = "colloquy://sessions/{session_id}/messages";
export const FILE_TEMPLATE = "colloquy://sessions/{session_id}/files/{file_id}";

const URI = /^colloquy:\/\/sessions\/([^/]+)(?:\/messages|\/files\/([^/]+))?$/;

/** Returns the session id in a URI; `null` if the URI is not that of a conversation. */
export function sessionOfUri(uri: string): string | null {
  return parseSessionId(URI.exec(uri)?.[1] ?? "");
}

/** Returns the id of the file in a URI; `null` if the URI is not that of a file. */
export function fileOfUri(uri: string): string | null {
  return parseSessionId(URI.exec(uri)?.[2] ?? "");
}

export function fileUri(session: string, file: string): string {
  return `colloquy://sessions/${session}/files/${file}`;
}

export function transcriptUri(session: string): string {
  return `colloquy://sessions/${session}`;
}
