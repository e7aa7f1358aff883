import type { Logger } from "../../core/ports/driven/logger.ts";

export interface LogLine {
  readonly level: keyof Logger;
  readonly fields: object;
  readonly message: string;
}

/** Creates a logger that records its lines. */
export function recordingLogger(): Logger & { readonly lines: readonly LogLine[] } {
  const lines: LogLine[] = [];
  const at = (level: keyof Logger) => (fields: object, message: string) =>
    void lines.push({ level, fields, message });
  return { lines, debug: at("debug"), info: at("info"), warn: at("warn"), error: at("error") };
}
