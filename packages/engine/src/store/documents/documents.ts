// In-memory documents of a single process. Changes become visible only after `DocumentStorage` has saved
// them.

import { storeClosed, storeUnavailable } from "../unavailable.ts";

/**
 * Stores documents by name. A document is JSON without `undefined`. Documents are immutable: changes replace
 * them.
 */
export interface DocumentStorage {
  /** Returns all documents. Called once, before anything else. */
  load():
    | Iterable<readonly [name: string, document: unknown]>
    | Promise<Iterable<readonly [name: string, document: unknown]>>;
  /**
   * Atomically stores the named documents and removes those that are `null`. Resolves when the changes are
   * durable. If it rejects, none of them may be stored. Calls do not overlap.
   */
  save(changes: ReadonlyMap<string, unknown>): Promise<void>;
  /** Called once, after the last `save`. */
  close?(): void | Promise<void>;
}

type Changes = Map<string, unknown>;

/**
 * Documents by kind and id, with changes on top of an optional base. A document's name is its kind, a space
 * and its id.
 */
export class View<Kinds extends object> {
  readonly #base: View<Kinds> | null;
  /** Changes; `null` marks a removed document. */
  readonly #own = new Map<keyof Kinds, Map<string, unknown>>();

  constructor(base: View<Kinds> | null) {
    this.#base = base;
  }

  get<Kind extends keyof Kinds>(kind: Kind, id: string): Kinds[Kind] | null {
    const own = this.#own.get(kind)?.get(id);
    return own === undefined ? (this.#base?.get(kind, id) ?? null) : (own as Kinds[Kind] | null);
  }

  set<Kind extends keyof Kinds>(kind: Kind, id: string, document: Kinds[Kind] | null): void {
    let documents = this.#own.get(kind);
    if (documents === undefined) this.#own.set(kind, (documents = new Map()));
    if (document === null && this.#base === null) documents.delete(id);
    else documents.set(id, document);
  }

  /** Yields the documents of a kind, in any order. */
  *entries<Kind extends keyof Kinds>(kind: Kind): Generator<readonly [id: string, document: Kinds[Kind]]> {
    const own = this.#own.get(kind);
    for (const [id, document] of own ?? []) if (document !== null) yield [id, document as Kinds[Kind]];
    if (this.#base === null) return;
    for (const entry of this.#base.entries(kind)) if (own?.has(entry[0]) !== true) yield entry;
  }

  changes(): Changes {
    const named = [...this.#own].flatMap(([kind, documents]) =>
      Array.from(documents, ([id, document]) => [`${String(kind)} ${id}`, document] as const),
    );
    return new Map(named);
  }

  /** Applies the changes of a view based on this one. */
  apply(other: View<Kinds>): void {
    for (const [kind, documents] of other.#own)
      for (const [id, document] of documents) this.set(kind, id, document as Kinds[typeof kind] | null);
  }
}

interface Pending<Kinds extends object> {
  readonly work: (view: View<Kinds>) => unknown;
  resolve(value: unknown): void;
  reject(error: unknown): void;
}

/** Runs work on the documents serially, and saves the changes of all waiting work in one batch. */
export class Documents<Kinds extends object> {
  readonly #storage: DocumentStorage;
  readonly #saved = new View<Kinds>(null);
  #waiting: Pending<Kinds>[] = [];
  #running: Promise<void> | null = null;
  #closed: Promise<void> | null = null;

  private constructor(storage: DocumentStorage) {
    this.#storage = storage;
  }

  static async open<Kinds extends object>(storage: DocumentStorage): Promise<Documents<Kinds>> {
    const documents = new Documents<Kinds>(storage);
    for (const [name, document] of await storage.load()) {
      const space = name.indexOf(" ");
      const kind = name.slice(0, space) as keyof Kinds;
      documents.#saved.set(kind, name.slice(space + 1), document as Kinds[typeof kind]);
    }
    return documents;
  }

  /**
   * Runs work, which must not retain the view. Resolves when its changes and everything it read are durable.
   */
  run<Result>(work: (view: View<Kinds>) => Result): Promise<Result> {
    if (this.#closed !== null) return Promise.reject(storeClosed(new Error("The store was closed")));
    const { promise, resolve, reject } = Promise.withResolvers<unknown>();
    this.#waiting.push({ work, resolve, reject });
    this.#running ??= this.#runAll();
    return promise as Promise<Result>;
  }

  close(): Promise<void> {
    this.#closed ??= Promise.resolve(this.#running).then(() => this.#storage.close?.());
    return this.#closed;
  }

  async #runAll(): Promise<void> {
    while (this.#waiting.length > 0) {
      const together = this.#waiting;
      this.#waiting = [];
      await this.#runTogether(together);
    }
    this.#running = null;
  }

  async #runTogether(together: readonly Pending<Kinds>[]): Promise<void> {
    const view = new View(this.#saved);
    const done: (() => void)[] = [];
    const failed: ((error: unknown) => void)[] = [];
    for (const { work, resolve, reject } of together) {
      const own = new View(view);
      try {
        const result = work(own);
        view.apply(own);
        done.push(() => resolve(result));
        failed.push(reject);
      } catch (error) {
        reject(error);
      }
    }
    const changes = view.changes();
    try {
      if (changes.size > 0) await this.#storage.save(changes);
    } catch (error) {
      for (const reject of failed) reject(storeUnavailable(error));
      return;
    }
    this.#saved.apply(view);
    for (const resolve of done) resolve();
  }
}
