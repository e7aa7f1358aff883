// Parsers of request headers. Node joins repeated headers with a comma, which no session id contains; where a value may contain a
// comma, the raw headers are counted.

import type { IncomingMessage } from "node:http";
import { parseSessionId } from "@colloquy/protocol";
import { InvalidRequest } from "../core/errors.ts";

export const SESSION_HEADER = "x-session-id";
const PRINTABLE = /^[\x20-\x7e]{1,255}$/;

/**
 * Returns the session id of `X-Session-Id`, in lower case.
 * @throws InvalidRequest if the header is missing, malformed or was sent twice (contract section 1)
 */
export function requiredSessionId(message: IncomingMessage): string {
  const id = optionalSessionId(message);
  if (id === null) {
    throw new InvalidRequest(
      "session_id_missing",
      "Send the header X-Session-Id with a UUID that you chose for the conversation, for example from crypto.randomUUID().",
    );
  }
  return id;
}

/** Like `requiredSessionId`, but `null` if the header is absent. */
export function optionalSessionId(message: IncomingMessage): string | null {
  const sent = message.headers[SESSION_HEADER];
  if (sent === undefined) return null;
  const id = typeof sent === "string" ? parseSessionId(sent) : null;
  if (id === null) {
    throw new InvalidRequest(
      "session_id_invalid",
      "The header X-Session-Id must be sent once and be a UUID (8-4-4-4-12 hexadecimal digits, not the nil or max UUID).",
    );
  }
  return id;
}

/** Returns the App key as sent, `null` if absent or empty. */
export function appKey(message: IncomingMessage): string | null {
  return textHeader(message, "service-app-key") || null;
}

/**
 * Returns the `Idempotency-Key` of a chat, `null` if absent.
 * @throws InvalidRequest unless it is 1 to 255 printable ASCII characters, sent once
 */
export function idempotencyKey(message: IncomingMessage): string | null {
  const key = textHeader(message, "idempotency-key");
  if (key === null) return null;
  if (!PRINTABLE.test(key) || timesSent(message, "idempotency-key") > 1) {
    throw new InvalidRequest(
      "idempotency_key_invalid",
      "The header Idempotency-Key must be sent once and be 1 to 255 printable ASCII characters, for example a UUID.",
    );
  }
  return key;
}

/** Returns a header as text, `null` if absent. */
export function textHeader(message: IncomingMessage, name: string): string | null {
  const sent = message.headers[name];
  if (sent === undefined) return null;
  return typeof sent === "string" ? sent : sent.join(", ");
}

function timesSent(message: IncomingMessage, name: string): number {
  return message.rawHeaders.filter((part, index) => index % 2 === 0 && part.toLowerCase() === name).length;
}
