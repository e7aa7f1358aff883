// Calls that wait for the database. Changes that were asked for in one turn of the event loop, or while a commit was under way, travel
// together; calls about the same session keep their order.

import type { Clock } from "../../core/ports/clock.ts";
import { storeClosed } from "../unavailable.ts";
import { ofSession, type Calls } from "./calls.ts";
import type { Connections } from "./connections.ts";
import { answerOf } from "./failures.ts";
import { commitChanges, repeated, type Change, type Outcome } from "./group-commit.ts";
import { takeNumbers } from "./numbers.ts";

interface Settle {
  resolve(value: never): void;
  reject(error: unknown): void;
}

type Asked =
  | { readonly kind: "change"; readonly change: Change }
  | { readonly kind: "alone" | "read"; readonly run: () => Promise<unknown> };

type Task = Settle & Asked;

/** What calls are about. While it is busy, those that come wait; while it is read, those that change it. */
interface Subject {
  readonly name: string;
  readonly waiting: Task[];
  isBusy: boolean;
  /** Reads that are under way. */
  reads: number;
}

export interface CallQueueOptions {
  readonly connections: Connections;
  /** `null` for the database's own time. */
  readonly clock: Pick<Clock, "now"> | null;
  /** Commits that may be under way at once. */
  readonly lanes: number;
  /** Changes that are committed together at most, so that none waits for too many others. */
  readonly mostTogether: number;
}

export class CallQueue implements Calls {
  readonly #options: CallQueueOptions;
  readonly #subjects = new Map<string, Subject>();
  /** Subjects that are not busy and have calls that wait. */
  readonly #ready = new Set<Subject>();
  readonly #drained = Promise.withResolvers<void>();
  #lanesInUse = 0;
  #underWay = 0;
  #isScheduled = false;
  #end: Error | null = null;

  constructor(options: CallQueueOptions) {
    this.#options = options;
  }

  change: Calls["change"] = (sessionId, needs, decide) => {
    const change: Change = { sessionId, needs, at: this.#now(), decide };
    return this.#ask(ofSession(sessionId), { kind: "change", change });
  };

  alone: Calls["alone"] = (subject, work) => {
    const now = this.#now();
    const run = () =>
      repeated(() =>
        this.#options.connections.write(async (connection) => {
          const { at, transaction } = await takeNumbers(connection, { epochs: 0, keys: 0 });
          return { result: await work(connection, now ?? at), transaction };
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
    const run = () => this.#options.connections.read(work);
    return this.#ask(subject, { kind: "read", run });
  };

  /** Refuses what comes from now on; resolves when all that was asked is answered. */
  close(): Promise<void> {
    this.#end ??= new Error("The store was closed");
    this.#settleEnd();
    return this.#drained.promise;
  }

  #now(): number | null {
    return this.#options.clock?.now() ?? null;
  }

  #ask<Answer>(name: string | null, asked: Asked): Promise<Answer> {
    if (this.#end !== null) return Promise.reject(storeClosed(this.#end));
    const { promise, resolve, reject } = Promise.withResolvers<Answer>();
    const task: Task = { ...asked, resolve, reject };
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
    for (const subject of this.#ready) this.#startOwn(subject);
    while (this.#lanesInUse < this.#options.lanes && this.#ready.size > 0) void this.#commitNext();
  }

  /** Starts what a subject has at its head that does not travel with others. What is left, if it is ready still, is a change. */
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
      void this.#runTask(head).then(() => this.#free(subject));
    }
  }

  async #commitNext(): Promise<void> {
    const tasks: (Task & { readonly kind: "change" })[] = [];
    const subjects: Subject[] = [];
    for (const subject of this.#ready) {
      if (tasks.length >= this.#options.mostTogether) break;
      subjects.push(subject);
      this.#takeUp(subject);
      for (let [head] = subject.waiting; head?.kind === "change"; [head] = subject.waiting) {
        tasks.push(head);
        subject.waiting.shift();
      }
    }
    this.#lanesInUse += 1;
    const changes = tasks.map(({ change }) => change);
    const outcomes = await commitChanges(this.#options.connections, changes);
    tasks.forEach((task, index) => this.#settle(task, outcomes[index]));
    this.#lanesInUse -= 1;
    for (const subject of subjects) this.#free(subject);
    if (this.#ready.size > 0) this.#schedule();
  }

  async #runTask(task: Task): Promise<void> {
    if (task.kind === "change") throw new Error("A change travels with others");
    const outcome = await task.run().then(
      (value): Outcome => ({ value }),
      (error: unknown): Outcome => ({ error }),
    );
    this.#settle(task, outcome);
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
    if (outcome !== undefined && "value" in outcome) task.resolve(outcome.value as never);
    else task.reject(answerOf(outcome?.error));
    this.#underWay -= 1;
    this.#settleEnd();
  }

  #settleEnd(): void {
    if (this.#end !== null && this.#underWay === 0) this.#drained.resolve();
  }
}
