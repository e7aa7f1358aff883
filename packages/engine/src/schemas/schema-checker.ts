// Checks schemas that the operator did not write, and values against them, in a worker thread. Apps take turns:
// the thread does one check at a time, and the next one is of the App that has waited longest.

import { onThreadMessage } from "../core/thread-messages.ts";
import { extname } from "node:path";
import { Worker } from "node:worker_threads";
import type { JsonObject, JsonValue } from "../core/json.ts";
import type { Clock, Timer } from "../core/ports/driven/clock.ts";
import type { SchemaCheck, SchemaChecks, SchemaProblem } from "../core/ports/driven/schema-check.ts";
import {
  countValues,
  MAX_CHECKED_LEVELS,
  MAX_CHECKED_PAIRS,
  MAX_SCHEMA_VALUES,
} from "../core/schema-size.ts";

export interface SchemaQuestion {
  /** The schema as JSON text. */
  readonly schema: string;
  /** The value to check; absent to check only the schema. */
  readonly value?: JsonValue;
  /** True to list several problems of the value, false to stop at the first one. */
  readonly listsSeveral: boolean;
}

export type SchemaAnswer = SchemaProblem | null;

const MEMORY_MB = 64;
/** Time limit of a check that the thread cannot stop itself, and of its start on a busy machine. */
const LIMIT_MS = 10_000;
/** Maximum waiting checks of an App. Each takes about a millisecond, and at most `LIMIT_MS` of the thread. */
const MAX_WAITING = 256;
/** Listing all problems of more pairs could fill the thread's memory. */
const MAX_LISTED_PAIRS = 100_000;

const SCHEMA_TOO_LARGE = `its schema has more than ${MAX_SCHEMA_VALUES} values, or nests too deep`;
const VALUE_TOO_LARGE = `it is too large to check: its values times those of its schema may be at most ${MAX_CHECKED_PAIRS}, and it may have at most ${MAX_CHECKED_LEVELS} levels`;
const TOO_SLOW = "it takes too long to check";
const TOO_MUCH_MEMORY = "it takes too much memory to check";
const BUSY: SchemaProblem = { kind: "busy", text: "too many checks wait at the moment" };
const CLOSED: SchemaProblem = { kind: "busy", text: "the service is stopping" };

interface Waiting {
  readonly question: SchemaQuestion;
  readonly answer: (problem: SchemaAnswer) => void;
}

/** A schema as text, with the number of its values: `Infinity` if it has too many to be checked. */
interface Measured {
  readonly text: string;
  readonly values: number;
}

export interface SchemaCheckerOptions {
  readonly clock: Pick<Clock, "after">;
  /** Milliseconds after which a thread that does not answer is ended. */
  readonly limitMs?: number;
  /** Maximum waiting checks of an App. */
  readonly maxWaiting?: number;
}

export class SchemaChecker implements SchemaChecks {
  readonly #clock: SchemaCheckerOptions["clock"];
  readonly #limitMs: number;
  readonly #maxWaiting: number;
  /** Waiting checks by App, that of the next check first. */
  readonly #waiting = new Map<string, Waiting[]>();
  readonly #measured = new WeakMap<JsonObject, Measured>();
  /** The thread; started on first use, and again after a crash. */
  #worker: Worker | null = null;
  #running: (Waiting & { readonly timer: Timer }) | null = null;
  #isClosed = false;

  constructor({ clock, limitMs = LIMIT_MS, maxWaiting = MAX_WAITING }: SchemaCheckerOptions) {
    this.#clock = clock;
    this.#limitMs = limitMs;
    this.#maxWaiting = maxWaiting;
  }

  of(app: string): SchemaCheck {
    return {
      problem: (schema) => this.#ask(app, schema),
      mismatch: (schema, value) => this.#ask(app, schema, value),
    };
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    const waiting = [...this.#waiting.values()].flat();
    this.#waiting.clear();
    this.#answer(CLOSED);
    for (const { answer } of waiting) answer(CLOSED);
    await this.#worker?.terminate();
  }

  #ask(app: string, schema: JsonObject, value?: JsonValue): Promise<SchemaAnswer> {
    const { text, values } = this.#measure(schema);
    if (values === Infinity) return Promise.resolve({ kind: "unchecked", text: SCHEMA_TOO_LARGE });
    const valuesOfInput = countValues(value, Math.floor(MAX_CHECKED_PAIRS / values));
    if (valuesOfInput === Infinity) return Promise.resolve({ kind: "unchecked", text: VALUE_TOO_LARGE });
    if (this.#isClosed) return Promise.resolve(CLOSED);
    const queue = this.#waiting.get(app) ?? [];
    if (queue.length >= this.#maxWaiting) return Promise.resolve(BUSY);
    const listsSeveral = values * valuesOfInput <= MAX_LISTED_PAIRS;
    const question = { schema: text, ...(value !== undefined && { value }), listsSeveral };
    const { promise, resolve: answer } = Promise.withResolvers<SchemaAnswer>();
    queue.push({ question, answer });
    this.#waiting.set(app, queue);
    this.#next();
    return promise;
  }

  /** Counts a schema before it becomes a text, which takes recursion. */
  #measure(schema: JsonObject): Measured {
    const known = this.#measured.get(schema);
    if (known !== undefined) return known;
    const values = countValues(schema, MAX_SCHEMA_VALUES);
    const measured = { values, text: values === Infinity ? "" : JSON.stringify(schema) };
    this.#measured.set(schema, measured);
    return measured;
  }

  /** Starts the next check if none is running. Moves its App to the end of the line. */
  #next(): void {
    const [first] = this.#waiting;
    if (this.#running !== null || first === undefined) return;
    const [app, [next, ...others]] = first;
    this.#waiting.delete(app);
    if (others.length > 0) this.#waiting.set(app, others);
    if (next === undefined) return;
    this.#worker ??= this.#start();
    this.#running = { ...next, timer: this.#clock.after(this.#limitMs, () => this.#restart(TOO_SLOW)) };
    this.#worker.ref();
    this.#worker.postMessage(next.question);
  }

  #answer(problem: SchemaAnswer): void {
    const running = this.#running;
    this.#running = null;
    running?.timer.stop();
    running?.answer(problem);
  }

  /** Ends the thread, and continues with a new one. The running check was the cause. */
  #restart(reason: string): void {
    const worker = this.#worker;
    this.#worker = null;
    void worker?.terminate();
    this.#answer({ kind: "unchecked", text: reason });
    this.#next();
  }

  #start(): Worker {
    // The published package contains JavaScript.
    const file = new URL(`schema-worker${extname(import.meta.filename)}`, import.meta.url);
    const worker = new Worker(file, {
      name: "schemas",
      resourceLimits: { maxOldGenerationSizeMb: MEMORY_MB },
    });
    onThreadMessage(worker, (problem) => {
      if (this.#worker !== worker) return;
      this.#answer(problem as SchemaAnswer);
      this.#next();
      // Only a check keeps the process alive.
      if (this.#running === null) worker.unref();
    });
    // The thread is out of memory.
    worker.on("error", () => undefined);
    worker.on("exit", () => {
      if (this.#worker === worker && !this.#isClosed) this.#restart(TOO_MUCH_MEMORY);
    });
    return worker;
  }
}
