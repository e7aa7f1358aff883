// The store on SQLite as the main thread sees it: every call goes to the thread that owns the database, and
// its promise resolves after the commit. The calls of one turn of the event loop are sent together.

import { extname } from "node:path";
import { Worker } from "node:worker_threads";
import type { Selection, SessionCommand } from "../../core/commands/index.ts";
import { onThreadMessage } from "../../core/thread-messages.ts";
import type { Clock } from "../../core/ports/driven/clock.ts";
import type { Store } from "../../core/ports/driven/store.ts";
import { sharedPorts } from "../shared-ports.ts";
import { storeClosed, storeFull, storeLost, storeUnavailable } from "../unavailable.ts";
import type {
  Call,
  Failure,
  FromWorker,
  Method,
  Outcome,
  Ports,
  Signature,
  ToWorker,
  WorkerOptions,
} from "./calls.ts";
import type { ReaderOptions } from "./reader.ts";

export interface SqliteStoreOptions {
  /** The data directory, created if it does not exist; `null` keeps everything in memory. */
  readonly directory: string | null;
  /**
   * A server (the default) has exclusive use of its directory; administration works beside a running server.
   */
  readonly role?: "server" | "administration";
  /**
   * True if no other process runs turns of this store. An expired lease then keeps its owner until it is
   * released, because the owner may have been paused. Defaults to `false`.
   */
  readonly isAlone?: boolean;
  /** Id of this process, for the error of a second server. */
  readonly processId?: number;
  /** The clock whose time every call gets. */
  readonly clock: Clock;
  /** Called once, when the process must end: an fsync failed, or the worker died. */
  readonly onFatal: (error: Error) => void;
}

/**
 * Opens the store. Rejects with a user-facing message if another server has locked the directory, the schema
 * is too new, or the database cannot be opened.
 */
export async function openSqliteStore(options: SqliteStoreOptions): Promise<Store> {
  const { directory, role = "server", isAlone = false, processId = null, clock, onFatal } = options;
  const workerData: WorkerOptions = { directory, role, isAlone, processId, openedAt: clock.now() };
  // The published package contains JavaScript.
  const file = `worker${extname(import.meta.filename)}`;
  const worker = new Worker(new URL(file, import.meta.url), { workerData, name: "store" });
  await started(worker);
  const calls = new CallQueue(worker, clock, onFatal);
  // A database in memory has one connection.
  const reader = directory === null ? null : new Reader(directory, clock);
  const call = <Answer>(method: Call["method"], ...parameters: unknown[]): Promise<Answer> =>
    calls.call(method, true, parameters) as Promise<Answer>;
  return {
    // The worker finds the function of each name in `prepareMethods` (methods.ts).
    execute: (command: SessionCommand) => call("execute", command),
    executeEach: (selection: Selection) => call("executeEach", selection),
    ...portsOf(calls, reader ?? calls),
    probe: () => call("probe"),
    purge: () => call("purge"),
    close: async () => await calls.close(reader?.close()),
  };
}

/** Methods that run beside the thread that owns the database, because they may take long. */
const READ_BESIDE: ReadonlySet<string> = new Set(["search.find", "files.used"]);

/** The thread for long reads. It starts with the first one. */
class Reader {
  readonly #directory: string;
  readonly #clock: Clock;
  #calls: CallQueue | null = null;
  #isClosed = false;

  constructor(directory: string, clock: Clock) {
    this.#directory = directory;
    this.#clock = clock;
  }

