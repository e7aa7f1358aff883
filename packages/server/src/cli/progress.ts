// How far a long command has come: a bar on a terminal, elsewhere a line every few seconds.

import { Writable } from "node:stream";
// As a whole: what Node finds by name in this package is not all of it.
import cliProgress, { type SingleBar } from "cli-progress";
import type { CommandParts } from "./command.ts";

/** Milliseconds between two lines. */
const BETWEEN_LINES_MS = 5000;

export interface Progress {
  /** `done` of `total` rows; another `what` begins anew. */
  show(what: string, done: number, total: number): void;
  /** Leaves what was shown, and writes no more. */
  end(): void;
}

/** `now`: milliseconds of a clock that only goes forward. */
export function createProgress(parts: CommandParts, now: () => number = () => performance.now()): Progress {
  const isPlain = (parts.environment["NO_COLOR"] ?? "") !== "";
  return parts.columns === null || isPlain ? createLines(parts, now) : createBar(parts, parts.columns);
}

function createLines({ errors }: CommandParts, now: () => number): Progress {
  let shown = "";
  let nextAt = 0;
  let isThrough = false;
  return {
    show(what, done, total) {
      if (what !== shown) isThrough = false;
      const isEnd = done >= total && !isThrough;
      if (what === shown && now() < nextAt && !isEnd) return;
      shown = what;
      isThrough = done >= total;
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
    // The process ends by signals as it would without a bar.
    gracefulExit: false,
    emptyOnZero: false,
  });
}
