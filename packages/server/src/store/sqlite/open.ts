// The store as the main thread has it: every call goes to the thread that owns the database, and its promise is settled when that has
// committed it. The calls of one turn of the event loop travel together.

import { Worker } from "node:worker_threads";
import type { SessionCommand } from "../../core/commands/index.ts";
import type { Selection } from "../../core/commands/selections.ts";
import type { Clock } from "../../core/ports/driven/clock.ts";
import type { Store } from "../../core/ports/driven/store.ts";
import { storeClosed, storeFull, storeUnavailable } from "../unavailable.ts";
import {
  METHODS,
  type Call,
  type Failure,
  type FromWorker,
  type Method,
  type Outcome,
  type Ports,
  type ToWorker,
  type WorkerOptions,
} from "./calls.ts";

export interface SqliteStoreOptions {
  /** Where the data is, created when absent; `null` keeps everything in memory. */
  readonly directory: string | null;
  /** A server, the default, has its directory to itself; administration works beside a running server. */
  readonly role?: "server" | "administration";
  /**
   * Whether nobody else takes turns in this store, so that nobody can have taken a lease that has run out: its owner, who may have been paused,
   * goes on under it until somebody releases it. `false` when absent.
   */
  readonly isAlone?: boolean;
  /** Id of this process, named to a second server that is refused. */
  readonly processId?: number;
  /** Every call happens at this clock's time. */
  readonly clock: Clock;
  /** The process must end: the disk did not keep what was written, or the thread of the store has died. Called once. */
  readonly onFatal: (error: Error) => void;
}

/**
 * Opens the store. Rejects with a sentence for the person who started the process when another server has the directory, when a
 * newer version has been at the database, or when it cannot be opened.
 */
export async function openSqliteStore(options: SqliteStoreOptions): Promise<Store> {
  const { directory, role = "server", isAlone = false, processId = null, clock, onFatal } = options;
  const workerData: WorkerOptions = { directory, role, isAlone, processId, openedAt: clock.now() };
  const worker = new Worker(new URL("worker.ts", import.meta.url), { workerData, name: "store" });
  await started(worker);
  const calls = new CallQueue(worker, clock, onFatal);
  return {
    execute: <Answer>(command: SessionCommand) => calls.call("execute", [command]) as Promise<Answer>,
    executeEach: <Answer>(selection: Selection) => calls.call("executeEach", [selection]) as Promise<Answer>,
    sessions: proxy(calls, "sessions"),
    turns: proxy(calls, "turns"),
    actions: proxy(calls, "actions"),
    events: proxy(calls, "events"),
    jobs: proxy(calls, "jobs"),
    keys: proxy(calls, "keys"),
    secrets: proxy(calls, "secrets"),
    admin: proxy(calls, "admin"),
    probe: () => calls.call("probe", []) as Promise<void>,
    close: () => calls.close(),
  };
}

function started(worker: Worker): Promise<void> {
  return new Promise((resolve, reject) => {
    const onExit = () => reject(new Error("The thread of the store ended while it was opening the database"));
    worker.once("error", reject);
    worker.once("exit", onExit);
    worker.once("message", (message: FromWorker) => {
      worker.off("error", reject);
      worker.off("exit", onExit);
      if (message.kind === "ready") resolve();
      else reject(new Error(message.kind === "refused" ? message.message : `Unexpected "${message.kind}"`));
    });
  });
}

function proxy<Aggregate extends keyof Ports>(calls: CallQueue, aggregate: Aggregate): Ports[Aggregate] {
  const methods = Object.keys(METHODS[aggregate]).map((name) => {
    const method = `${aggregate}.${name}`;
    return [name, (...parameters: unknown[]) => calls.call(method, parameters)];
  });
  return Object.fromEntries(methods) as Ports[Aggregate];
}

/** A call and the promise that it was answered with. */
interface Pending {
  readonly call: Call;
  resolve(value: unknown): void;
  reject(error: unknown): void;
}

/**
 * This many calls are sent before the turn of the event loop is over, so that the thread of the store is at work while the loop still
 * reads requests. It commits together whatever has arrived all the same.
 */
const SENT_AT_ONCE = 32;

/** Calls that were made and not answered yet. The worker answers them in their order. */
class CallQueue {
  readonly #worker: Worker;
  readonly #clock: Clock;
  readonly #onFatal: (error: Error) => void;
  #unsent: Pending[] = [];
  readonly #sent: Pending[] = [];
  #end: Error | null = null;
  readonly #closed = Promise.withResolvers<void>();

  constructor(worker: Worker, clock: Clock, onFatal: (error: Error) => void) {
    this.#worker = worker;
    this.#clock = clock;
    this.#onFatal = onFatal;
    worker.on("message", (message: FromWorker) => this.#hear(message));
    worker.on("error", (error) => this.#fail(error instanceof Error ? error : new Error(String(error))));
    worker.on("exit", () => this.#fail(new Error("The thread of the store has ended")));
  }

  call(method: Method, parameters: readonly unknown[]): Promise<unknown> {
    if (this.#end !== null) return Promise.reject(storeClosed(this.#end));
    if (this.#unsent.length === 0) setImmediate(() => this.#send());
    const { promise, resolve, reject } = Promise.withResolvers<unknown>();
    this.#unsent.push({ call: { method, at: this.#clock.now(), parameters }, resolve, reject });
    if (this.#unsent.length >= SENT_AT_ONCE) this.#send();
    return promise;
  }

  close(): Promise<void> {
    if (this.#end === null) {
      this.#send();
      this.#end = new Error("The store was closed");
      this.#post({ close: true });
    }
    return this.#closed.promise;
  }

  #send(): void {
    const unsent = this.#unsent;
    this.#unsent = [];
    if (unsent.length === 0) return;
    try {
      this.#post({ calls: unsent.map(({ call }) => call) });
      for (const pending of unsent) this.#sent.push(pending);
    } catch {
      // One of them holds what cannot travel, a function for example: the others go without it.
      for (const pending of unsent) this.#sendAlone(pending);
    }
  }

  #sendAlone(pending: Pending): void {
    try {
      this.#post({ calls: [pending.call] });
      this.#sent.push(pending);
    } catch (error) {
      pending.reject(error);
    }
  }

  #post(message: ToWorker): void {
    this.#worker.postMessage(message);
  }

  #hear(message: FromWorker): void {
    if (message.kind === "outcomes") {
      const answered = this.#sent.splice(0, message.outcomes.length);
      message.outcomes.forEach((outcome, index) => settle(answered[index], outcome));
    } else if (message.kind === "closed") {
      this.#closed.resolve();
    } else if (message.kind === "fatal") {
      this.#fail(new Error(message.cause));
    }
  }

  /** Nothing can be asked any more; what was asked may or may not have been done. */
  #fail(error: Error): void {
    const ended = this.#end;
    this.#end ??= error;
    for (const { reject } of [...this.#sent.splice(0), ...this.#unsent.splice(0)]) reject(storeClosed(error));
    this.#closed.resolve();
    if (ended === null) this.#onFatal(error);
  }
}

function settle(pending: Pending | undefined, outcome: Outcome): void {
  if ("value" in outcome) pending?.resolve(outcome.value);
  else pending?.reject(errorOf(outcome.failure));
}

function errorOf(failure: Failure): unknown {
  if (failure.kind === "defect") return failure.error;
  const cause = new Error(failure.cause);
  return failure.kind === "full" ? storeFull(cause) : storeUnavailable(cause);
}
