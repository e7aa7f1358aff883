import { ColloquyError } from "./colloquy-error.ts";
import type { Decision, SendOptions } from "./conversation-operations.ts";
import type { SessionUpdate } from "./fold.ts";
import { linkedAbort } from "./linked-abort.ts";
import type { Operations } from "./operations.ts";
import { SessionStore, type Connection } from "./session-store.ts";
import type { Abortable, Transport } from "./transport.ts";
import type { Action, SetModelResult, Snapshot, Thread, UserState } from "./wire.ts";

/**
 * One conversation, kept as the service has it while somebody listens, by `subscribe` or a loop over `updates`. Nothing is open while nobody
 * does.
 */
export class LiveSession {
  readonly id: string;
  readonly #operations: Operations;
  readonly #store: SessionStore;
  /** Of the requests that are under way. */
  #requests = new AbortController();

  constructor(id: string, operations: Operations, transport: Transport) {
    this.id = id.toLowerCase();
    this.#operations = operations;
    this.#store = new SessionStore(this.id, transport);
  }

  /** What is known: the same object until something changes, `null` before anything is. Fits `useSyncExternalStore`. */
  readonly getSnapshot = (): Snapshot | null => this.#store.snapshot;

  /** The same object until it changes. */
  readonly getConnection = (): Connection => this.#store.connection;

  /** Calls back whenever `getSnapshot` or `getConnection` answer something new. Answers what ends this. */
  readonly subscribe = (listener: () => void): (() => void) => this.#store.subscribe(listener);

  /**
   * The events from this call on: those of the stream, and where it has gaps what must have happened. Text comes once, also when it was
   * streamed again; a `message_delta` at offset 0 replaces what came before. Ends with the session, `stop` and the signal; throws when the
   * service refuses. Whoever does not loop over it has to `return` it.
   */
  updates({ signal }: Abortable = {}): AsyncIterableIterator<SessionUpdate, void, void> {
    const queue = this.#store.addQueue();
    const leave = (): void => {
      signal?.removeEventListener("abort", leave);
      this.#store.removeQueue(queue);
    };
    signal?.addEventListener("abort", leave);
    if (signal?.aborted) leave();
    const over = { done: true, value: undefined } as const;
    const iterator: AsyncIterableIterator<SessionUpdate, void, void> = {
      next: async () => {
        try {
          const value = await queue.next();
          if (value !== null) return { done: false, value };
        } catch (error) {
          leave();
          throw error;
        }
        leave();
        return over;
      },
      return: async () => {
        leave();
        return over;
      },
      [Symbol.asyncIterator]: () => iterator,
    };
    return iterator;
  }

  /** Says something. Tried again by itself without being said twice; what it causes comes as events to everybody who listens by now. */
  send(text: string, options: SendOptions = {}): Promise<Snapshot> {
    return this.#learn(options, async (signal) => {
      await this.#store.ready(signal);
      return this.#operations.sendMessage(this.id, text, { ...options, signal });
    });
  }

  /** Stops the answer in progress and what waits behind it. */
  interrupt(options: Abortable = {}): Promise<Snapshot> {
    return this.#learn(options, (signal) => this.#operations.interrupt(this.id, { signal }));
  }

  /** Fetches the snapshot, for who does not listen. */
  refresh(options: Abortable = {}): Promise<Snapshot> {
    return this.#learn(options, (signal) => this.#operations.getState(this.id, { signal }));
  }

  /** Merges into the user state (wallet, chain, connection). */
  setUserState(userState: UserState, options: Abortable = {}): Promise<Snapshot> {
    return this.#learn(options, (signal) => this.#operations.getState(this.id, { userState, signal }));
  }

  rename(title: string, options: Abortable = {}): Promise<Thread> {
    return this.#request(options, (signal) => this.#operations.renameThread(this.id, title, { signal }));
  }

  setModel(rig: string, options: Abortable & { readonly baml?: string } = {}): Promise<SetModelResult> {
    return this.#request(options, (signal) =>
      this.#operations.setModel(this.id, rig, { ...options, signal }),
    );
  }

  /** Decides what the assistant asks: an action of the snapshot's `pending_actions`. */
  resolve(actionId: string, decision: Decision, options: Abortable = {}): Promise<Action> {
    return this.#request(options, (signal) =>
      this.#operations.decideAction(this.id, actionId, decision, { signal }),
    );
  }

  /** Removes the conversation with its messages, for good. */
  delete(options: Abortable = {}): Promise<void> {
    // Whoever asks for a session makes one, so nobody may ask any more.
    return this.#store.retire(() =>
      this.#request(options, (signal) => this.#operations.deleteThread(this.id, { signal })),
    );
  }

  /** Ends everything at once: loops end, listeners are forgotten, requests under way throw. It can be begun anew. */
  stop(): void {
    this.#requests.abort(new ColloquyError("The session was stopped.", { code: "stopped" }));
    this.#requests = new AbortController();
    this.#store.stop();
  }

  #learn(options: Abortable, ask: (signal: AbortSignal) => Promise<Snapshot>): Promise<Snapshot> {
    return this.#request(options, ask, (snapshot) => this.#store.learn(snapshot));
  }

  async #request<Result>(
    options: Abortable,
    ask: (signal: AbortSignal) => Promise<Result>,
    learn: (result: Result) => void = () => undefined,
  ): Promise<Result> {
    const { signal, release } = linkedAbort(this.#requests.signal, options.signal);
    try {
      const result = await ask(signal);
      learn(result);
      this.#store.hurry();
      return result;
    } finally {
      release();
    }
  }
}
