// Carries texts between nodes over NATS: one subject for each session, so that a node receives only the texts of
// sessions that it follows, and one subject for all nodes.

import {
  connect,
  type ConnectionOptions,
  type NatsConnection,
  PermissionViolationError,
  type Subscription,
} from "@nats-io/transport-node";
import type { Clock } from "@colloquy/engine/internal/core/ports/driven/clock";
import type { Logger } from "@colloquy/engine/internal/core/ports/driven/logger";
import { decodePercent } from "@colloquy/engine/internal/core/json";
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

export interface NatsTransportOptions {
  /** Comma-separated `nats://` or `tls://` URLs; the first may contain user and password, or a token. */
  readonly url: string;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Separates clusters that share NATS servers: 1 to 63 of `a-z`, `0-9`, `_` and `-`. */
  readonly namespace: string;
}

/** The default `max_payload` of a NATS server: 1 MiB. */
const DEFAULT_MAX_BYTES = 1024 * 1024;
const CONNECT_MS = 3000;
const ANSWER_MS = 5000;
const END_MS = 500;

export class NatsTransport implements Transport {
  readonly #options: NatsTransportOptions;
  readonly #prefix: string;
  readonly #servers: ConnectionOptions;
  readonly #connection: ReconnectingConnection<NatsLink>;
  /** Followed sessions, with their subscription on the current connection. */
  readonly #followed = new Map<string, Subscription | null>();
  #receiver: TransportReceiver | null = null;

  constructor(options: NatsTransportOptions) {
    this.#options = options;
    if (!/^[a-z0-9_-]{1,63}$/.test(options.namespace)) {
      throw new Error(`"${options.namespace}" is not a valid namespace. Use 1 to 63 of a-z, 0-9, _ and -.`);
    }
    this.#servers = serversOf(options.url);
    this.#prefix = `colloquy.${options.namespace}`;
    this.#connection = new ReconnectingConnection({
      name: "NATS",
      clock: options.clock,
      logger: options.logger,
      connect: () => this.#connect(),
      onConnected: (link) => void this.#listen(link),
    });
  }

  /** The server announces its limit when the connection opens. */
  get maxBytes(): number {
    return this.#connection.current?.connection.info?.max_payload ?? DEFAULT_MAX_BYTES;
  }

  start(receiver: TransportReceiver): void {
    this.#receiver = receiver;
    this.#connection.start();
  }

  get isReady(): boolean {
    return this.#connection.current !== null;
  }

  ready(): Promise<boolean> {
    return this.#connection.ready();
  }

  async send(packets: readonly Packet[]): Promise<void> {
    const { current } = this.#connection;
    try {
      for (const { sessionId, text } of packets) current?.connection.publish(this.#subject(sessionId), text);
      await this.check();
    } catch (error) {
      // The state of the connection is unknown now: send the next batch on a new one.
      this.#connection.drop();
      throw error;
    }
  }

  async check(): Promise<void> {
    const { current } = this.#connection;
    if (current === null) throw new Error("There is no connection to NATS");
    const { clock } = this.#options;
    const flushed = current.flush().then(() => true);
    if (!(await within(flushed, false, { clock, ms: ANSWER_MS }))) {
      throw new Error("NATS did not answer in time");
    }
  }

  async follow(sessionId: string): Promise<void> {
    const link = this.#connection.current;
    if (!this.#followed.has(sessionId)) {
      // Record the session first: `subscribe` throws on a closing connection, and the next connection then subscribes.
      this.#followed.set(sessionId, null);
      if (link !== null) this.#followed.set(sessionId, this.#subscribe(link, sessionId));
    }
    await this.#connection.attempted();
    await this.#connection.current?.flush();
  }

  unfollow(sessionId: string): void {
    this.#followed.get(sessionId)?.unsubscribe();
    this.#followed.delete(sessionId);
  }

  close(): Promise<void> {
    return this.#connection.close();
  }

  async #connect(): Promise<EstablishedConnection<NatsLink>> {
    const { clock } = this.#options;
    const connection = await connect({
      ...this.#servers,
      name: "colloquy",
      noEcho: true,
      reconnect: false,
      timeout: CONNECT_MS,
    });
    const link = new NatsLink(connection);
    void this.#reportRefusals(connection);
    return {
      connection: link,
      broken: link.broken,
      check: () => link.flush(),
      end: async () => {
        await within(connection.close(), undefined, { clock, ms: END_MS }).catch(() => undefined);
      },
    };
  }

  /** The server refuses subjects without closing the connection: nothing fails, and no text arrives. */
  async #reportRefusals(connection: NatsConnection): Promise<void> {
    const reported = new Set<string>();
    for await (const status of connection.status()) {
      if (status.type !== "error" || !(status.error instanceof PermissionViolationError)) continue;
      const { operation } = status.error;
      if (reported.has(operation)) continue;
      reported.add(operation);
      this.#options.logger.error(
        { to: "NATS", operation, allow: `${this.#prefix}.>` },
        "NATS refuses its subjects to this user, so changes reach other nodes with a delay. Allow the user to publish and subscribe to them.",
      );
    }
  }

  /** Subscribes a new connection to every followed session, then calls `onResumed`. */
  async #listen(link: NatsLink): Promise<void> {
    this.#subscribe(link, null);
    for (const sessionId of this.#followed.keys()) {
      this.#followed.set(sessionId, this.#subscribe(link, sessionId));
    }
    try {
      await link.flush();
    } catch {
      // The connection broke; the next one calls `onResumed`.
      return;
    }
    this.#receiver?.onResumed();
  }

  #subscribe({ connection }: NatsLink, sessionId: string | null): Subscription {
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

/** A connection whose flushes reject when it breaks. The NATS client leaves them pending. */
class NatsLink {
  readonly connection: NatsConnection;
  readonly broken: Promise<void>;
  readonly #flushing = new Set<(error: Error) => void>();

  constructor(connection: NatsConnection) {
    this.connection = connection;
    this.broken = connection.closed().then(() => {
      for (const reject of this.#flushing) reject(new Error("The connection to NATS broke"));
    });
  }

  /** Resolves when the server has processed everything sent so far; rejects if the connection breaks first. */
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

/** Separates the credentials from the servers, as the NATS client expects. */
function serversOf(url: string): ConnectionOptions {
  const parsed = url.split(",").map((part) => new URL(part.trim()));
  const first = parsed[0];
  const user = decodePercent(first?.username ?? "");
  const pass = decodePercent(first?.password ?? "");
  return {
    servers: parsed.map(({ host }) => host),
    ...(user === "" ? {} : pass === "" ? { token: user } : { user, pass }),
    ...(first?.protocol === "tls:" ? { tls: {} } : {}),
  };
}
