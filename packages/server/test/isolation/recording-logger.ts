// A logger that records each line as JSON, with text, stack and cause of errors.

import type { Logger } from "@colloquy/engine/internal/core/ports/driven/logger";

export function recordingLogger(logged: string[]): Logger {
  const record = (fields: object, message: string): void => {
    logged.push(JSON.stringify([fields, message], (_, value: unknown) => withErrorFields(value)));
  };
  return { debug: record, info: record, warn: record, error: record };
}

/** Returns the fields of an error, which `JSON.stringify` omits. */
function withErrorFields(value: unknown): unknown {
  return value instanceof Error ? { text: String(value), stack: value.stack, cause: value.cause } : value;
}
