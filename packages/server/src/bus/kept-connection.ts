// One connection that is made anew whenever it breaks, for as long as it takes, with pauses that grow.

import type { Clock, Timer } from "../core/ports/clock.ts";
import type { Logger } from "../core/ports/logger.ts";

/** A connection that has been made. */
export interface Made<Connection> {
  readonly connection: Connection;
  /** Resolves when it cannot be used any more. */
  readonly broken: Promise<void>;
  /** Resolves when the other side has answered. */
  check(): Promise<unknown>;
  /** Ends it, in a bounded time. */
  end(): Promise<void>;
}

export interface KeptConnectionOptions<Connection> {
  /** Who it leads to, for the log. */
  readonly name: string;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Makes the connection, in a bounded time, or sooner when the signal says that nobody wants it any more. */
  readonly connect: (signal: AbortSignal) => Promise<Made<Connection>>;
  /** Called each time it has been made. */
  readonly onMade?: (connection: Connection) => void;
}

const FIRST_PAUSE_MS = 100;
const LONGEST_PAUSE_MS = 5000;
const CHECK_MS = 5000;
const ANSWER_MS = 5000;

export class KeptConnection<Connection> {
  readonly #options: KeptConnectionOptions<Connection>;
  readonly #closing = new AbortController();
  #made: Made<Connection> | null = null;
  /** Those who wait for a connection, and those who wait to be told whether there is one. */
  #ready = Promise.withResolvers<boolean>();
  readonly #attempted = Promise.withResolvers<void>();
  #dropped = Promise.withResolvers<void>();
  #ended: Promise<void> = Promise.resolve();
  /** Since the other side has answered last: to be let in is no answer, for one who ends each connection at once. */
  #failures = 0;

  constructor(options: KeptConnectionOptions<Connection>) {
    this.#options = options;
  }

  get current(): Connection | null {
    return this.#made?.connection ?? null;
  }

  start(): void {
    this.#ended = this.#keep();
  }

  /** Resolves with true when there is a connection, with false when it is closed for good. */
  ready(): Promise<boolean> {
    return this.#ready.promise;
  }

  /** Resolves when the attempt that is under way is over, at once where there is none. */
  attempted(): Promise<void> {
    return this.#attempted.promise;
  }

  /** Ends the connection that there is, and makes another one. */
  drop(): void {
    if (this.#made === null) return;
    this.#lose();
    this.#dropped.resolve();
  }

  async close(): Promise<void> {
    this.#closing.abort();
    await this.#ended;
    this.#ready.resolve(false);
    this.#attempted.resolve();
  }

  async #keep(): Promise<void> {
    const { signal } = this.#closing;
    const closing = new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve()));
    while (!signal.aborted) {
      const made = await this.#make();
      if (made !== null) {
        if (!signal.aborted) this.#take(made);
        const stopWatching = this.#watch(made);
        await Promise.race([made.broken, this.#dropped.promise, closing]);
        stopWatching();
        if (this.#made === made) this.#lose();
        await made.end();
      }
      await this.#pause();
      this.#failures += 1;
    }
  }

  async #make(): Promise<Made<Connection> | null> {
    const { connect, logger, name } = this.#options;
    try {
      return await connect(this.#closing.signal);
    } catch (error) {
      if (!this.#closing.signal.aborted) {
        logger.debug({ err: error, to: name }, "no connection for the bus; trying again");
      }
      return null;
    } finally {
      this.#attempted.resolve();
    }
  }

  #take(made: Made<Connection>): void {
    const { logger, name, onMade } = this.#options;
    this.#made = made;
    this.#dropped = Promise.withResolvers();
    this.#ready.resolve(true);
    logger.info({ to: name }, "the bus is connected");
    onMade?.(made.connection);
  }

  #lose(): void {
    const { logger, name } = this.#options;
    this.#made = null;
    this.#ready = Promise.withResolvers();
    if (this.#closing.signal.aborted) return;
    logger.warn(
      { to: name },
      "the bus lost its connection, and goes on without it until there is another one",
    );
  }

  /** A connection may be gone without a word, and who only listens would never know. Answers how to stop. */
  #watch(made: Made<Connection>): () => void {
    const { clock } = this.#options;
    const giveUp = (): void => {
      if (this.#made === made) this.drop();
    };
    let isOver = false;
    let timer: Timer;
    const ask = (): void => {
      timer = clock.after(ANSWER_MS, giveUp);
      made.check().then(wait, giveUp);
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

  /** A random part of it, so that the nodes of a cluster do not all come back in the same moment. */
  async #pause(): Promise<void> {
    const { signal } = this.#closing;
    if (signal.aborted) return;
    const most = Math.min(FIRST_PAUSE_MS * 2 ** Math.min(this.#failures, 10), LONGEST_PAUSE_MS);
    await this.#options.clock.sleep(most * (0.5 + Math.random() / 2), signal).catch(() => undefined);
  }
}
