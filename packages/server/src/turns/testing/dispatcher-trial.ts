// A dispatcher as its tests need it: runs end, and transactions happen, when the test says so.

import { ManualClock } from "../../../test/manual-clock.ts";
import type { Logger } from "../../core/ports/logger.ts";
import type { TurnStore } from "../../core/ports/turn-store.ts";
import type { StartedTurn } from "../../core/turn.ts";
import { Dispatcher } from "../dispatcher.ts";
import { RunningTurns } from "../running-turns.ts";
import { TurnQueue } from "./turn-queue.ts";

export interface Run {
  readonly turn: StartedTurn;
  readonly signal: AbortSignal;
  end(): void;
  breakDown(): void;
}

export interface DispatcherTrial {
  readonly clock: ManualClock;
  readonly queue: TurnQueue;
  readonly running: RunningTurns;
  readonly dispatcher: Dispatcher;
  /** Runs that have not ended, in the order in which they began. */
  readonly runs: Run[];
  readonly settled: number[];
  readonly logged: string[];
  /** How often other processes were told that turns wait. */
  readonly called: { readonly count: number };
  /** Sends a chat whose transaction happens when the test says so. */
  chat(provider?: string, rejected?: boolean): void;
}

export interface TrialOptions {
  readonly total?: number;
  readonly byProvider?: Readonly<Record<string, number>>;
  readonly maxWaiting?: number;
  /** Whether runs end when they are aborted. */
  readonly obedient?: boolean;
  readonly settle?: () => void;
  readonly isAlone?: boolean;
}

/** A dispatcher that has started, with a queue whose transactions happen when the test says so. */
export async function start(options: TrialOptions = {}): Promise<DispatcherTrial> {
  const clock = new ManualClock();
  const total = options.total ?? 1;
  const queue = new TurnQueue(total);
  const running = new RunningTurns({ total, byProvider: options.byProvider ?? {} });
  const runs: Run[] = [];
  const settled: number[] = [];
  const called = { count: 0 };
  const logged: string[] = [];
  const log = (_fields: unknown, message: string): void => void logged.push(message);
  const logger: Logger = { debug: log, info: log, warn: log, error: log };
  const dispatcher = new Dispatcher({
    // The rest of the port is the turns' own, which nobody here runs.
    store: queue as unknown as TurnStore,
    running,
    clock,
    owner: "me",
    models: () => ({}),
    logger,
    run: (turn, signal) => {
      const { promise, resolve, reject } = Promise.withResolvers<void>();
      if (options.obedient ?? true) signal.addEventListener("abort", () => resolve());
      const run = { turn, signal, end: resolve, breakDown: () => reject(new Error("defect")) };
      runs.push(run);
      return promise.finally(() => {
        runs.splice(runs.indexOf(run), 1);
        queue.end();
      });
    },
    settle: ({ session }) => {
      settled.push(session.key);
      options.settle?.();
    },
    maxWaiting: options.maxWaiting ?? 100,
    isAlone: options.isAlone ?? true,
    callOthers: () => (called.count += 1),
  });
  const started = dispatcher.start();
  await queue.commitAll();
  await started;
  await queue.commitAll();
  const chat = (provider?: string, rejected?: boolean): void =>
    void queue.chat(dispatcher.reserve(), provider, rejected);
  return { clock, queue, running, dispatcher, runs, settled, logged, called, chat };
}

/** Numbers of the turns that run. */
export function numbers(runs: readonly Run[]): number[] {
  return runs.map(({ turn }) => turn.turn);
}
