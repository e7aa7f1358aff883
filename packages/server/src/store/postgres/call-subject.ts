// What calls are about, and those that wait for it, in their order.

import { PASSED_OVER } from "./calls.ts";
import type { Change, Outcome } from "./group-commit.ts";
import type { Patience } from "./session-locks.ts";

export type Asked =
  | { readonly kind: "change"; readonly change: Change }
  | { readonly kind: "alone"; readonly run: (patience: Patience) => Promise<unknown> }
  | { readonly kind: "read"; readonly run: () => Promise<unknown> };

export type Task = Asked & {
  /** When somebody was first found to hold its session, in milliseconds of the monotonic clock. */
  heldSince: number | null;
  resolve(value: never): void;
  reject(error: unknown): void;
};

/** While it is busy, calls that come wait; while it is read, those that change it. */
export interface Subject {
  readonly name: string;
  readonly waiting: Task[];
  isBusy: boolean;
  /** Reads that are under way. */
  reads: number;
}

/** Changes of one subject that travel together. */
export interface HeadChanges {
  readonly tasks: readonly Task[];
  readonly changes: readonly Change[];
}

/** Takes the changes that come next, up to one that may end the session: the next incarnation begins in a transaction of its own. */
export function changesAtHead(subject: Subject): HeadChanges {
  const tasks: Task[] = [];
  const changes: Change[] = [];
  for (let [head] = subject.waiting; head?.kind === "change"; [head] = subject.waiting) {
    tasks.push(head);
    changes.push(head.change);
    subject.waiting.shift();
    if (head.change.needs.removal === true) break;
  }
  return { tasks, changes };
}

/** How a call ends; never rejects. */
export function outcomeOf(running: Promise<unknown>): Promise<Outcome> {
  return running.then(
    (value): Outcome => (value === PASSED_OVER ? PASSED_OVER : { value }),
    (error: unknown): Outcome => ({ error }),
  );
}