  call(method: Call["method"], writes: boolean, parameters: readonly unknown[]): Promise<unknown> {
    if (this.#calls === null && this.#isClosed)
      return Promise.reject(storeClosed(new Error("The store was closed")));
    this.#calls ??= this.#start();
    return this.#calls.call(method, writes, parameters);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#calls?.close();
  }

  #start(): CallQueue {
    const workerData: ReaderOptions = { directory: this.#directory };
    const file = `reader${extname(import.meta.filename)}`;
    const worker = new Worker(new URL(file, import.meta.url), { workerData, name: "reader" });
    // The next read starts another thread.
    return new CallQueue(worker, this.#clock, () => (this.#calls = null));
  }
}

type Ask = <M extends Method>(method: M, ...parameters: Parameters<Signature<M>>) => ReturnType<Signature<M>>;

function portsOf(calls: CallQueue, reader: Pick<CallQueue, "call">): Ports {
  const read = ((method, ...parameters) => calls.call(method, false, parameters)) as Ask;
  const write = ((method, ...parameters) => calls.call(method, true, parameters)) as Ask;
  const shared = sharedPorts((name, { way }, parameters) =>
    (READ_BESIDE.has(name) ? reader : calls).call(name as Method, way === "alone", parameters),
  );
  return {
    ...shared,
    admin: { ...shared.admin, used: (query) => read("admin.used", query) },
    sessions: {
      find: (id) => read("sessions.find", id),
      versions: (ids) => read("sessions.versions", ids),
      streamedText: (id) => read("sessions.streamedText", id),
      list: (query) => read("sessions.list", query),
      listKeys: (query) => read("sessions.listKeys", query),
      byKeys: (keys, access) => read("sessions.byKeys", keys, access),
      messagePage: (id, after, most, access) => read("sessions.messagePage", id, after, most, access),
      messages: (id, after, limit, access, incarnation) =>
        read("sessions.messages", id, after, limit, access, incarnation),
      copySize: (id, through, access) => read("sessions.copySize", id, through, access),
      expire: (input) => write("sessions.expire", input),
      heldBy: (whose, after, limit) => read("sessions.heldBy", whose, after, limit),
      countSizes: (limit) => write("sessions.countSizes", limit),
    },
    turns: {
      countWaiting: (limit) => read("turns.countWaiting", limit),
      checkpoint: (pieces) => write("turns.checkpoint", pieces),
      renew: (owner, epochs, leaseMs) => write("turns.renew", owner, epochs, leaseMs),
      releaseDeadLeases: (everyOther) => write("turns.releaseDeadLeases", everyOther),
      handBack: (owner, epochs) => write("turns.handBack", owner, epochs),
      reasoning: (id, incarnation, turns) => read("turns.reasoning", id, incarnation, turns),
      history: (identity, maxCharacters, useSummary) =>
        read("turns.history", identity, maxCharacters, useSummary),
      ended: (id, incarnation, maxCharacters) => read("turns.ended", id, incarnation, maxCharacters),
    },
    events: {
      after: (sessionId, after, limit) => read("events.after", sessionId, after, limit),
      trim: (input) => write("events.trim", input),
    },
  };
}

function started(worker: Worker): Promise<void> {
  return new Promise((resolve, reject) => {
    const onExit = () => reject(new Error("The thread of the store ended while it was opening the database"));
    worker.once("error", reject);
    worker.once("exit", onExit);
    const stopListening = onThreadMessage(worker, (sent) => {
      const message = sent as FromWorker;
      stopListening();
      worker.off("error", reject);
      worker.off("exit", onExit);
      if (message.kind === "ready") resolve();
      else reject(new Error(message.kind === "refused" ? message.message : `Unexpected "${message.kind}"`));
    });
  });
}

/** A call and the functions that settle its promise. */
interface Pending {
  readonly call: Call;
  resolve(value: unknown): void;
  reject(error: unknown): void;
}

/**
 * Number of calls that are sent before the turn of the event loop ends, so that the worker starts while the
 * loop still reads requests.
 */
const SENT_AT_ONCE = 32;

/** Unanswered calls. The worker answers them in order. */
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
    onThreadMessage(worker, (message) => this.#onMessage(message as FromWorker));
    worker.on("error", (error) => this.#fail(error instanceof Error ? error : new Error(String(error))));
    worker.on("exit", () => this.#fail(new Error("The thread of the store has ended")));
  }

  call(method: Call["method"], writes: boolean, parameters: readonly unknown[]): Promise<unknown> {
    if (this.#end !== null) return Promise.reject(storeClosed(this.#end));
    if (this.#unsent.length === 0) setImmediate(() => this.#send());
    const { promise, resolve, reject } = Promise.withResolvers<unknown>();
    this.#unsent.push({ call: { method, writes, at: this.#clock.now(), parameters }, resolve, reject });
    if (this.#unsent.length >= SENT_AT_ONCE) this.#send();
    return promise;
  }

  /** Rejects further calls at once. Resolves after `others` and all earlier calls have ended. */
  async close(others?: Promise<void>): Promise<void> {
    if (this.#end === null) {
      this.#send();
      this.#end = new Error("The store was closed");
      // Reads in the other thread require the open database and the directory's lock.
      await others;
      this.#post({ close: true });
    }
    await this.#closed.promise;
  }

  #send(): void {
    const unsent = this.#unsent;
    this.#unsent = [];
    if (unsent.length === 0) return;
    try {
      this.#post({ calls: unsent.map(({ call }) => call) });
      for (const pending of unsent) this.#sent.push(pending);
    } catch {
      // A call cannot be cloned, for example because it contains a function. Send the others without it.
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

  #onMessage(message: FromWorker): void {
    if (message.kind === "outcomes") {
      const answered = this.#sent.splice(0, message.outcomes.length);
      message.outcomes.forEach((outcome, index) => settle(answered[index], outcome));
    } else if (message.kind === "closed") {
      this.#closed.resolve();
    } else if (message.kind === "fatal") {
      this.#fail(new Error(message.cause));
    }
  }

  /** Rejects all calls; calls that were already sent may have been committed. */
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

const ERRORS = { full: storeFull, unavailable: storeUnavailable, lost: storeLost };

function errorOf(failure: Failure): unknown {
  if (failure.kind === "defect") return failure.error;
  const cause = new Error(failure.cause);
  return ERRORS[failure.kind](cause);
}
