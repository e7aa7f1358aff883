// Wraps the SDK's transport: disconnects a server that floods, and fails a call whose response can no longer
// arrive.

import type {
  JSONRPCMessage,
  JSONRPCNotification,
  Transport,
  TransportSendOptions,
} from "@modelcontextprotocol/client";
import { type Clock, within } from "@colloquy/engine/tool-source";

/** Maximum number of messages from one server within ten seconds. */
export const MAX_MESSAGES = 5_000;
/** Time limit for a server to end a session that is no longer needed. */
const END_SESSION_MS = 1_000;

/** Error code outside the range of JSON-RPC codes, because it is never sent. */
export const STREAM_ENDED = -32_099;

export class BoundedTransport implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: NonNullable<Transport["onmessage"]>;
  readonly #inner: Transport;
  readonly #clock: Clock;
  /** Requests without a response, with the controllers that abort their connections. */
  readonly #open = new Map<string | number, AbortController>();
  readonly #messages: FlowLimit;
  #closing: Promise<void> | null = null;

  constructor(inner: Transport, clock: Clock) {
    this.#inner = inner;
    this.#clock = clock;
    this.#messages = new FlowLimit(clock, MAX_MESSAGES);
  }

  get hasPerRequestStream(): boolean {
    return this.#inner.hasPerRequestStream ?? false;
  }

  get sessionId(): string | undefined {
    return this.#inner.sessionId;
  }

  setProtocolVersion(version: string): void {
    this.#inner.setProtocolVersion?.(version);
  }

  async start(): Promise<void> {
    const handlers: Pick<Transport, "onclose" | "onerror" | "onmessage"> = {
      onclose: () => this.onclose?.(),
      onerror: (error) => this.onerror?.(error),
      onmessage: (message, extra) => this.#receive(message, extra),
    };
    Object.assign(this.#inner, handlers);
    await this.#inner.start();
  }

  async send(message: JSONRPCMessage, options: TransportSendOptions = {}): Promise<void> {
    if (!("method" in message)) return await this.#inner.send(message, options);
    if (!("id" in message)) {
      await this.#inner.send(message, options);
      this.#abortCancelled(message);
      return;
    }
    const { id } = message;
    const stop = new AbortController();
    this.#open.set(id, stop);
    const requestSignal =
      options.requestSignal === undefined
        ? stop.signal
        : AbortSignal.any([options.requestSignal, stop.signal]);
    const onRequestStreamEnd = (): void => {
      options.onRequestStreamEnd?.();
      this.#failUnanswered(id);
    };
    try {
      await this.#inner.send(message, { ...options, requestSignal, onRequestStreamEnd });
    } catch (error) {
      this.#open.delete(id);
      throw error;
    }
  }

  /**
   * Closes the connection. Ends the session on the server too, if there is one and the server responds in
   * time.
   */
  close(): Promise<void> {
    this.#closing ??= this.#endSession().then(() => this.#inner.close());
    return this.#closing;
  }

  readonly #receive: NonNullable<Transport["onmessage"]> = (message, extra) => {
    if (!this.#count()) return;
    if ("method" in message) {
      this.onmessage?.(message, extra);
      return;
    }
    if (message.id !== undefined) this.#open.delete(message.id);
    // The client handles notifications one microtask later; without this, the last progress would be lost.
    queueMicrotask(() => this.onmessage?.(withResultType(message), extra));
  };

  async #endSession(): Promise<void> {
    const inner: Transport & { readonly terminateSession?: () => Promise<void> } = this.#inner;
    if (inner.terminateSession === undefined || inner.sessionId === undefined) return;
    const ended = inner.terminateSession().catch(() => undefined);
    await within(ended, undefined, { clock: this.#clock, ms: END_SESSION_MS });
  }

  /** Aborts the connection of a cancelled request: the server may ignore the cancellation. */
  #abortCancelled(message: JSONRPCNotification): void {
    const id = message.method === "notifications/cancelled" ? message.params?.["requestId"] : undefined;
    if (typeof id !== "string" && typeof id !== "number") return;
    this.#open.get(id)?.abort();
    this.#open.delete(id);
  }

  #failUnanswered(id: string | number): void {
    if (!this.#open.delete(id)) return;
    const error = { code: STREAM_ENDED, message: "The server's answer broke off." };
    this.onmessage?.({ jsonrpc: "2.0", id, error });
  }

  /** Returns true if a message may pass; closes the connection if there are too many. */
  #count(): boolean {
    if (this.#messages.take(1)) return true;
    if (this.#closing === null) {
      this.onerror?.(new Error(`The server sent more than ${MAX_MESSAGES} messages in ten seconds.`));
      void this.close().catch(() => undefined);
    }
    return false;
  }
}

/** Clients must assume that the result of a call without a type is complete. The SDK refuses it. */
function withResultType(message: JSONRPCMessage): JSONRPCMessage {
  if (!("result" in message) || !("content" in message.result) || "resultType" in message.result)
    return message;
  return { ...message, result: { ...message.result, resultType: "complete" } };
}

/** Window of a limit in milliseconds. */
const WINDOW_MS = 10_000;

/** Limits an amount per ten seconds. */
export class FlowLimit {
  readonly #clock: Clock;
  readonly #limit: number;
  #since: number;
  #count = 0;

  constructor(clock: Clock, limit: number) {
    this.#clock = clock;
    this.#limit = limit;
    this.#since = clock.monotonic();
  }

  /** Counts an amount; returns true while the limit holds. */
  take(count: number): boolean {
    const now = this.#clock.monotonic();
    if (now - this.#since >= WINDOW_MS) {
      this.#since = now;
      this.#count = 0;
    }
    this.#count += count;
    return this.#count <= this.#limit;
  }
}
