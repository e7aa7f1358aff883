import type { JsonValue } from "../../core/json.ts";
import { cleanText } from "../../core/text.ts";
import { messageOf } from "../call-tool.ts";

const MAX_CAUSES = 5;
const MAX_LENGTH = 500;

/**
 * Returns the messages of an error and its causes, for the log. The error itself is never logged: it may
 * quote keys that the server repeated.
 */
export function failureText(error: unknown, scrub: (value: JsonValue) => JsonValue): string {
  const texts: string[] = [];
  for (let cause = error; cause !== undefined && texts.length < MAX_CAUSES; cause = causeOf(cause)) {
    const text = messageOf(cause);
    if (text !== "" && !texts.includes(text)) texts.push(text);
  }
  const scrubbed = scrub(cleanText(texts.join(": ")));
  return (typeof scrubbed === "string" ? scrubbed : "").slice(0, MAX_LENGTH);
}

function causeOf(error: unknown): unknown {
  return error instanceof Error ? error.cause : undefined;
}
