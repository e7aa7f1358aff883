// Queues calls to the database. Commits changes together that arrive in one turn of the event loop or during
// one commit, and keeps the order of calls about the same session. Takes calls of a session that another node
// has locked out of the batch: they wait for the lock on one of a few separate connections, or are retried a
// moment later.

import { birthOf, needsOf, sessionOf } from "@colloquy/engine/internal/core/commands/decide";
import type { Clock } from "@colloquy/engine/internal/core/ports/driven/clock";
import { storeClosed, storeUnavailable } from "@colloquy/engine/internal/store/unavailable";
import { ofSession } from "@colloquy/engine/internal/store/shared";
import { PASSED_OVER, type Calls } from "./calls.ts";
import { CommitLanes, commitPatiently, repeated, type Change, type Outcome } from "./group-commit.ts";
import type { Connections } from "./connections.ts";
import { answerOf } from "./failures.ts";
import { NO_NUMBERS, takeNumbers } from "./transaction.ts";
import type { Patience } from "./session-locks.ts";

/** Milliseconds until a skipped call is retried. */
const PAUSE_MS = 25;

type Call =
  | { readonly kind: "change"; readonly change: Change }
  | { readonly kind: "alone"; readonly run: (patience: Patience) => Promise<unknown> }
  | { readonly kind: "read"; readonly run: () => Promise<unknown> };

type Task = Call & {
  /** When the subject's session was first found locked, in milliseconds of the monotonic clock. */
  heldSince: number | null;
  resolve(value: never): void;
  reject(error: unknown): void;
};

/** The queue of one subject. All its calls wait while it is busy; its changes wait while it is read. */
interface Subject {
  readonly name: string;
  readonly waiting: Task[];
  isBusy: boolean;
  /** Number of running reads. */
  reads: number;
}

/** Changes of one subject that are committed together. */
interface HeadChanges {
  readonly tasks: readonly Task[];
  readonly changes: readonly Change[];
}

export interface CallQueueOptions {
  readonly connections: Connections;
  /** `null` uses the database's own time. */
  readonly clock: Pick<Clock, "now"> | null;
  /** Maximum concurrent commits. */
  readonly lanes: number;
  /** Maximum changes of one commit, so that no change waits for too many others. */
  readonly mostTogether: number;
  /**
   * Maximum sessions whose locks are awaited at once, each on a separate connection. Calls of further
   * sessions are retried.
   */
  readonly mostWaitedFor: number;
  /** Milliseconds for which a call of a locked session is retried. */
  readonly heldMs: number;
}

export class CallQueue implements Calls {
  readonly #options: CallQueueOptions;
  readonly #lanes: CommitLanes;
  readonly #subjects = new Map<string, Subject>();
  /** Idle subjects with waiting calls. */
  readonly #ready = new Set<Subject>();
  /** Ready subjects that `#dispatch` has not seen yet. */
  readonly #fresh = new Set<Subject>();
  readonly #drained = Promise.withResolvers<void>();
  #waitedFor = 0;
  #underWay = 0;
  #isScheduled = false;
  #end: Error | null = null;

  constructor(options: CallQueueOptions) {
    this.#options = options;
    const { connections, lanes } = options;
    this.#lanes = new CommitLanes({ connections, lanes, onFree: () => this.#schedule() });
  }

  execute: Calls["execute"] = (command) => {
    const change: Change = {
      sessionId: sessionOf(command),
      needs: needsOf(command),
      mayCreate: birthOf(command) !== null,
      at: this.#now(),
      decide: (transaction, at) => transaction.execute(at, command),
    };
    return this.#ask(ofSession(change.sessionId), { kind: "change", change });
  };

