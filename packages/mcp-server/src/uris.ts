// Formats and parses the URIs of resources.

import { parseSessionId } from "@colloquy/protocol";

export const TRANSCRIPT_TEMPLATE = "colloquy://sessions/{session_id}";
export const MESSAGES_TEMPLATE = "colloquy://sessions/{session_id}/messages";

const URI = /^colloquy:\/\/sessions\/([^/]+)(?:\/messages)?$/;

/** Returns the session id in a URI; `null` if the URI is not that of a conversation. */
export function sessionOfUri(uri: string): string | null {
  return parseSessionId(URI.exec(uri)?.[1] ?? "");
}

export function transcriptUri(session: string): string {
  return `colloquy://sessions/${session}`;
}
