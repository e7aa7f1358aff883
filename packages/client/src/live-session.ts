import { ColloquyError } from "./colloquy-error.ts";
import type { Decision, SendOptions, StateOptions, WaitOptions } from "./conversation-operations.ts";
import type { UploadOptions } from "./file-operations.ts";
import type { SessionUpdate } from "./fold.ts";
import type { LiveReasoning } from "./live-reasoning.ts";
import { abortWith, linkedAbort } from "./linked-abort.ts";
import type { Operations } from "./operations.ts";
import { SessionStore, type Connection } from "./session-store.ts";
import type { Timing } from "./timing.ts";
import { ToolRunner, type ToolHandlers } from "./tool-runner.ts";
import type { Abortable, Transport } from "./transport.ts";
import type { Action, Attachment, Reasoning, SetModelResult, Snapshot, Thread, UserState } from "./wire.ts";

export interface SessionOptions {
  /**
   * Number of latest messages to load, from 1 to 1,000; all if absent. `loadEarlier` loads earlier messages.
   * `messages_before` of the snapshot is the number of messages that are not loaded.
   */
  readonly messages?: number | undefined;
}

/**
 * One conversation, kept in sync with the service while it has a subscriber (`subscribe`, or a loop over
 * `updates`). Has no connection otherwise.
 */
export class LiveSession {
  readonly id: string;
  readonly #operations: Operations;
  readonly #store: SessionStore;
  readonly #messages: number | undefined;
  readonly #timing: Timing;
  /** Aborts the requests in flight. */
  #requests = new AbortController();

  constructor(id: string, operations: Operations, transport: Transport, { messages }: SessionOptions = {}) {
    this.id = id.toLowerCase();
    this.#operations = operations;
    this.#messages = messages;
    this.#store = new SessionStore(this.id, transport, messages);
    this.#timing = transport.timing;
  }

  /**
   * Returns the current snapshot: the same object until something changes, `null` before the first one.
   * Suitable for `useSyncExternalStore`.
   */
  readonly getSnapshot = (): Snapshot | null => this.#store.snapshot;

  /** Returns the connection state: the same object until it changes. */
  readonly getConnection = (): Connection => this.#store.connection;

  /**
   * Returns the reasoning of the answer in progress: the same object until it changes. Returns `null` if
   * there is none, if the answer is complete, or without the client option `reasoning`.
   */
  readonly getReasoning = (): LiveReasoning | null => this.#store.reasoning;

