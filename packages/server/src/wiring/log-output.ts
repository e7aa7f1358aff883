// Writes log lines. A full disk, or a reader that stalls or exits, must not delay or end the service. Lines
// that cannot be written are dropped and counted, and a notice with their number precedes the next written
// line.

import { write, writeSync } from "node:fs";

/** Maximum bytes of queued lines; further lines are dropped. */
const MAX_WAITING_BYTES = 16 * 1024 * 1024;
/** Maximum bytes of one write, unless a single line is longer. */
const BATCH_BYTES = 64 * 1024;
/** Delay before a write to a busy reader is retried. */
const BUSY_MS = 100;
/** Delay before a write to a busy reader is retried during a flush. */
const FLUSH_BUSY_MS = 20;
/** A write that takes longer than this may never return. */
const STUCK_MS = 500;

export interface LogOutputOptions {
  /** File descriptor to write to. */
  readonly destination: number;
  /** Returns the notice about dropped lines. */
  readonly describeLoss: (lines: number) => string;
}

/** A write in progress. */
interface Batch {
  /** The bytes that are not written yet. */
  bytes: Buffer;
  /** True if the bytes begin in the middle of a line. */
  isMidLine: boolean;
  /** Number of dropped lines that the batch's notice reports; 0 without a notice. */
  readonly reported: number;
  /** Number of bytes after the notice. */
  readonly bytesAfterNotice: number;
}

const NOTHING = Buffer.alloc(0);
const LINE_END = 10;

export class LogOutput {
  readonly #options: LogOutputOptions;
  readonly #lines: string[] = [];
  #waitingBytes = 0;
  #batch: Batch | null = null;
  /** State of the system call in progress; a stuck call may never return. */
  #call: "started" | "late" | "stuck" | null = null;
  /** Timer that is restarted with each write. */
  readonly #stuckTimer = setTimeout(() => this.#onLate(), STUCK_MS).unref();
  /** The rest of a partly written line, which must be written next. */
  #rest: Buffer = NOTHING;
  #retry: NodeJS.Timeout | null = null;
  #dropped = 0;
  /** Lines dropped since the last notice. */
  #unreported = 0;
  readonly #whenDrained: (() => void)[] = [];

  constructor(options: LogOutputOptions) {
    this.#options = options;
  }

  /** Lines dropped since the start of the process. */
  get dropped(): number {
    return this.#dropped;
  }

  /** Writes a whole line with its line break. */
  write(line: string): void {
    const bytes = Buffer.byteLength(line);
    if (this.#waitingBytes + bytes > MAX_WAITING_BYTES) {
      this.#countLoss(1);
      return;
    }
    this.#lines.push(line);
    this.#waitingBytes += bytes;
    if (this.#batch === null) this.#writeNext();
  }

  /** Resolves when every queued line is written or dropped. */
  drained(): Promise<void> {
    if (this.#batch === null) return Promise.resolve();
    return new Promise((resolve) => void this.#whenDrained.push(resolve));
  }

  /**
   * Writes the queued lines synchronously before the process ends, for up to `ms` milliseconds. Does not wait for a write
   * in progress. Returns false if that may never return, because it would block the exit.
   */
  flush(ms: number): boolean {
    if (this.#call === "stuck") return false;
    const until = performance.now() + ms;
    if (this.#retry !== null) clearTimeout(this.#retry);
    const busy = this.#call === null ? this.#batch : null;
    const next = this.#lines.length > 0 ? this.#nextBatch(Number.POSITIVE_INFINITY) : null;
    let bytes = Buffer.concat([busy?.bytes ?? NOTHING, next?.bytes ?? this.#rest]);
    while (bytes.length > 0 && performance.now() < until) {
      try {
        bytes = bytes.subarray(writeSync(this.#options.destination, bytes));
      } catch (error) {
        if (!isBusy(error)) return true;
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, FLUSH_BUSY_MS);
      }
    }
    return true;
  }

  #writeNext(): void {
    if (this.#lines.length > 0) {
      this.#batch = this.#nextBatch(BATCH_BYTES);
      this.#startWrite(this.#batch);
      return;
    }
    this.#batch = null;
    for (const resolve of this.#whenDrained.splice(0)) resolve();
  }

  /** Takes as many lines as fit, at least one. */
  #nextBatch(atMostBytes: number): Batch {
    let count = 0;
    let size = 0;
    for (const line of this.#lines) {
      size += Buffer.byteLength(line);
      if (count > 0 && size > atMostBytes) break;
      count += 1;
    }
    const text = Buffer.from(this.#lines.splice(0, count).join(""));
    const rest = this.#rest;
    const reported = this.#unreported;
    const notice = Buffer.from(reported === 0 ? "" : this.#options.describeLoss(reported));
    this.#waitingBytes -= text.length;
    this.#rest = NOTHING;
    const bytes = Buffer.concat([rest, notice, text]);
    return { bytes, isMidLine: rest.length > 0, reported, bytesAfterNotice: text.length };
  }

  #startWrite(batch: Batch): void {
    this.#call = "started";
    this.#stuckTimer.refresh();
    write(this.#options.destination, batch.bytes, (error, written) => {
      this.#call = null;
      if (error === null) this.#onWritten(batch, written);
      else if (isBusy(error)) this.#retry = setTimeout(() => this.#startWrite(batch), BUSY_MS);
      else this.#drop(batch);
    });
  }

  #onLate(): void {
    if (this.#call !== "started") return;
    this.#call = "late";
    // After the event loop was blocked, the end of a call is reported late, but before this immediate.
    setImmediate(() => {
      if (this.#call === "late") this.#call = "stuck";
    });
  }

  #onWritten(batch: Batch, written: number): void {
    if (written > 0) batch.isMidLine = batch.bytes[written - 1] !== LINE_END;
    batch.bytes = batch.bytes.subarray(written);
    if (batch.bytes.length > 0) {
      this.#startWrite(batch);
      return;
    }
    this.#unreported -= batch.reported;
    this.#writeNext();
  }

  #drop(batch: Batch): void {
    const end = batch.isMidLine ? batch.bytes.indexOf(LINE_END) + 1 : 0;
    this.#rest = batch.bytes.subarray(0, end);
    const lost = batch.bytes.subarray(end);
    const isReported = lost.length <= batch.bytesAfterNotice;
    if (isReported) this.#unreported -= batch.reported;
    this.#countLoss(countLines(lost) - (isReported || batch.reported === 0 ? 0 : 1));
    this.#writeNext();
  }

  #countLoss(lines: number): void {
    this.#dropped += lines;
    this.#unreported += lines;
  }
}

function countLines(bytes: Buffer): number {
  let count = 0;
  for (const byte of bytes) if (byte === LINE_END) count += 1;
  return count;
}

/** Returns true if the reader is busy. */
function isBusy(error: unknown): boolean {
  const { code } = Object(error) as { readonly code?: unknown };
  return code === "EAGAIN" || code === "EBUSY";
}
