// A dispatcher for tests, in which the test ends runs and commits transactions.

import { ManualClock } from "../../../../server/test/manual-clock.ts";
import type { Logger } from "../../core/ports/driven/logger.ts";
import type { CommandStore, TurnStore } from "../../core/ports/driven/store.ts";
import type { StartedTurn } from "../../core/turn.ts";
import { Dispatcher } from "../dispatcher.ts";
import { RunningTurns } from "../running-turns.ts";
import { TurnQueue } from "./turn-queue.ts";

export interface Run {
  readonly turn: StartedTurn;
  readonly signal: AbortSignal;
  end(): void;
  crash(): void;
}

export interface DispatcherTrial {
  readonly clock: ManualClock;
  readonly queue: TurnQueue;
  readonly running: RunningTurns;
  readonly dispatcher: Dispatcher;
  /** Active runs, in the order of their start. */
  readonly runs: Run[];
  readonly applied: number[];
  readonly logged: string[];
  /** Number of notifications to other processes. */
  readonly called: { readonly count: number };
  /** Sends a chat whose transaction the test commits. */
  chat(provider?: string, rejected?: boolean): void;
}

export interface TrialOptions {
  readonly total?: number;
  readonly byProvider?: Readonly<Record<string, number>>;
  readonly maxWaiting?: number;
  /** If true, runs end on abort. */
  readonly honorsAbort?: boolean;
  readonly apply?: () => void;
  readonly isAlone?: boolean;
}

/** Starts a dispatcher over a queue whose transactions the test commits. */
export async function start(options: TrialOptions = {}): Promise<DispatcherTrial> {
  const clock = new ManualClock();
  const total = options.total ?? 1;
  const queue = new TurnQueue(total);
  const running = new RunningTurns({ total, byProvider: options.byProvider ?? {} });
  const runs: Run[] = [];
  const applied: number[] = [];
  const called = { count: 0 };
  const logged: string[] = [];
  const log = (_fields: unknown, message: string): void => void logged.push(message);
  const logger: Logger = { debug: log, info: log, warn: log, error: log };
  const dispatcher = new Dispatcher({
    // The dispatcher uses only this part of the port.
    store: queue as unknown as TurnStore,
    commands: { executeEach: queue.executeEach.bind(queue) as CommandStore["executeEach"] },
    running,
    clock,
    owner: "me",
    apps: { names: () => [], get: () => null },
    logger,
    runner: {
      run: (turn, signal) => {
        const { promise, resolve, reject } = Promise.withResolvers<void>();
        if (options.honorsAbort ?? true) signal.addEventListener("abort", () => resolve());
        const run = { turn, signal, end: resolve, crash: () => reject(new Error("defect")) };
        runs.push(run);
        return promise.finally(() => {
          runs.splice(runs.indexOf(run), 1);
          queue.end();
        });
      },
    },
    registry: {
      apply: ({ session }) => {
        applied.push(session.key);
        options.apply?.();
      },
    },
    maxWaiting: options.maxWaiting ?? 100,
    isAlone: options.isAlone ?? true,
    hub: { notifyWork: () => void (called.count += 1) },
  });
  const started = dispatcher.start();
  await queue.commitAll();
  await started;
  await queue.commitAll();
  const chat = (provider?: string, rejected?: boolean): void =>
    void queue.chat(dispatcher.reserve(), provider, rejected);
  return { clock, queue, running, dispatcher, runs, applied, logged, called, chat };
}

/** Returns the numbers of the running turns. */
export function numbers(runs: readonly Run[]): number[] {
  return runs.map(({ turn }) => turn.number);
}
