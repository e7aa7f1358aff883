// Validates the text of user messages.

import { InvalidRequest, ServiceError } from "./errors.ts";

/** Maximum length of a message in UTF-16 code units (contract section 6). */
const MESSAGE_MAX = 32_768;

/**
 * Validates a message. Does not trim it: leading whitespace may be intended, as in indented code. One with files may have
 * no text.
 */
export function readMessage(message: string | null | undefined, hasFiles = false): string {
  if (hasFiles && (message ?? "").trim() === "") return "";
  if (message === null || message === undefined) {
    throw new InvalidRequest(
      "parameter_missing",
      'The parameter "message" is missing. Send the text of the message in the query or in a JSON body.',
    );
  }
  if (message.trim() === "") {
    throw new InvalidRequest(
      "message_blank",
      "The message is blank. Send at least one character that is not white space.",
    );
  }
  if (message.length > MESSAGE_MAX) {
    throw new ServiceError(
      413,
      "message_too_long",
      `The message has ${message.length} characters. Send at most ${MESSAGE_MAX}.`,
    );
  }
  return message;
}
