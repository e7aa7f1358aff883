// Progress of a long command: a bar on a terminal, otherwise a line every few seconds.

import { Writable } from "node:stream";
// Default import, because Node does not detect all named exports of this CommonJS package.
import cliProgress, { type SingleBar } from "cli-progress";
import type { CommandParts } from "./command.ts";

/** Milliseconds between two lines. */
const BETWEEN_LINES_MS = 5000;

export interface Progress {
  /** Shows `done` of `total` rows. A new `what` starts a new bar. */
  show(what: string, done: number, total: number): void;
  /** Stops updating; the output stays on the screen. */
  end(): void;
}

/** `now` returns the milliseconds of a monotonic clock. */
export function createProgress(parts: CommandParts, now: () => number = () => performance.now()): Progress {
  const isPlain = (parts.environment["NO_COLOR"] ?? "") !== "";
  return parts.columns === null || isPlain ? createLines(parts, now) : createBar(parts, parts.columns);
}

function createLines({ errors }: CommandParts, now: () => number): Progress {
  let shown = "";
  let nextAt = 0;
  let isComplete = false;
  return {
    show(what, done, total) {
      if (what !== shown) isComplete = false;
      const isEnd = done >= total && !isComplete;
      if (what === shown && now() < nextAt && !isEnd) return;
      shown = what;
      isComplete = done >= total;
      nextAt = now() + BETWEEN_LINES_MS;
      errors.write(`${what}: ${done} of ${total} rows\n`);
    },
    end() {},
  };
}

function createBar({ output }: CommandParts, columns: number): Progress {
  const written = new Writable({
    decodeStrings: false,
    write(text, _encoding, done) {
      output.write(String(text));
      done();
    },
  });
  const stream = Object.assign(written, { isTTY: true, columns });
  let bar: SingleBar | null = null;
  let shown = "";
  const end = (): void => {
    bar?.stop();
    bar = null;
  };
  return {
    show(what, done, total) {
      if (what !== shown) {
        end();
        shown = what;
        bar = createSingleBar(stream);
        bar.start(total, done, { what });
      }
      bar?.update(done);
    },
    end,
  };
}

function createSingleBar(stream: NodeJS.WritableStream): SingleBar {
  return new cliProgress.SingleBar({
    stream,
    format: "{what} [{bar}] {percentage}% | {value} of {total} rows | {eta_formatted} left",
    barCompleteChar: "#",
    barIncompleteChar: "-",
    hideCursor: true,
    // Leave signal handling to the process.
    gracefulExit: false,
    emptyOnZero: false,
  });
}
