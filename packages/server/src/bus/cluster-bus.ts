// The bus of a node among others: what is published is heard here before `publish` returns, and travels to the other nodes behind its back.
// Texts on the way are `<node> <session or *> <body>`, so that what nobody here wants is dropped before its JSON is read.

import type { Bus, BusListener, Following, SessionNote } from "../core/ports/bus.ts";
import type { Clock } from "../core/ports/clock.ts";
import type { Logger } from "../core/ports/logger.ts";
import { Listeners } from "./listeners.ts";
import { parseNote } from "./note-text.ts";
import { OutgoingNotes, type NoteLoss } from "./outgoing-notes.ts";
import type { Packet, Transport } from "./transport.ts";
import { within } from "./within.ts";

export interface ClusterBusOptions {
  /** This node's name among the nodes, without white space; another one for each process that is started. */
  readonly node: string;
  readonly transport: Transport;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Bytes of notes that wait for the transport; 8 MiB when absent. */
  readonly maxWaitingBytes?: number;
  /** Is told how many notes did not get out as they were, and why. */
  readonly onLoss?: (loss: NoteLoss, notes: number) => void;
}

interface Followed {
  followers: number;
  readonly ready: Promise<void>;
}

const MAX_WAITING_BYTES = 8 * 1024 * 1024;
/** Of notes that are sent together, about. */
const BATCH_BYTES = 256 * 1024;
/** How long someone who follows a session waits to hear that its notes come. */
const FOLLOW_MS = 1000;
/** How long what waits may take to be sent before the bus closes. */
const LAST_NOTES_MS = 1000;
const EVERYBODY = "*";
/** Turns wait for whoever has room. */
const WORK = "work";
/** The node could not say all that it had to say. */
const LOST = "lost";

export class ClusterBus implements Bus {
  readonly #options: ClusterBusOptions;
  readonly #listeners: Listeners;
  readonly #outgoing: OutgoingNotes;
  readonly #followed = new Map<string, Followed>();
  /** What every node is to be told, once however often it came up. */
  readonly #calls = new Set<typeof WORK | typeof LOST>();
  #sending: Promise<void> | null = null;
  #hasWarned = false;
  #closed: Promise<void> | null = null;

  /** Begins to connect. */
  constructor(options: ClusterBusOptions) {
    this.#options = options;
    this.#listeners = new Listeners(options.logger);
    this.#outgoing = new OutgoingNotes({
      maxBytes: options.maxWaitingBytes ?? MAX_WAITING_BYTES,
      onLoss: (loss, notes) => this.#lose(loss, notes),
    });
    options.transport.start({
      onText: (text) => this.#receive(text),
      onResumed: () => this.#listeners.resumed(),
    });
  }

  /** About what waits to be sent, in bytes. */
  get waitingBytes(): number {
    return this.#outgoing.bytes;
  }

  publish(sessionId: string, note: SessionNote): void {
    this.#listeners.note(sessionId, note, "here");
    if (this.#closed !== null) return;
    this.#outgoing.add(sessionId, note);
    this.#send();
  }

  ring(): void {
    if (this.#closed !== null) return;
    this.#calls.add(WORK);
    this.#send();
  }

  listen(listener: BusListener): () => void {
    return this.#listeners.add(listener);
  }

  follow(sessionId: string): Following {
    const followed = this.#followed.get(sessionId) ?? this.#beginFollowing(sessionId);
    followed.followers += 1;
    let isOver = false;
    return {
      ready: followed.ready,
      stop: () => {
        if (isOver) return;
        isOver = true;
        followed.followers -= 1;
        if (followed.followers > 0) return;
        this.#followed.delete(sessionId);
        this.#options.transport.unfollow(sessionId);
      },
    };
  }

  /** Sends what waits, if that goes at once, and ends the connections. */
  close(): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  async #close(): Promise<void> {
    const { clock, transport } = this.#options;
    if (this.#sending !== null && transport.isReady) await within(clock, LAST_NOTES_MS, this.#sending);
    await transport.close();
    await this.#sending;
  }

  #beginFollowing(sessionId: string): Followed {
    const { clock, logger, transport } = this.#options;
    const ready = within(clock, FOLLOW_MS, transport.follow(sessionId)).then(
      () => undefined,
      (error: unknown) => logger.debug({ err: error }, "a session cannot be followed before the bus is back"),
    );
    const followed = { followers: 0, ready };
    this.#followed.set(sessionId, followed);
    return followed;
  }

  #send(): void {
    this.#sending ??= this.#sendAll();
  }

  async #sendAll(): Promise<void> {
    const { transport } = this.#options;
    // All that is said in this turn of the event loop goes together.
    await new Promise((resolve) => setImmediate(resolve));
    try {
      while ((!this.#outgoing.isEmpty || this.#calls.size > 0) && (await transport.ready())) {
        await this.#sendBatch();
      }
    } finally {
      // In the same moment in which nothing was left: what comes next begins anew.
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
      logger.debug({ err: error, notes: packets.length }, "notes for other nodes may not have gone");
      this.#lose("broken", packets.length);
    }
  }

  #takePackets(): readonly Packet[] {
    const { node, transport } = this.#options;
    // A session's id is as long as any other, and the longest that can stand there.
    const head = (sessionId: string | null): string => `${node} ${sessionId ?? EVERYBODY} `;
    const room = transport.maxBytes - Buffer.byteLength(head(LONGEST_ID));
    const calls = [...this.#calls].map((body) => ({ sessionId: null, text: head(null) + body }));
    this.#calls.clear();
    const notes = this.#outgoing.take(BATCH_BYTES, room);
    // What was lost was said before what still waits, so that it is also told first.
    return [...calls, ...notes.map(({ sessionId, text }) => ({ sessionId, text: head(sessionId) + text }))];
  }

  #receive(text: string): void {
    const nodeEnd = text.indexOf(" ");
    const sessionEnd = text.indexOf(" ", nodeEnd + 1);
    if (nodeEnd < 0 || sessionEnd < 0 || text.slice(0, nodeEnd) === this.#options.node) return;
    const sessionId = text.slice(nodeEnd + 1, sessionEnd);
    if (sessionId === EVERYBODY) this.#beCalled(text.slice(sessionEnd + 1));
    if (!this.#followed.has(sessionId)) return;
    const note = parseNote(text.slice(sessionEnd + 1));
    if (note !== null) this.#listeners.note(sessionId, note, "elsewhere");
  }

  #beCalled(call: string): void {
    if (call === WORK) this.#listeners.work();
    if (call === LOST) this.#listeners.resumed();
  }

  #lose(loss: NoteLoss, notes: number): void {
    // Readers mend a gap in a text by themselves, and hints still say where events are.
    if (loss === "all" || loss === "broken") this.#calls.add(LOST);
    this.#options.onLoss?.(loss, notes);
    if (this.#hasWarned) return;
    this.#hasWarned = true;
    this.#options.logger.warn(
      { loss, notes },
      "the bus cannot keep up or has no connection: other nodes hear of some changes later, from the store",
    );
  }
}

/** As long as a session's id is. */
const LONGEST_ID = "00000000-0000-0000-0000-000000000000";
