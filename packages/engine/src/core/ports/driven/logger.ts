/**
 * Structured logging; pino satisfies it. Fields never contain message text or keys. Session ids may be anywhere: the
 * log replaces them by handles (wiring/logging.ts).
 */
export interface Logger {
  debug(fields: object, message: string): void;
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}
