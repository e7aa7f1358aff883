// Texts between nodes over NATS: a subject for each session, so that a node hears of those that it follows, and one for all nodes.

import {
  connect,
  type ConnectionOptions,
  type NatsConnection,
  type Subscription,
} from "@nats-io/transport-node";
import type { Clock } from "../core/ports/clock.ts";
import type { Logger } from "../core/ports/logger.ts";
import { KeptConnection, type Made } from "./kept-connection.ts";
import type { Packet, Transport, TransportReceiver } from "./transport.ts";
import { within } from "./within.ts";

export interface NatsTransportOptions {
  /** `nats://` or `tls://`, with user and password or a token where the server asks for them; several, separated by commas, for a cluster. */
  readonly url: string;
  readonly clock: Clock;
  readonly logger: Logger;
  /** What nodes of one cluster have in common within the NATS servers: 1 to 63 of `a-z`, `0-9`, `_` and `-`. */
  readonly namespace: string;
}

/** What a server carries that is configured as it comes: 1 MiB. */
const USUAL_MAX_BYTES = 1024 * 1024;
const CONNECT_MS = 3000;
const SEND_MS = 5000;
const END_MS = 500;

export class NatsTransport implements Transport {
  readonly #options: NatsTransportOptions;
  readonly #prefix: string;
  readonly #servers: ConnectionOptions;
  readonly #kept: KeptConnection<NatsLine>;
  /** Sessions that are followed, with their subscription on the connection that there is. */
  readonly #followed = new Map<string, Subscription | null>();
  #receiver: TransportReceiver | null = null;

  constructor(options: NatsTransportOptions) {
    this.#options = options;
    if (!/^[a-z0-9_-]{1,63}$/.test(options.namespace)) {
      throw new Error(`"${options.namespace}" is no namespace: use 1 to 63 of a-z, 0-9, _ and -.`);
    }
    this.#servers = serversOf(options.url);
    this.#prefix = `colloquy.${options.namespace}`;
    this.#kept = new KeptConnection({
      name: "NATS",
      clock: options.clock,
      logger: options.logger,
      connect: () => this.#connect(),
      onMade: (line) => void this.#listen(line),
    });
  }

  /** The server says it when it is connected to. */
  get maxBytes(): number {
    return this.#kept.current?.connection.info?.max_payload ?? USUAL_MAX_BYTES;
  }

  start(receiver: TransportReceiver): void {
    this.#receiver = receiver;
    this.#kept.start();
  }

  get isReady(): boolean {
    return this.#kept.current !== null;
  }

  ready(): Promise<boolean> {
    return this.#kept.ready();
  }

  async send(packets: readonly Packet[]): Promise<void> {
    const line = this.#kept.current;
    if (line === null) throw new Error("There is no connection to NATS");
    try {
      for (const { sessionId, text } of packets) line.connection.publish(this.#subject(sessionId), text);
      if (!(await within(this.#options.clock, SEND_MS, line.flush()))) {
        throw new Error("NATS did not answer in time");
      }
    } catch (error) {
      // Whatever it was: the next batch begins on a connection that is in no doubtful state.
      this.#kept.drop();
      throw error;
    }
  }

  async check(): Promise<void> {
    const line = this.#kept.current;
    if (line === null) throw new Error("There is no connection to NATS");
    if (await within(this.#options.clock, SEND_MS, line.flush())) return;
    throw new Error("NATS did not answer in time");
  }

  async follow(sessionId: string): Promise<void> {
    const line = this.#kept.current;
    if (!this.#followed.has(sessionId)) {
      // Known as followed first: a connection that ends just now refuses, and the next one takes it up.
      this.#followed.set(sessionId, null);
      if (line !== null) this.#followed.set(sessionId, this.#subscribe(line, sessionId));
    }
    await this.#kept.attempted();
    await this.#kept.current?.flush();
  }

  unfollow(sessionId: string): void {
    this.#followed.get(sessionId)?.unsubscribe();
    this.#followed.delete(sessionId);
  }

  close(): Promise<void> {
    return this.#kept.close();
  }

  async #connect(): Promise<Made<NatsLine>> {
    const { clock } = this.#options;
    const connection = await connect({
      ...this.#servers,
      name: "colloquy",
      noEcho: true,
      reconnect: false,
      timeout: CONNECT_MS,
    });
    const line = new NatsLine(connection);
    return {
      connection: line,
      broken: line.broken,
      check: () => line.flush(),
      end: async () => {
        await within(clock, END_MS, connection.close()).catch(() => undefined);
      },
    };
  }

  /** From its first moment on a connection follows what is followed; that it does is said when the server has heard of it. */
  async #listen(line: NatsLine): Promise<void> {
    this.#subscribe(line, null);
    for (const sessionId of this.#followed.keys()) {
      this.#followed.set(sessionId, this.#subscribe(line, sessionId));
    }
    try {
      await line.flush();
    } catch {
      // It broke again: the next one says it.
      return;
    }
    this.#receiver?.onResumed();
  }

  #subscribe({ connection }: NatsLine, sessionId: string | null): Subscription {
    return connection.subscribe(this.#subject(sessionId), {
      callback: (error, message) => {
        if (error === null) this.#receiver?.onText(message.string());
      },
    });
  }

  #subject(sessionId: string | null): string {
    return sessionId === null ? `${this.#prefix}.all` : `${this.#prefix}.s.${sessionId}`;
  }
}

/** A connection whose flushes end when it breaks, which those of the client do not. */
class NatsLine {
  readonly connection: NatsConnection;
  readonly broken: Promise<void>;
  readonly #flushing = new Set<(error: Error) => void>();

  constructor(connection: NatsConnection) {
    this.connection = connection;
    this.broken = connection.closed().then(() => {
      for (const reject of this.#flushing) reject(new Error("The connection to NATS broke"));
    });
  }

  /** Resolves when the server has done all that it was told until now; rejects when the connection breaks before. */
  async flush(): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    this.#flushing.add(reject);
    try {
      this.connection.flush().then(resolve, reject);
      await promise;
    } finally {
      this.#flushing.delete(reject);
    }
  }
}

/** The client wants who logs in apart from where. */
function serversOf(url: string): ConnectionOptions {
  const parsed = url.split(",").map((part) => new URL(part));
  const first = parsed[0];
  const user = decodeURIComponent(first?.username ?? "");
  const pass = decodeURIComponent(first?.password ?? "");
  return {
    servers: parsed.map(({ host }) => host),
    ...(user === "" ? {} : pass === "" ? { token: user } : { user, pass }),
    ...(first?.protocol === "tls:" ? { tls: {} } : {}),
  };
}
