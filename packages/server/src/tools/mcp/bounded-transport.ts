// A transport between the SDK's client and its real one: a server that floods is cut off, and a call whose answer can no longer come
// gets an error instead of silence.

import type {
  JSONRPCMessage,
  JSONRPCNotification,
  Transport,
  TransportSendOptions,
} from "@modelcontextprotocol/client";
import type { Clock } from "../../core/ports/clock.ts";
import { FlowLimit } from "./flow-limit.ts";
import { withoutDeepTools } from "./tool-depth.ts";

/** Messages of one server within ten seconds. */
export const MAX_MESSAGES = 5_000;
/** How long a server may take to end a session that is not needed any more. */
const END_SESSION_MS = 1_000;

/** Not a code of JSON-RPC: it is never sent. */
export const STREAM_ENDED = -32_099;

export class BoundedTransport implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: NonNullable<Transport["onmessage"]>;
  readonly #inner: Transport;
  readonly #clock: Clock;
  /** Requests without an answer, with what ends their connection. */
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
    const heard: Pick<Transport, "onclose" | "onerror" | "onmessage"> = {
      onclose: () => this.onclose?.(),
      onerror: (error) => this.onerror?.(error),
      onmessage: (message, extra) => this.#receive(message, extra),
    };
    Object.assign(this.#inner, heard);
    await this.#inner.start();
  }

  async send(message: JSONRPCMessage, options: TransportSendOptions = {}): Promise<void> {
    if (!("method" in message)) return await this.#inner.send(message, options);
    if (!("id" in message)) {
      await this.#inner.send(message, options);
      this.#letGo(message);
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
      this.#giveUp(id);
    };
    try {
      await this.#inner.send(message, { ...options, requestSignal, onRequestStreamEnd });
    } catch (error) {
      this.#open.delete(id);
      throw error;
    }
  }

  /** Also ends the session on the server, where there is one and it answers soon. */
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
    // After the notifications before it, which the client takes up a moment later: the last progress would be lost.
    queueMicrotask(() => this.onmessage?.(withoutDeepTools(message), extra));
  };

  async #endSession(): Promise<void> {
    const inner: Transport & { readonly terminateSession?: () => Promise<void> } = this.#inner;
    if (inner.terminateSession === undefined || inner.sessionId === undefined) return;
    const stop = new AbortController();
    const patience = this.#clock.sleep(END_SESSION_MS, stop.signal);
    await Promise.race([inner.terminateSession(), patience]).catch(() => undefined);
    stop.abort();
    await patience.catch(() => undefined);
  }

  /** A request that was called off: its connection must not stay open for a server that does not listen. */
  #letGo(message: JSONRPCNotification): void {
    const id = message.method === "notifications/cancelled" ? message.params?.["requestId"] : undefined;
    if (typeof id !== "string" && typeof id !== "number") return;
    this.#open.get(id)?.abort();
    this.#open.delete(id);
  }

  #giveUp(id: string | number): void {
    if (!this.#open.delete(id)) return;
    const error = { code: STREAM_ENDED, message: "The server's answer broke off." };
    this.onmessage?.({ jsonrpc: "2.0", id, error });
  }

  /** Whether a message may pass; closes the connection when there are too many. */
  #count(): boolean {
    if (this.#messages.take(1)) return true;
    if (this.#closing === null) {
      this.onerror?.(new Error(`The server sent more than ${MAX_MESSAGES} messages in ten seconds.`));
      void this.close().catch(() => undefined);
    }
    return false;
  }
}
