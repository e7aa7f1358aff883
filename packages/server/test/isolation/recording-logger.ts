// A logger that records everything as text, including all fields of errors.

import type { Logger } from "../../src/core/ports/driven/logger.ts";

export function recordingLogger(logged: string[]): Logger {
  const note = (fields: object, message: string): void => {
    logged.push(JSON.stringify([fields, message], (_, value: unknown) => readable(value)));
  };
  return { debug: note, info: note, warn: note, error: note };
}

/** Makes the fields of errors visible to JSON. */
function readable(value: unknown): unknown {
  return value instanceof Error ? { text: String(value), stack: value.stack, cause: value.cause } : value;
}
