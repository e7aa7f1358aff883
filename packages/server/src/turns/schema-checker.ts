// Checks schemas of clients, and answers with them, in a thread of its own: neither the time nor the memory that they take affects others.

import { extname } from "node:path";
import { Worker } from "node:worker_threads";
import type { JsonObject, JsonValue } from "../core/json.ts";
import type { SchemaCheck } from "../core/ports/driven/schema-check.ts";

export interface SchemaQuestion {
  readonly id: number;
  /** As JSON. */
  readonly schema: string;
  /** Absent to check the schema alone. */
  readonly value?: JsonValue;
}

export interface SchemaAnswer {
  readonly id: number;
  readonly problem: string | null;
}

const MEMORY_MB = 64;
const DIED = "it takes too much memory to check";

export class SchemaChecker implements SchemaCheck {
  /** Started on first use, and again after it died. */
  #worker: Worker | null = null;
  readonly #waiting = new Map<number, (problem: string | null) => void>();
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
    const { promise, resolve } = Promise.withResolvers<string | null>();
    this.#lastId += 1;
    this.#waiting.set(this.#lastId, resolve);
    this.#worker ??= this.#start();
    this.#worker.postMessage({ id: this.#lastId, ...question } satisfies SchemaQuestion);
    return promise;
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
      this.#waiting.get(id)?.(problem);
      this.#waiting.delete(id);
    });
    // Out of memory: pending checks are lost with the one that caused it.
    worker.on("error", () => undefined);
    worker.on("exit", () => {
      this.#worker = null;
      for (const answer of this.#waiting.values()) answer(DIED);
      this.#waiting.clear();
    });
    return worker;
  }
}
