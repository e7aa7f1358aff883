// A connection that reconnects whenever it breaks, with exponential backoff.

import type { Clock, Timer } from "../core/ports/driven/clock.ts";
import type { Logger } from "../core/ports/driven/logger.ts";

export interface EstablishedConnection<Connection> {
  readonly connection: Connection;
  /** Resolves when the connection is unusable. */
  readonly broken: Promise<void>;
  /** Resolves when the server has answered. */
  check(): Promise<unknown>;
  /** Closes the connection, in bounded time. */
  end(): Promise<void>;
}

export interface ReconnectingConnectionOptions<Connection> {
  /** Name of the server, for the log. */
  readonly name: string;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Connects, in bounded time; gives up early when the signal aborts. */
  readonly connect: (signal: AbortSignal) => Promise<EstablishedConnection<Connection>>;
  /** Called after each successful connect. */
  readonly onConnected?: (connection: Connection) => void;
}

const FIRST_PAUSE_MS = 100;
const LONGEST_PAUSE_MS = 5000;
const CHECK_MS = 5000;
const ANSWER_MS = 5000;

export class ReconnectingConnection<Connection> {
  readonly #options: ReconnectingConnectionOptions<Connection>;
  readonly #closing = new AbortController();
  #established: EstablishedConnection<Connection> | null = null;
  /** Promise that `ready` returns; `attempted` returns `#attempted`. */
  #ready = Promise.withResolvers<boolean>();
  readonly #attempted = Promise.withResolvers<void>();
  #dropped = Promise.withResolvers<void>();
  #ended: Promise<void> = Promise.resolve();
  /** Failures since the last answer. A connect does not reset it: the server may close every connection at once. */
  #failures = 0;

  constructor(options: ReconnectingConnectionOptions<Connection>) {
    this.#options = options;
  }

  get current(): Connection | null {
    return this.#established?.connection ?? null;
  }

  start(): void {
    this.#ended = this.#run();
  }

  /** Resolves with true when connected, with false when closed for good. */
  ready(): Promise<boolean> {
    return this.#ready.promise;
  }

  /** Resolves when the first connection attempt has ended. */
  attempted(): Promise<void> {
    return this.#attempted.promise;
  }

  /** Closes the current connection and opens another one. */
  drop(): void {
    if (this.#established === null) return;
    this.#disconnect();
    this.#dropped.resolve();
  }

  async close(): Promise<void> {
    this.#closing.abort();
    await this.#ended;
    this.#ready.resolve(false);
    this.#attempted.resolve();
  }

  async #run(): Promise<void> {
    const { signal } = this.#closing;
    const closing = new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve()));
    while (!signal.aborted) {
      const made = await this.#connect();
      if (made !== null) {
        if (!signal.aborted) this.#take(made);
        const stopWatching = this.#watch(made);
        await Promise.race([made.broken, this.#dropped.promise, closing]);
        stopWatching();
        if (this.#established === made) this.#disconnect();
        await made.end();
      }
      await this.#pause();
      this.#failures += 1;
    }
  }

  async #connect(): Promise<EstablishedConnection<Connection> | null> {
    const { connect, logger, name } = this.#options;
    try {
      return await connect(this.#closing.signal);
    } catch (error) {
      if (this.#closing.signal.aborted) return null;
      // Only the first attempt has no failure before it. The loss of a connection was reported already.
      if (this.#failures === 0) {
        const message = "the bus cannot connect and is retrying; changes reach other nodes with a delay";
        logger.warn({ err: error, to: name }, message);
      } else {
        logger.debug({ err: error, to: name }, "the bus could not connect; retrying");
      }
      return null;
    } finally {
      this.#attempted.resolve();
    }
  }

  #take(made: EstablishedConnection<Connection>): void {
    const { logger, name, onConnected } = this.#options;
    this.#established = made;
    this.#dropped = Promise.withResolvers();
    this.#ready.resolve(true);
    logger.info({ to: name }, "the bus is connected");
    onConnected?.(made.connection);
  }

  #disconnect(): void {
    const { logger, name } = this.#options;
    this.#established = null;
    this.#ready = Promise.withResolvers();
    if (this.#closing.signal.aborted) return;
    logger.warn(
      { to: name },
      "the bus lost its connection and is reconnecting; changes reach other nodes with a delay",
    );
  }

  /**
   * Checks the connection periodically, because a dead peer may never close it. Returns a function that stops
   * the checks.
   */
  #watch(made: EstablishedConnection<Connection>): () => void {
    const { clock } = this.#options;
    const dropIt = (): void => {
      if (this.#established === made) this.drop();
    };
    let isOver = false;
    let timer: Timer;
    const ask = (): void => {
      timer = clock.after(ANSWER_MS, dropIt);
      made.check().then(wait, dropIt);
    };
    const wait = (): void => {
      timer.stop();
      if (isOver) return;
      this.#failures = 0;
      timer = clock.after(CHECK_MS, ask);
    };
    timer = clock.after(CHECK_MS, ask);
    return () => {
      isOver = true;
      timer.stop();
    };
  }

  /** Waits with random jitter, so that the nodes of a cluster do not reconnect at the same moment. */
  async #pause(): Promise<void> {
    const { signal } = this.#closing;
    if (signal.aborted) return;
    const most = Math.min(FIRST_PAUSE_MS * 2 ** Math.min(this.#failures, 10), LONGEST_PAUSE_MS);
    await this.#options.clock.sleep(most * (0.5 + Math.random() / 2), signal).catch(() => undefined);
  }
}
