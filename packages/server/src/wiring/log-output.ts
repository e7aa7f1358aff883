// Where the lines of the log go. Nothing that happens there (a full disk, a reader that has stopped or gone) may hold up the service or end it:
// lines that cannot be written are left out and counted, and the next ones that can be begin with a line that says how many.

import { write, writeSync } from "node:fs";

/** Lines beyond this many bytes are left out while nobody reads the log, instead of filling the memory. */
const MAX_WAITING_BYTES = 16 * 1024 * 1024;
/** As much is written at once, or one line. */
const BATCH_BYTES = 64 * 1024;
/** How long a reader that takes nothing at the moment is left alone. */
const BUSY_MS = 100;
/** A flush tries a busy reader again after this. */
const FLUSH_BUSY_MS = 20;
/** A write that has not come back for so long may never do so. */
const STUCK_MS = 500;

export interface LogOutputOptions {
  /** File descriptor to write to. */
  readonly destination: number;
  /** The line that says how many were left out. */
  readonly describeLoss: (lines: number) => string;
}

/** What is being written. */
interface Batch {
  /** What is left of it. */
  bytes: Buffer;
  /** Whether that begins in the middle of a line. */
  begun: boolean;
  /** How many lines its notice says were left out; 0 where it has none. */
  readonly told: number;
  /** Bytes behind that notice. */
  readonly behindNotice: number;
}

const NOTHING = Buffer.alloc(0);
const LINE_END = 10;

export class LogOutput {
  readonly #options: LogOutputOptions;
  readonly #lines: string[] = [];
  #waitingBytes = 0;
  #batch: Batch | null = null;
  /** Monotonic milliseconds since when the system has a write, `null` when it has none. */
  #givenAt: number | null = null;
  /** The end of a line whose beginning is written: whatever comes next stands behind it. */
  #rest: Buffer = NOTHING;
  #retry: NodeJS.Timeout | null = null;
  #leftOut = 0;
  /** Lines that were left out since that was told. */
  #untold = 0;
  readonly #whenDrained: (() => void)[] = [];

  constructor(options: LogOutputOptions) {
    this.#options = options;
  }

  /** Lines that were left out since the process began. */
  get leftOut(): number {
    return this.#leftOut;
  }

  /** A whole line, with its end. */
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

  /** Resolves when nothing waits any more, be it written or left out. */
  drained(): Promise<void> {
    if (this.#batch === null) return Promise.resolve();
    return new Promise((resolve) => void this.#whenDrained.push(resolve));
  }

  /**
   * Writes what waits, at once, for the moment before the process ends; a reader that takes nothing gets `ms` milliseconds. What the system
   * has already is not waited for. Answers `false` where that may never come back: it would hold up the end of the process, too.
   */
  flush(ms: number): boolean {
    if (this.#givenAt !== null && performance.now() - this.#givenAt > STUCK_MS) return false;
    const until = performance.now() + ms;
    if (this.#retry !== null) clearTimeout(this.#retry);
    const busy = this.#givenAt === null ? this.#batch : null;
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
      this.#give(this.#batch);
      return;
    }
    this.#batch = null;
    for (const resolve of this.#whenDrained.splice(0)) resolve();
  }

  /** The next lines, as many as fit into so many bytes, at least one. */
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
    const told = this.#untold;
    const notice = Buffer.from(told === 0 ? "" : this.#options.describeLoss(told));
    this.#waitingBytes -= text.length;
    this.#rest = NOTHING;
    const bytes = Buffer.concat([rest, notice, text]);
    return { bytes, begun: rest.length > 0, told, behindNotice: text.length };
  }

  #give(batch: Batch): void {
    this.#givenAt = performance.now();
    write(this.#options.destination, batch.bytes, (error, written) => {
      this.#givenAt = null;
      if (error === null) this.#took(batch, written);
      else if (isBusy(error)) this.#retry = setTimeout(() => this.#giveAgain(batch), BUSY_MS);
      else this.#leaveOut(batch);
    });
  }

  #giveAgain(batch: Batch): void {
    this.#retry = null;
    this.#give(batch);
  }

  #took(batch: Batch, written: number): void {
    if (written > 0) batch.begun = batch.bytes[written - 1] !== LINE_END;
    batch.bytes = batch.bytes.subarray(written);
    if (batch.bytes.length > 0) {
      this.#give(batch);
      return;
    }
    this.#untold -= batch.told;
    this.#writeNext();
  }

  #leaveOut(batch: Batch): void {
    const end = batch.begun ? batch.bytes.indexOf(LINE_END) + 1 : 0;
    this.#rest = batch.bytes.subarray(0, end);
    const lost = batch.bytes.subarray(end);
    const isTold = lost.length <= batch.behindNotice;
    if (isTold) this.#untold -= batch.told;
    this.#countLoss(countLines(lost) - (isTold || batch.told === 0 ? 0 : 1));
    this.#writeNext();
  }

  #countLoss(lines: number): void {
    this.#leftOut += lines;
    this.#untold += lines;
  }
}

function countLines(bytes: Buffer): number {
  let count = 0;
  for (const byte of bytes) if (byte === LINE_END) count += 1;
  return count;
}

/** Whoever reads has no room at the moment. */
function isBusy(error: unknown): boolean {
  const { code } = Object(error) as { readonly code?: unknown };
  return code === "EAGAIN" || code === "EBUSY";
}
