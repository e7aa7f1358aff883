// A log that is kept as text, errors with all that they hold, to be looked through.

import type { Logger } from "../../src/core/ports/driven/logger.ts";

export function recordingLogger(logged: string[]): Logger {
  const note = (fields: object, message: string): void => {
    logged.push(JSON.stringify([fields, message], (_, value: unknown) => readable(value)));
  };
  return { debug: note, info: note, warn: note, error: note };
}

/** An error has no fields of its own that JSON would show. */
function readable(value: unknown): unknown {
  return value instanceof Error ? { text: String(value), stack: value.stack, cause: value.cause } : value;
}
