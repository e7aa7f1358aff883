// Errors of failed calls. The messages are for the model; addresses and causes are for the log.

import {
  cleanText,
  messageOf,
  type Scrubber,
  scrubText,
  type ToolEffect,
} from "@colloquy/engine/tool-source";

export const UNREACHED = "cannot be reached at the moment";

/** There is no connection to the server, so the tool was not called. `problem` is the rest of a sentence. */
export class McpUnavailable extends Error {
  constructor(server: string, problem: string = UNREACHED, options?: ErrorOptions) {
    super(`The MCP server "${server}" ${problem}. The tool was not called.`, options);
  }
}

/** The server takes too long to connect or to list its tools. */
export class NoAnswerInTime extends Error {}

/** The call was sent, but its response broke off or never arrived. */
export class McpBroken extends Error {
  constructor(server: string, effect: ToolEffect, options?: ErrorOptions) {
    const what = `The connection to the MCP server "${server}" broke before the tool answered.`;
    super(effect === "read" ? what : `${what} It may have had its effect.`, options);
  }
}

/** The server no longer knows the session (404 for a session id), so the call has most probably not run. */
export class SessionLost extends McpBroken {}

/** The response is too large. */
export class McpCut extends Error {
  /** The beginning of the response. */
  readonly head: string;

  constructor(head: string, options?: ErrorOptions) {
    super("The answer is too large to be read.", options);
    this.head = head;
  }
}

const MAX_CAUSES = 5;
const MAX_LENGTH = 500;

/**
 * Returns the messages of an error and its causes, for the log. The error itself is never logged, because it
 * may quote keys that the server repeated.
 */
export function failureText(error: unknown, scrub: Scrubber): string {
  const texts: string[] = [];
  for (
    let cause = error;
    cause !== undefined && texts.length < MAX_CAUSES;
    cause = cause instanceof Error ? cause.cause : undefined
  ) {
    const text = messageOf(cause);
    if (text !== "" && !texts.includes(text)) texts.push(text);
  }
  return scrubText(scrub, cleanText(texts.join(": "))).slice(0, MAX_LENGTH);
}
