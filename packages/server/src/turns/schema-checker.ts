// Checks clients' schemas, and answers against them, in a worker thread that bounds their time and memory.

import { extname } from "node:path";
import { Worker } from "node:worker_threads";
import type { JsonObject, JsonValue } from "../core/json.ts";
import type { SchemaCheck } from "../core/ports/driven/schema-check.ts";

export interface SchemaQuestion {
  readonly id: number;
  /** The schema as JSON text. */
  readonly schema: string;
  /** The answer to check; absent to check only the schema. */
  readonly value?: JsonValue;
}

export interface SchemaAnswer {
  readonly id: number;
  readonly problem: string | null;
}

const MEMORY_MB = 64;
const DIED = "it takes too much memory to check";

interface Waiting {
  readonly question: SchemaQuestion;
  readonly answer: (problem: string | null) => void;
}

export class SchemaChecker implements SchemaCheck {
  /** The worker; started on first use, and again after a crash. */
  #worker: Worker | null = null;
  /** Pending checks, in the order in which the worker answers. */
  readonly #waiting = new Map<number, Waiting>();
  #lastId = 0;

  problem(schema: JsonObject): Promise<string | null> {
    return this.#ask({ schema: JSON.stringify(schema) });
  }

  mismatch(schema: JsonObject, value: JsonValue): Promise<string | null> {
    return this.#ask({ schema: JSON.stringify(schema), value });
  }

  async close(): Promise<void> {
    await this.#worker?.terminate();
  }

  #ask(question: Omit<SchemaQuestion, "id">): Promise<string | null> {
    const { promise, resolve: answer } = Promise.withResolvers<string | null>();
    this.#lastId += 1;
    this.#send({ question: { id: this.#lastId, ...question }, answer });
    return promise;
  }

  #send(waiting: Waiting): void {
    const { question } = waiting;
    this.#waiting.set(question.id, waiting);
    this.#worker ??= this.#start();
    this.#worker.postMessage(question);
  }

  #start(): Worker {
    // The published package contains JavaScript.
    const file = new URL(`schema-worker${extname(import.meta.filename)}`, import.meta.url);
    const worker = new Worker(file, {
      name: "schemas",
      resourceLimits: { maxOldGenerationSizeMb: MEMORY_MB },
    });
    worker.unref();
    worker.on("message", ({ id, problem }: SchemaAnswer) => {
      this.#waiting.get(id)?.answer(problem);
      this.#waiting.delete(id);
    });
    // The worker is out of memory. Only the first pending check caused that; the others are retried.
    worker.on("error", () => undefined);
    worker.on("exit", () => {
      this.#worker = null;
      const [first, ...others] = this.#waiting.values();
      this.#waiting.clear();
      first?.answer(DIED);
      for (const other of others) this.#send(other);
    });
    return worker;
  }
}
