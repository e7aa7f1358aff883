/** Structured logging; pino satisfies it. Fields never contain message text, keys or whole session ids. */
export interface Logger {
  debug(fields: object, message: string): void;
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}
