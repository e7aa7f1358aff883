// The log: JSON lines, or readable ones for a terminal. Writes are asynchronous, so that a slow reader never delays a
// request; queued lines are written when the process exits. Session ids are replaced by handles in the finished line,
// whatever field, text or error they are in, so that no caller can forget it. As a second line of defense, message text
// and keys are removed from the fields of each line.

import { randomBytes } from "node:crypto";
import { pino, type Logger as PinoLogger } from "pino";
import type { LogLevel } from "../config/config.ts";
import { idsExcept, type SessionHandles } from "@colloquy/engine/internal/core/session-handles";
import { createHandles, HANDLE_KEY_BYTES } from "@colloquy/engine/internal/wiring/handle-cipher";
import { LogOutput } from "./log-output.ts";

export interface Log {
  readonly logger: PinoLogger;
  /**
   * Sets the handles of the installation. Lines before, of a process that has not opened its store, have handles that
   * nobody can resolve.
   */
  readonly useHandles: (handles: SessionHandles) => void;
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

/**
 * Fields that keep their UUIDs, because operators look for them elsewhere: the id of the request, which may be a proxy's,
 * and of the operator, which may be a login's. The edge does not accept a request id that contains the request's session.
 */
const IDS = idsExcept(/"(?:request_id|actor_id)":"[^"\\]*"/);

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
  let handles = createHandles(randomBytes(HANDLE_KEY_BYTES));
  const lineOf = (line: string): string => {
    const masked = handles.mask(line, IDS);
    return readable ? formatReadable(masked) : masked;
  };
  let notice = "";
  const mask = (text: string): string => handles.mask(text);
  const noticeLogger = createLogger(level, mask, (line) => (notice = lineOf(line)));
  const describeLoss = (lines: number): string => {
    noticeLogger.error({ lines }, "lines of the log could not be written and are missing here");
    return notice;
  };
  const output = new LogOutput({ destination, describeLoss });
  return {
    logger: createLogger(level, mask, (line) => output.write(lineOf(line))),
    useHandles: (given) => {
      handles = given;
    },
    linesLeftOut: () => output.dropped,
    flush: () => output.flush(FLUSH_MS),
    drained: () => output.drained(),
  };
}

function createLogger(
  level: LogLevel,
  mask: (text: string) => string,
  write: (line: string) => void,
): PinoLogger {
  const describe = (error: unknown): DescribedError => describeError(error, mask);
  const options = {
    level,
    base: null,
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label: string) => ({ level: label }) },
    serializers: { err: describe, error: describe, cause: describe },
    redact: { paths: SECRET_KEYS, censor: "[redacted]" },
  };
  return pino(options, { write });
}

/** Maximum characters of an error's message, and of its stack. */
const MAX_TEXT = 4000;

interface DescribedError {
  readonly type: string;
  readonly message: string;
  readonly code?: string | number;
  readonly stack?: string;
  readonly cause?: DescribedError;
}

/** Describes an error by known fields only, because SDK errors carry whole requests. Redacts quoted keys. */
function describeError(error: unknown, mask: (text: string) => string, depth = 0): DescribedError {
  // Masked before the cut, which could leave most of an id.
  const shorten = (text: string): string => redactKeys(mask(text).slice(0, MAX_TEXT));
  if (!(error instanceof Error)) return { type: typeof error, message: shorten(String(error)) };
  const { code, cause } = error as { code?: unknown; cause?: unknown };
  return {
    type: error.name,
    message: shorten(error.message),
    ...((typeof code === "string" || typeof code === "number") && { code }),
    ...(error.stack !== undefined && { stack: shorten(stackLines(error.stack)) }),
    ...(cause !== undefined && depth < 3 && { cause: describeError(cause, mask, depth + 1) }),
  };
}

/** Returns the frames of a stack without the message before them. */
function stackLines(stack: string): string {
  return stack
    .split("\n")
    .filter((line) => /^\s+at /.test(line))
    .join("\n");
}

function redactKeys(text: string): string {
  return text.replaceAll(
    /\b(?:sk|clq|pk|rk|xai|gsk)[-_][\w-]{8,}|\bAIza[\w-]{20,}|\bBearer\s+\S+/g,
    "[redacted]",
  );
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