  /**
   * Calls back when the result of `getSnapshot`, `getReasoning` or `getConnection` changes. Returns a function that
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
    // React Native's engine lacks the symbol; its compiled `for await` looks for this name.
    return Object.assign(iterator, { "@@asyncIterator": () => iterator });
  }

  /** Sends a message. Retries never store it twice. All current subscribers receive the resulting events. */
  send(text: string, options: Omit<SendOptions, "messages"> = {}): Promise<Snapshot> {
    return this.#adopt(options, async (signal) => {
      await this.#store.ready(signal);
      return this.#operations.sendMessage(this.id, text, { ...options, messages: this.#messages, signal });
    });
  }

  /** Uploads a file, for `attachments` of `send`. */
  upload(file: Blob, options: UploadOptions = {}): Promise<Attachment> {
    return this.#request(options, (signal) =>
      this.#operations.uploadFile(this.id, file, { ...options, signal }),
    );
  }

  /** Fetches the bytes of a file of a message. */
  download(fileId: string, options: Abortable = {}): Promise<Blob> {
    return this.#request(options, (signal) => this.#operations.downloadFile(this.id, fileId, { signal }));
  }

  /** Stops the answer in progress and cancels queued messages. */
  interrupt(options: Abortable = {}): Promise<Snapshot> {
    const messages = this.#messages;
    return this.#adopt(options, (signal) => this.#operations.interrupt(this.id, { messages, signal }));
  }

  /**
   * Loads up to `count` earlier messages (from 1 to 1,000; by default, the session's option `messages`). Does
   * nothing if all messages are loaded. Concurrent calls share one load.
   */
  async loadEarlier(options: Abortable & { readonly count?: number | undefined } = {}): Promise<void> {
    const { messages_before: left = 0, messages: [first] = [] } = this.getSnapshot() ?? {};
    if (left === 0 || first === undefined) return;
    const range = { messages: options.count ?? this.#messages ?? 1, before: first.id };
    try {
      await this.#store.addEarlier(() =>
        this.#request(options, (signal) => this.#operations.getState(this.id, { ...range, signal })),
      );
    } catch (error) {
      // The first loaded message was removed in the meantime.
      if (!isUnknownMessage(error)) throw error;
      await this.refresh(options);
    }
  }

  /**
   * Fetches the snapshot once, without subscribing. With `wait`, fetches it when the assistant has finished
   * or needs a decision.
   */
  refresh(options: Omit<WaitOptions, "messages"> = {}): Promise<Snapshot> {
    return this.#adopt(options, (signal) => this.#read({ ...options, signal }));
  }

  /** Merges into the user state (wallet, chain, connection). */
  setUserState(userState: UserState, options: Abortable = {}): Promise<Snapshot> {
    return this.#adopt(options, (signal) => this.#read({ userState, signal }));
  }

  /**
   * Fetches the model's reasoning for an answer, oldest step first. Returns an empty list if the message has
   * no reasoning or is unknown.
   */
  async reasoning(messageId: string, options: Abortable = {}): Promise<Reasoning[]> {
    const after = await this.#before(messageId, options);
    if (after === null) return [];
    const [record] = await this.#request(options, (signal) =>
      this.#operations.listMessages(this.id, { after, limit: 1, include: "reasoning", signal }),
    );
    return (record?.id === messageId && record.reasoning) || [];
  }

  /** Returns the id of the preceding message; `null` if there is none. */
  async #before(messageId: string, options: Abortable): Promise<string | null> {
    const { messages } = this.getSnapshot() ?? (await this.refresh(options));
    const at = messages.findIndex(({ id }) => id === messageId);
    if (at > 0 || this.#messages === undefined) return messages[at - 1]?.id ?? null;
    try {
      const page = await this.#request(options, (signal) =>
        this.#operations.getState(this.id, { messages: 1, before: messageId, signal }),
      );
      return page.messages[0]?.id ?? null;
    } catch (error) {
      if (!isUnknownMessage(error)) throw error;
      return null;
    }
  }

  rename(title: string, options: Abortable = {}): Promise<Thread> {
    return this.#request(options, (signal) => this.#operations.renameThread(this.id, title, { signal }));
  }

  setModel(
    rig: string,
    options: Abortable & { readonly baml?: string | undefined } = {},
  ): Promise<SetModelResult> {
    return this.#request(options, (signal) =>
      this.#operations.setModel(this.id, rig, { ...options, signal }),
    );
  }

  /** Decides an action of the snapshot's `pending_actions`. With `wait`, waits like `refresh`. */
  resolve(
    actionId: string,
    decision: Decision,
    options?: Abortable & { readonly wait?: false | undefined },
  ): Promise<Action>;
  resolve(
    actionId: string,
    decision: Decision,
    options: Abortable & { readonly wait: true | number },
  ): Promise<Snapshot>;
  async resolve(
    actionId: string,
    decision: Decision,
    options: Omit<WaitOptions, "messages"> = {},
  ): Promise<Action | Snapshot> {
    const action = await this.#request(options, (signal) =>
      this.#operations.decideAction(this.id, actionId, decision, { signal }),
    );
    return options.wait === undefined || options.wait === false ? action : await this.refresh(options);
  }

  /**
   * Follows the session, and runs its calls to these tools unless another client claims them first. Returns a
   * function that removes the tools. `stop` also removes them.
   */
  runTools(handlers: ToolHandlers): () => void {
    const { signal } = this.#requests;
    const runner = new ToolRunner(this.id, handlers, this.#operations, this.#timing, signal);
    const update = (): void => {
      const isDeleted = this.getConnection().state === "deleted";
      runner.update(isDeleted ? [] : (this.getSnapshot()?.pending_actions ?? []));
    };
    // Deferred, because React's strict mode mounts components twice: the first mount must not claim calls.
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
    // Stop the follower first, so that it does not read a deleted session.
    return this.#store.retire(() =>
      this.#request(options, (signal) => this.#operations.deleteThread(this.id, { signal })),
    );
  }

  /**
   * Ends loops, removes subscribers and aborts requests at once. The session can be used again afterwards.
   */
  stop(): void {
    abortWith(this.#requests, new ColloquyError("The session was stopped.", { code: "stopped" }));
    this.#requests = new AbortController();
    this.#store.stop();
  }

  #read(options: Omit<StateOptions, "messages">): Promise<Snapshot> {
    return this.#operations.getState(this.id, { ...options, messages: this.#messages });
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

function isUnknownMessage(error: unknown): boolean {
  return error instanceof ColloquyError && error.code === "message_not_found";
}
