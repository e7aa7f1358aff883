// The log: JSON lines, or readable ones for a terminal. Writes are asynchronous, so that a slow reader never delays a
// request; queued lines are written when the process exits. As a second line of defense, message text, keys and whole
// session ids are removed from the fields of each line.

import { pino, type Logger as PinoLogger } from "pino";
import type { LogLevel } from "../config/config.ts";
import { LogOutput } from "./log-output.ts";

export interface Log {
  readonly logger: PinoLogger;
  /** Returns the number of lines that could not be written since the start of the process. */
  readonly linesLeftOut: () => number;
  /**
   * Writes queued lines before the process ends, for up to `FLUSH_MS`. Returns false if a write hangs, which
   * would block the exit.
   */
  flush(): boolean;
  /** Resolves when every line is written or dropped. */
  drained(): Promise<void>;
}

export interface LogOptions {
  readonly level: LogLevel;
  /** File descriptor to write to; 1 is the standard output. */
  readonly destination: number;
  /** True for readable lines instead of JSON. */
  readonly readable: boolean;
}

/** Maximum time that the exit waits for a busy reader, in milliseconds. */
const FLUSH_MS = 500;

const SESSION_KEYS = ["session", "sessionId", "session_id"];
const SECRET_KEYS = [
  "apiKey",
  "authorization",
  "content",
  "key",
  "publicKey",
  "public_key",
  "secret",
  "text",
  "title",
  "userState",
  "user_state",
];

export function createLog({ level, destination, readable }: LogOptions): Log {
  const lineOf = (line: string): string => (readable ? formatReadable(line) : line);
  let notice = "";
  const noticeLogger = createLogger(level, (line) => (notice = lineOf(line)));
  const describeLoss = (lines: number): string => {
    noticeLogger.error({ lines }, "lines of the log could not be written and are missing here");
    return notice;
  };
  const output = new LogOutput({ destination, describeLoss });
  return {
    logger: createLogger(level, (line) => output.write(lineOf(line))),
    linesLeftOut: () => output.dropped,
    flush: () => output.flush(FLUSH_MS),
    drained: () => output.drained(),
  };
}

function createLogger(level: LogLevel, write: (line: string) => void): PinoLogger {
  const options = {
    level,
    base: null,
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label: string) => ({ level: label }) },
    serializers: { err: describeError, error: describeError, cause: describeError },
    redact: { paths: [...SESSION_KEYS, ...SECRET_KEYS], censor: censorField },
  };
  return pino(options, { write });
}

function censorField(value: unknown, path: readonly string[]): string {
  const isSession = SESSION_KEYS.includes(path.at(-1) ?? "");
  // Eight characters identify the lines of a session, but do not open it.
  return isSession && typeof value === "string" ? value.slice(0, 8) : "[redacted]";
}

interface DescribedError {
  readonly type: string;
  readonly message: string;
  readonly code?: string | number;
  readonly stack?: string;
  readonly cause?: DescribedError;
}

/** Describes an error by known fields only, because SDK errors carry whole requests. Redacts quoted session ids and keys. */
function describeError(error: unknown, depth = 0): DescribedError {
  if (!(error instanceof Error)) return { type: typeof error, message: cut(String(error)) };
  const { code, cause } = error as { code?: unknown; cause?: unknown };
  return {
    type: error.name,
    message: cut(error.message),
    ...((typeof code === "string" || typeof code === "number") && { code }),
    ...(error.stack !== undefined && { stack: cut(stackLines(error.stack)) }),
    ...(cause !== undefined && depth < 3 && { cause: describeError(cause, depth + 1) }),
  };
}

/** Returns the frames of a stack without the message before them. */
function stackLines(stack: string): string {
  return stack
    .split("\n")
    .filter((line) => /^\s+at /.test(line))
    .join("\n");
}

function cut(text: string): string {
  return text
    .slice(0, 4000)
    .replaceAll(/\b([0-9a-f]{8})-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b/gi, "$1…")
    .replaceAll(/\b(?:sk|clq|pk|rk|xai|gsk)[-_][\w-]{8,}|\bAIza[\w-]{20,}|\bBearer\s+\S+/g, "[redacted]");
}

function formatReadable(line: string): string {
  const { time, level, msg, err, ...fields } = JSON.parse(line) as Readonly<Record<string, unknown>>;
  const rest = Object.entries(fields).map(([name, value]) => ` ${name}=${plain(value)}`);
  const error = err === undefined ? "" : `\n${JSON.stringify(err, null, 2)}`;
  const clock = new Date(String(time)).toTimeString().slice(0, 8);
  return `${clock} ${String(level).toUpperCase().padEnd(5)} ${plain(msg)}${rest.join("")}${error}\n`;
}

function plain(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}
