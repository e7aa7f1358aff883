// The bus of a node in a cluster. `publish` sends to the other nodes asynchronously. The wire format is
// `<node> <session or *> <body>`, so that a node drops texts of other sessions without parsing their JSON.

import type { Bus, BusListener, Following, SessionNotification } from "../core/ports/driven/bus.ts";
import type { Clock } from "../core/ports/driven/clock.ts";
import type { Logger } from "../core/ports/driven/logger.ts";
import { within } from "../core/waiting.ts";
import { parseNotification } from "./notification-encoding.ts";
import { OutgoingQueue, type NotificationLoss } from "./outgoing-queue.ts";
import type { Packet, Transport } from "../core/ports/driven/transport.ts";

export interface ClusterBusOptions {
  /** This node's name, without white space; unique for each process start. */
  readonly node: string;
  readonly transport: Transport;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Maximum bytes of notifications queued for the transport; 8 MiB by default. */
  readonly maxWaitingBytes?: number;
  /** Called when notifications are lost or replaced by hints, with the reason and their number. */
  readonly onLoss?: (loss: NotificationLoss, notifications: number) => void;
}

const MAX_WAITING_BYTES = 8 * 1024 * 1024;
/** Minimum milliseconds between two batches. After a pause, a notification is sent at once. */
const BATCH_MS = 5;
/** Approximate size of one batch. */
const BATCH_BYTES = 256 * 1024;
/** Maximum time that `ready` of a followed session waits for the transport. */
const FOLLOW_MS = 1000;
/** Maximum time to send queued notifications before the bus closes. */
const FLUSH_MS = 1000;
const ALL_NODES = "*";
/** Text of the broadcast that turns are waiting for a free slot. */
const WORK = "work";
/** Text of the broadcast that this node lost notifications. */
const LOST = "lost";

export class ClusterBus implements Bus {
  readonly #options: ClusterBusOptions;
  #listener: BusListener | null = null;
  readonly #outgoing: OutgoingQueue;
  readonly #followed = new Set<string>();
  /** Pending broadcasts to every node, each at most once. */
  readonly #broadcasts = new Set<typeof WORK | typeof LOST>();
  #sending: Promise<void> | null = null;
  /** Time of the last batch in monotonic milliseconds. */
  #sentAt = -Infinity;
  #hasWarned = false;
  #closed: Promise<void> | null = null;

  /** Starts connecting. */
  constructor(options: ClusterBusOptions) {
    this.#options = options;
    this.#outgoing = new OutgoingQueue({
      maxBytes: options.maxWaitingBytes ?? MAX_WAITING_BYTES,
      onLoss: (loss, notifications) => this.#reportLoss(loss, notifications),
    });
    options.transport.start({
      onText: (text) => this.#receive(text),
      onResumed: () => this.#listener?.onResumed(),
    });
  }

  /** Approximate bytes of queued notifications. */
  get waitingBytes(): number {
    return this.#outgoing.bytes;
  }

  publish(sessionId: string, notification: SessionNotification): void {
    if (this.#closed !== null) return;
    this.#outgoing.add(sessionId, notification);
    this.#send();
  }

  notifyWork(): void {
    if (this.#closed !== null) return;
    this.#broadcasts.add(WORK);
    this.#send();
  }

  listen(listener: BusListener): void {
    this.#listener = listener;
  }

  follow(sessionId: string): Following {
    const { clock, logger, transport } = this.#options;
    this.#followed.add(sessionId);
    const ready = within(transport.follow(sessionId), undefined, { clock, ms: FOLLOW_MS }).then(
      () => undefined,
      (error: unknown) => logger.debug({ err: error }, "cannot follow a session until the bus reconnects"),
    );
    const stop = (): void => {
      this.#followed.delete(sessionId);
      transport.unfollow(sessionId);
    };
    return { ready, stop };
  }

  /** Sends queued notifications if the transport is ready, and closes the connections. */
  close(): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  async #close(): Promise<void> {
    const { clock, transport } = this.#options;
    if (this.#sending !== null && transport.isReady) {
      await within(this.#sending, undefined, { clock, ms: FLUSH_MS });
    }
    await transport.close();
    await this.#sending;
  }

  #send(): void {
    this.#sending ??= this.#sendAll();
  }

  async #sendAll(): Promise<void> {
    const { clock, transport } = this.#options;
    // Batch everything published in this tick of the event loop.
    await new Promise((resolve) => setImmediate(resolve));
    try {
      while ((!this.#outgoing.isEmpty || this.#broadcasts.size > 0) && (await transport.ready())) {
        const wait = this.#sentAt + BATCH_MS - clock.monotonic();
        if (wait > 0 && this.#closed === null) await clock.sleep(wait);
        this.#sentAt = clock.monotonic();
        await this.#sendBatch();
      }
    } finally {
      // Clear it in the tick that found the queue empty, so that the next publish starts a new loop.
      this.#sending = null;
    }
  }

  async #sendBatch(): Promise<void> {
    const { logger, transport } = this.#options;
    const packets = this.#takePackets();
    try {
      await transport.send(packets);
      this.#hasWarned = false;
    } catch (error) {
      logger.debug({ err: error, notifications: packets.length }, "notifications to other nodes may be lost");
      this.#reportLoss("broken", packets.length);
    }
  }

  #takePackets(): readonly Packet[] {
    const { node, transport } = this.#options;
    // Session ids are UUIDs, 36 characters long.
    const room = transport.maxBytes - Buffer.byteLength(node) - 36 - 2;
    // Lost notifications precede the queued ones, so announce the loss first.
    const broadcasts = [...this.#broadcasts].map((text) => ({ sessionId: null, text }));
    this.#broadcasts.clear();
    return [...broadcasts, ...this.#outgoing.take(BATCH_BYTES, room)].map(({ sessionId, text }) => ({
      sessionId,
      text: `${node} ${sessionId ?? ALL_NODES} ${text}`,
    }));
  }

  #receive(text: string): void {
    const nodeEnd = text.indexOf(" ");
    const sessionEnd = text.indexOf(" ", nodeEnd + 1);
    if (nodeEnd < 0 || sessionEnd < 0 || text.slice(0, nodeEnd) === this.#options.node) return;
    const sessionId = text.slice(nodeEnd + 1, sessionEnd);
    if (sessionId === ALL_NODES) this.#receiveBroadcast(text.slice(sessionEnd + 1));
    if (!this.#followed.has(sessionId)) return;
    const notification = parseNotification(text.slice(sessionEnd + 1));
    if (notification !== null) this.#listener?.onNotification(sessionId, notification);
  }

  #receiveBroadcast(call: string): void {
    if (call === WORK) this.#listener?.onWork();
    if (call === LOST) this.#listener?.onResumed();
  }

  #reportLoss(loss: NotificationLoss, notifications: number): void {
    // Subscribers repair lost deltas themselves, and `moved` hints still announce the events.
    if (loss === "all" || loss === "broken") this.#broadcasts.add(LOST);
    this.#options.onLoss?.(loss, notifications);
    if (this.#hasWarned) return;
    this.#hasWarned = true;
    this.#options.logger.warn(
      { loss, notifications },
      "the bus is overloaded or disconnected: other nodes read some changes from the store, with a delay",
    );
  }
}
