import { ColloquyError } from "./colloquy-error.ts";
import type { Decision, SendOptions, WaitOptions } from "./conversation-operations.ts";
import type { SessionUpdate } from "./fold.ts";
import { linkedAbort } from "./linked-abort.ts";
import type { Operations } from "./operations.ts";
import { SessionStore, type Connection } from "./session-store.ts";
import type { Timing } from "./timing.ts";
import { ToolRunner, type ToolHandlers } from "./tool-runner.ts";
import type { Abortable, Transport } from "./transport.ts";
import type { Action, Reasoning, SetModelResult, Snapshot, Thread, UserState } from "./wire.ts";

/**
 * One conversation, kept in sync with the service while it has a subscriber (`subscribe`, or a loop over
 * `updates`). Has no connection otherwise.
 */
export class LiveSession {
  readonly id: string;
  readonly #operations: Operations;
  readonly #store: SessionStore;
  readonly #timing: Timing;
  /** Aborts the requests in flight. */
  #requests = new AbortController();

  constructor(id: string, operations: Operations, transport: Transport) {
    this.id = id.toLowerCase();
    this.#operations = operations;
    this.#store = new SessionStore(this.id, transport);
    this.#timing = transport.timing;
  }

  /**
   * Returns the current snapshot: the same object until something changes, `null` before the first one. Fits
   * `useSyncExternalStore`.
   */
  readonly getSnapshot = (): Snapshot | null => this.#store.snapshot;

  /** Returns the connection state: the same object until it changes. */
  readonly getConnection = (): Connection => this.#store.connection;

  /**
   * Calls back when the result of `getSnapshot` or `getConnection` changes. Returns a function that
   * unsubscribes.
   */
  readonly subscribe = (listener: () => void): (() => void) => this.#store.subscribe(listener);

  /**
   * Iterates over the events from this call on: those of the stream and, across gaps, events derived from
   * snapshots. Each piece of text is reported once, even if the service streams it again; a `message_delta`
   * at offset 0 replaces the earlier text. Ends with the session, `stop` or the signal; throws if the service
   * refuses. If you do not loop over it, call its `return`.
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

  /** Sends a message. Retries never store it twice. All current subscribers receive the resulting events. */
  send(text: string, options: SendOptions = {}): Promise<Snapshot> {
    return this.#adopt(options, async (signal) => {
      await this.#store.ready(signal);
      return this.#operations.sendMessage(this.id, text, { ...options, signal });
    });
  }

  /** Stops the answer in progress and cancels queued messages. */
  interrupt(options: Abortable = {}): Promise<Snapshot> {
    return this.#adopt(options, (signal) => this.#operations.interrupt(this.id, { signal }));
  }

  /**
   * Fetches the snapshot once, without subscribing. With `wait`, fetches it when the assistant has finished
   * or needs a decision.
   */
  refresh(options: WaitOptions = {}): Promise<Snapshot> {
    return this.#adopt(options, (signal) => this.#operations.getState(this.id, { ...options, signal }));
  }

  /** Merges into the user state (wallet, chain, connection). */
  setUserState(userState: UserState, options: Abortable = {}): Promise<Snapshot> {
    return this.#adopt(options, (signal) => this.#operations.getState(this.id, { userState, signal }));
  }

  /**
   * Fetches the model's reasoning for an answer, oldest step first. Empty for messages without `has_reasoning`.
   */
  async reasoning(messageId: string, options: Abortable = {}): Promise<Reasoning[]> {
    const { messages } = this.getSnapshot() ?? (await this.refresh(options));
    const after = messages[messages.findIndex(({ id }) => id === messageId) - 1]?.id;
    if (after === undefined) return [];
    const [record] = await this.#request(options, (signal) =>
      this.#operations.listMessages(this.id, { after, limit: 1, include: "reasoning", signal }),
    );
    return (record?.id === messageId && record.reasoning) || [];
  }

  rename(title: string, options: Abortable = {}): Promise<Thread> {
    return this.#request(options, (signal) => this.#operations.renameThread(this.id, title, { signal }));
  }

  setModel(rig: string, options: Abortable & { readonly baml?: string } = {}): Promise<SetModelResult> {
    return this.#request(options, (signal) =>
      this.#operations.setModel(this.id, rig, { ...options, signal }),
    );
  }

  /** Decides an action of the snapshot's `pending_actions`. With `wait`, waits like `refresh`. */
  resolve(
    actionId: string,
    decision: Decision,
    options?: Abortable & { readonly wait?: false },
  ): Promise<Action>;
  resolve(
    actionId: string,
    decision: Decision,
    options: Abortable & { readonly wait: true | number },
  ): Promise<Snapshot>;
  async resolve(actionId: string, decision: Decision, options: WaitOptions = {}): Promise<Action | Snapshot> {
    const action = await this.#request(options, (signal) =>
      this.#operations.decideAction(this.id, actionId, decision, { signal }),
    );
    return options.wait === undefined || options.wait === false ? action : await this.refresh(options);
  }

  /**
   * Follows the session, and runs its calls of these tools unless another client claims them first. Returns a
   * function that removes the tools; `stop` does too.
   */
  runTools(handlers: ToolHandlers): () => void {
    const { signal } = this.#requests;
    const runner = new ToolRunner(this.id, handlers, this.#operations, this.#timing, signal);
    const update = (): void => {
      const isDeleted = this.getConnection().state === "deleted";
      runner.update(isDeleted ? [] : (this.getSnapshot()?.pending_actions ?? []));
    };
    // Later, so that a component that mounts twice (React's strict mode) claims nothing in between.
    const updateSoon = (): void => queueMicrotask(update);
    const leave = this.subscribe(updateSoon);
    updateSoon();
    return () => {
      leave();
      runner.stop();
    };
  }

  /** Deletes the conversation with its messages, permanently. */
  delete(options: Abortable = {}): Promise<void> {
    // The follower must stop first, so that it does not read a session that is gone.
    return this.#store.retire(() =>
      this.#request(options, (signal) => this.#operations.deleteThread(this.id, { signal })),
    );
  }

  /**
   * Ends loops, removes subscribers and aborts requests at once. The session can be used again afterwards.
   */
  stop(): void {
    this.#requests.abort(new ColloquyError("The session was stopped.", { code: "stopped" }));
    this.#requests = new AbortController();
    this.#store.stop();
  }

  #adopt(options: Abortable, ask: (signal: AbortSignal) => Promise<Snapshot>): Promise<Snapshot> {
    return this.#request(options, ask, (snapshot) => this.#store.adopt(snapshot));
  }

  async #request<Result>(
    options: Abortable,
    ask: (signal: AbortSignal) => Promise<Result>,
    adopt: (result: Result) => void = () => undefined,
  ): Promise<Result> {
    const { signal, release } = linkedAbort(this.#requests.signal, options.signal);
    try {
      const result = await ask(signal);
      adopt(result);
      this.#store.retryNow();
      return result;
    } finally {
      release();
    }
  }
}