  alone: Calls["alone"] = (subject, work) => {
    const now = this.#now();
    const run = (patience: Patience) =>
      repeated(() =>
        this.#options.connections.write(async (connection) => {
          const { at, transaction } = await takeNumbers(connection, NO_NUMBERS);
          return { result: await work(connection, now ?? at, patience), transaction };
        }),
      );
    return this.#ask(subject, { kind: "alone", run });
  };

  look: Calls["look"] = (subject, work) => {
    const now = this.#now();
    const run = () => this.#options.connections.use((connection) => work(connection, now));
    return this.#ask(subject, { kind: "read", run });
  };

  read: Calls["read"] = (subject, work) => {
    const now = this.#now();
    const run = () => this.#options.connections.read((connection) => work(connection, now));
    return this.#ask(subject, { kind: "read", run });
  };

  /** Rejects new calls. Resolves when all earlier calls are answered. */
  close(): Promise<void> {
    this.#end ??= new Error("The store was closed");
    this.#settleEnd();
    return this.#drained.promise;
  }

  #now(): number | null {
    return this.#options.clock?.now() ?? null;
  }

  #ask<Answer>(name: string | null, call: Call): Promise<Answer> {
    if (this.#end !== null) return Promise.reject(storeClosed(this.#end));
    const { promise, resolve, reject } = Promise.withResolvers<Answer>();
    const task: Task = { ...call, heldSince: null, resolve, reject };
    this.#underWay += 1;
    if (name === null) {
      void this.#runTask(task);
      return promise;
    }
    const subject = this.#subjects.get(name) ?? { name, waiting: [], isBusy: false, reads: 0 };
    this.#subjects.set(name, subject);
    subject.waiting.push(task);
    if (!subject.isBusy) this.#makeReady(subject);
    return promise;
  }

  #makeReady(subject: Subject): void {
    this.#ready.add(subject);
    this.#fresh.add(subject);
    this.#schedule();
  }

  #schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    setImmediate(() => {
      this.#isScheduled = false;
      this.#dispatch();
    });
  }

  #dispatch(): void {
    for (const subject of this.#fresh) this.#startOwn(subject);
    this.#fresh.clear();
    if (this.#lanes.isFree && this.#ready.size > 0) void this.#commitNext();
  }

  /**
   * Starts the reads and the lone change at the head of a subject. If it is still ready afterwards, its head
   * is a change to commit.
   */
  #startOwn(subject: Subject): void {
    for (let [head] = subject.waiting; head?.kind === "read"; [head] = subject.waiting) {
      subject.waiting.shift();
      subject.reads += 1;
      void this.#runTask(head).then(() => {
        subject.reads -= 1;
        if (!subject.isBusy) this.#free(subject);
      });
    }
    const [head] = subject.waiting;
    if (subject.reads > 0 || head === undefined) {
      this.#ready.delete(subject);
    } else if (head.kind === "alone") {
      subject.waiting.shift();
      this.#takeUp(subject);
      void outcomeOf(head.run("passes over")).then((outcome) => this.#answer(subject, [head], [outcome]));
    }
  }

  async #commitNext(): Promise<void> {
    const taken: ({ readonly subject: Subject } & HeadChanges)[] = [];
    let count = 0;
    for (const subject of this.#ready) {
      if (count >= this.#options.mostTogether) break;
      this.#takeUp(subject);
      const next = { subject, ...changesAtHead(subject) };
      taken.push(next);
      count += next.tasks.length;
    }
    const outcomes = await this.#lanes.commit(taken.flatMap(({ changes }) => changes));
    let first = 0;
    for (const { subject, tasks } of taken) {
      this.#answer(subject, tasks, outcomes.slice(first, first + tasks.length));
      first += tasks.length;
    }
  }

  /** Answers the running calls of a subject; skipped ones return to the head of its queue. */
  #answer(subject: Subject, tasks: readonly Task[], outcomes: readonly (Outcome | undefined)[]): void {
    const held: Task[] = [];
    tasks.forEach((task, index) => {
      const outcome = outcomes[index];
      if (outcome === PASSED_OVER && this.#mayComeAgain(task)) held.push(task);
      else this.#settle(task, outcome);
    });
    if (held.length === 0) {
      this.#free(subject);
      return;
    }
    subject.waiting.unshift(...held);
    if (this.#waitedFor < this.#options.mostWaitedFor) void this.#waitFor(subject);
    else setTimeout(() => this.#free(subject), PAUSE_MS);
  }

  #mayComeAgain(task: Task): boolean {
    task.heldSince ??= performance.now();
    return performance.now() - task.heldSince < this.#options.heldMs;
  }

  /** Runs the next calls of a busy subject, waiting for its lock. */
  async #waitFor(subject: Subject): Promise<void> {
    this.#waitedFor += 1;
    const [head] = subject.waiting;
    if (head?.kind === "alone") {
      subject.waiting.shift();
      const outcome = await outcomeOf(head.run("waits"));
      this.#waitedFor -= 1;
      this.#answer(subject, [head], [outcome]);
    } else {
      const { tasks, changes } = changesAtHead(subject);
      const outcomes = await commitPatiently(this.#options.connections, changes);
      this.#waitedFor -= 1;
      this.#answer(subject, tasks, outcomes);
    }
  }

  async #runTask(task: Task): Promise<void> {
    if (task.kind !== "read") throw new Error("Only reads may run beside other tasks of their subject");
    this.#settle(task, await outcomeOf(task.run()));
  }

  #takeUp(subject: Subject): void {
    subject.isBusy = true;
    this.#ready.delete(subject);
  }

  #free(subject: Subject): void {
    subject.isBusy = false;
    if (subject.waiting.length > 0) {
      this.#makeReady(subject);
      return;
    }
    this.#ready.delete(subject);
    if (subject.reads === 0) this.#subjects.delete(subject.name);
  }

  #settle(task: Task, outcome: Outcome | undefined): void {
    if (outcome === PASSED_OVER)
      task.reject(storeUnavailable(new Error("Another transaction has locked the session")));
    else if (outcome !== undefined && "value" in outcome) task.resolve(outcome.value as never);
    else task.reject(answerOf(outcome?.error));
    this.#underWay -= 1;
    this.#settleEnd();
  }

  #settleEnd(): void {
    if (this.#end !== null && this.#underWay === 0) this.#drained.resolve();
  }
}

/**
 * Takes the changes at the head. A change that may remove the session or messages is alone in its
 * transaction, because the next incarnation needs a separate one, and no other change may write rows that it
 * removes.
 */
function changesAtHead(subject: Subject): HeadChanges {
  const tasks: Task[] = [];
  const changes: Change[] = [];
  for (let [head] = subject.waiting; head?.kind === "change"; [head] = subject.waiting) {
    if (head.change.needs.removal === true && changes.length > 0) break;
    tasks.push(head);
    changes.push(head.change);
    subject.waiting.shift();
    if (head.change.needs.removal === true) break;
  }
  return { tasks, changes };
}

function outcomeOf(running: Promise<unknown>): Promise<Outcome> {
  return running.then(
    (value): Outcome => (value === PASSED_OVER ? PASSED_OVER : { value }),
    (error: unknown): Outcome => ({ error }),
  );
}
