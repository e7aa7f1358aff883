// Carries texts between nodes over PostgreSQL's LISTEN and NOTIFY, with one connection to send and one to
// listen, besides those of the store. Every node receives every text, including its own.

import { Socket } from "node:net";
import { Client } from "pg";
import type { Clock } from "@colloquy/engine/internal/core/ports/driven/clock";
import type { Logger } from "@colloquy/engine/internal/core/ports/driven/logger";
import { within } from "@colloquy/engine/internal/core/waiting";
import {
  ReconnectingConnection,
  type EstablishedConnection,
} from "@colloquy/engine/internal/bus/reconnecting-connection";
import type {
  Packet,
  Transport,
  TransportReceiver,
} from "@colloquy/engine/internal/core/ports/driven/transport";

export interface PostgresTransportOptions {
  /** A PostgreSQL URL: `postgres://user:password@host:port/database`. */
  readonly url: string;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Separates clusters that share a database: 1 to 63 of `a-z`, `0-9` and `_`; `colloquy` by default. */
  readonly channel?: string;
}

/** A PostgreSQL notification must be shorter than 8,000 bytes. */
const MAX_BYTES = 7999;
const CONNECT_MS = 3000;
const ANSWER_MS = 5000;
const END_MS = 500;

/** Sends the texts in order, in one transaction. `count` reduces the result to one row. */
const NOTIFY = `SELECT count(pg_notify($1, text)) FROM
  (SELECT text FROM unnest($2::text[]) WITH ORDINALITY AS given (text, place) ORDER BY place) AS ordered`;

interface Link {
  readonly client: Client;
  /** Resolves when the server has answered. Concurrent callers share one query. */
  readonly check: () => Promise<unknown>;
}

export class PostgresTransport implements Transport {
  readonly maxBytes = MAX_BYTES;
  readonly #options: PostgresTransportOptions;
  readonly #channel: string;
  readonly #sender: ReconnectingConnection<Link>;
  readonly #listener: ReconnectingConnection<Link>;
  #receiver: TransportReceiver | null = null;

  constructor(options: PostgresTransportOptions) {
    this.#options = options;
    this.#channel = options.channel ?? "colloquy";
    if (!/^[a-z0-9_]{1,63}$/.test(this.#channel)) {
      throw new Error(`"${this.#channel}" is not a valid channel name. Use 1 to 63 of a-z, 0-9 and _.`);
    }
    const { clock, logger } = options;
    this.#sender = new ReconnectingConnection({
      name: "PostgreSQL, to send",
      clock,
      logger,
      // Notifications are only hints about committed data, so NOTIFY need not wait for the disk.
      connect: (signal) => this.#connect("SET synchronous_commit = off", signal),
    });
    this.#listener = new ReconnectingConnection({
      name: "PostgreSQL, to listen",
      clock,
      logger,
      connect: (signal) => this.#connect(`LISTEN "${this.#channel}"`, signal),
      onConnected: () => this.#receiver?.onResumed(),
    });
  }

  start(receiver: TransportReceiver): void {
    this.#receiver = receiver;
    this.#listener.start();
    this.#sender.start();
  }

  get isReady(): boolean {
    return this.#sender.current !== null;
  }

  ready(): Promise<boolean> {
    return this.#sender.ready();
  }

  async send(packets: readonly Packet[]): Promise<void> {
    const link = this.#sender.current;
    if (link === null) throw new Error("There is no connection to the database");
    const texts = packets.map(({ text }) => text);
    try {
      await this.#inTime(link.client.query({ name: "notify", text: NOTIFY, values: [this.#channel, texts] }));
    } catch (error) {
      // The state of the connection is unknown now: send the next batch on a new one.
      this.#sender.drop();
      throw error;
    }
  }

  async check(): Promise<void> {
    const answers = [this.#sender, this.#listener].map(async ({ current }) => {
      if (current === null) throw new Error("There is no connection to the database");
      return await current.check();
    });
    await this.#inTime(Promise.all(answers));
  }

  async #inTime(answer: Promise<unknown>): Promise<void> {
    const { clock } = this.#options;
    const isAnswered = answer.then(() => true);
    if (!(await within(isAnswered, false, { clock, ms: ANSWER_MS }))) {
      throw new Error("The database did not answer in time");
    }
  }

  follow(): Promise<void> {
    return this.#listener.attempted();
  }

  unfollow(): void {
    // Every node receives every text.
  }

  async close(): Promise<void> {
    await Promise.all([this.#sender.close(), this.#listener.close()]);
  }

  /** Opens a connection and runs the statement on it. */
  async #connect(statement: string, signal: AbortSignal): Promise<EstablishedConnection<Link>> {
    const { clock, url } = this.#options;
    const socket = new Socket();
    const client = new Client({
      connectionString: url,
      application_name: "colloquy-bus",
      connectionTimeoutMillis: CONNECT_MS,
      query_timeout: 2 * ANSWER_MS,
      keepAlive: true,
      stream: () => socket,
    });
    const broken = Promise.withResolvers<void>();
    client.on("error", () => broken.resolve());
    client.on("end", () => broken.resolve());
    client.on("notification", ({ payload }) => this.#receiver?.onText(payload ?? ""));
    const cancel = (): void => void socket.destroy();
    signal.addEventListener("abort", cancel);
    try {
      await client.connect();
      await client.query(statement);
    } catch (error) {
      socket.destroy();
      throw error;
    } finally {
      signal.removeEventListener("abort", cancel);
    }
    const check = oneAtATime(() => client.query("SELECT 1"));
    return {
      connection: { client, check },
      broken: broken.promise,
      check,
      end: async () => {
        await within(client.end(), undefined, { clock, ms: END_MS }).catch(() => undefined);
        socket.destroy();
      },
    };
  }
}

/** Shares one call between concurrent callers. */
function oneAtATime<Answer>(ask: () => Promise<Answer>): () => Promise<Answer> {
  let underWay: Promise<Answer> | null = null;
  return async () => {
    underWay ??= ask().finally(() => (underWay = null));
    return await underWay;
  };
}
